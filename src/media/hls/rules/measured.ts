/**
 * Rules that compare fetched and measured segments with the declarations of playlists. The tests violate them with real
 * segments.
 */
import { info, must, should, type Rule } from '../rule.ts';

const REENCODE = 'Encode again with the declared value, or declare what the media has.';

export const MEASURED_RULES = {
  'segment-unreadable': must('6.2.1')`A segment cannot be fetched.
    Publish the segment before the playlist, and keep it as long as a player may ask for it.`,
  'segment-format': must('3.1')`A segment has no format that players know.
    Package as MPEG-TS, fragmented MP4, packed audio or WebVTT.`,
  'segment-range': must('4.4.4.2')`A byte range ends beyond its resource.
    Correct the offset and length; the file is shorter.`,
  'init-unreadable': must('4.4.4.5')`An init section cannot be fetched.
    Publish the init section at the address of EXT-X-MAP.`,
  'init-format': must('3.1.2')`An init section of fragmented MP4 has no moov box, or has media.
    Write moov without media: with ffmpeg -movflags empty_moov.`,
  'key-unreadable': must('4.4.4.4')`A key cannot be fetched.
    Let the key server answer without cookie or header, or serve keys where the playlist is, which gets them.`,
  'key-length': must('4.4.4.4')`A key of AES-128 does not have 16 bytes.
    Serve the 16 bytes themselves, not hexadecimal digits or JSON.`,
  decryption: must('4.4.4.4')`A segment cannot be decrypted with its key and initialization vector.
    Compare key and IV with those of the packager.`,
  'bandwidth-exceeded': must('4.4.6.2')`The measured peak bit rate is above BANDWIDTH by more than a tenth.
    Raise BANDWIDTH to the measured peak, or cap the encoder (-maxrate, -bufsize).`,
  'average-exceeded': should('4.4.6.2')`The measured average bit rate is above AVERAGE-BANDWIDTH by more than a tenth.
    Raise AVERAGE-BANDWIDTH to the measured mean.`,
  'bandwidth-unused': info('multivariant playlists')`
    BANDWIDTH is more than twice the measured peak bit rate, and players choose by it.
    Lower BANDWIDTH to the measured peak.`,
  'duration-measured': should('4.4.4.1')`A segment does not last as long as its EXTINF says.
    Write the real duration into EXTINF.`,
  'duration-over-target': must('4.4.3.1')`A segment, as measured and rounded, is longer than the target duration.
    Force key frames at the cut (-force_key_frames), or raise the target duration.`,
  'codecs-measured': must('4.4.6.2')`CODECS does not match the formats of the media. ${REENCODE}`,
  'codecs-profile': should('4.4.6.2')`CODECS does not match the profile or level of the video. ${REENCODE}`,
  'resolution-measured': should('4.4.6.2')`RESOLUTION does not match the video. ${REENCODE}`,
  'frame-rate-measured': should('4.4.6.2')`FRAME-RATE does not match the video. ${REENCODE}`,
  'channels-measured': should('4.4.6.1')`CHANNELS does not match the audio. ${REENCODE}`,
  'keyframe-missing': must('4.4.2.1')`
    A segment does not begin with a key frame, although EXT-X-INDEPENDENT-SEGMENTS says so.
    Cut at key frames (-force_key_frames), or remove EXT-X-INDEPENDENT-SEGMENTS.`,
  'keyframe-absent': should('media segmentation')`A segment of video has no key frame.
    Shorten the distance of key frames to 2 s.`,
  'iframes-keyframe': must('4.4.3.6')`An I-frame playlist names something other than a key frame.
    Correct the byte ranges of the I-frame playlist.`,
  'timestamps-break': should('3.1')`Timestamps are not continuous from one segment to the next.
    Add EXT-X-DISCONTINUITY, or continue the timestamps.`,
  'bitrate-measured': should('4.4.4.8')`EXT-X-BITRATE is more than a tenth from the bit rate of the segment.
    Write the bit rate of the segment, or remove EXT-X-BITRATE.`,
  'webvtt-map': should('3.1.4')`A segment of WebVTT that goes with MPEG-2 transport streams has no X-TIMESTAMP-MAP.
    Add X-TIMESTAMP-MAP to the header of the segment.`,
  'audio-timestamp': must('3.1.3')`A segment of packed audio does not begin with an ID3 tag that holds its timestamp.
    Begin the segment with the ID3 tag com.apple.streaming.transportStreamTimestamp.`,
  'hevc-measured': should('video encoding')`HEVC is in an MPEG-2 transport stream. Package HEVC as fragmented MP4.`,
  interlaced: should('video encoding')`The video is interlaced. Deinterlace before encoding: with ffmpeg -vf bwdif.`,
  'encryption-unmeasured': info('4.4.4.4')`Segments are protected by DRM, so they were fetched, but not measured.
    Validate an unencrypted copy to have it measured.`,
  'measuring-cut': info('6.2.1')`Measuring ended early, at its limit of bytes, segments or time.
    Raise timeout, or validate the variants by themselves.`,
  'measuring-impossible': info('6.2.1')`No segment was measured, because no ffprobe is available.
    Ask the operator for a version of ffprobe.`,
} satisfies Record<string, Rule>;
