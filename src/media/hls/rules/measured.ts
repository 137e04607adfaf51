/**
 * Rules that compare fetched and measured segments with the declarations of playlists. The tests violate them with real
 * segments.
 */
import { info, must, should, type Rule } from '../rule.ts';

export const MEASURED_RULES = {
  'segment-unreadable': must('6.2.1', 'A segment can be fetched'),
  'segment-format': must('3.1', 'A segment has a format that players know'),
  'segment-range': must('4.4.4.2', 'A byte range lies within its resource'),
  'init-unreadable': must('4.4.4.5', 'An init section can be fetched'),
  'init-format': must('3.1.2', 'An init section of fragmented MP4 has its moov box, and no media'),
  'key-unreadable': must('4.4.4.4', 'A key can be fetched'),
  'key-length': must('4.4.4.4', 'A key of AES-128 has 16 bytes'),
  decryption: must('4.4.4.4', 'A segment decrypts with its key and initialization vector'),
  'bandwidth-exceeded': must('4.4.6.2', 'No segment has a higher bit rate than BANDWIDTH, by more than a tenth'),
  'average-exceeded': should('4.4.6.2', 'The average bit rate is not above AVERAGE-BANDWIDTH, by more than a tenth'),
  'bandwidth-unused': info('multivariant playlists', 'BANDWIDTH is near the highest bit rate: players choose by it'),
  'duration-measured': should('4.4.4.1', 'A segment lasts as long as its EXTINF says'),
  'duration-over-target': must(
    '4.4.3.1',
    'No segment, as measured, is longer than the target duration, rounded to the nearest second',
  ),
  'codecs-measured': must('4.4.6.2', 'CODECS names the formats of the media'),
  'codecs-profile': should('4.4.6.2', 'CODECS names the profile of the video'),
  'resolution-measured': should('4.4.6.2', 'RESOLUTION matches the video'),
  'frame-rate-measured': should('4.4.6.2', 'FRAME-RATE matches the video'),
  'channels-measured': should('4.4.6.1', 'CHANNELS matches the audio'),
  'keyframe-missing': must('4.4.2.1', 'Under EXT-X-INDEPENDENT-SEGMENTS a segment begins with a key frame'),
  'keyframe-absent': should('media segmentation', 'A segment of video has a key frame'),
  'iframes-keyframe': must('4.4.3.6', 'An I-frame playlist names only key frames'),
  'timestamps-break': should(
    '3.1',
    'Timestamps are continuous from one segment to the next, except at discontinuities',
  ),
  'bitrate-measured': should('4.4.4.8', 'EXT-X-BITRATE is within a tenth of the bit rate of the segment'),
  'webvtt-map': should('3.1.4', 'A segment of WebVTT that goes with MPEG-2 transport streams has X-TIMESTAMP-MAP'),
  'audio-timestamp': must('3.1.3', 'A segment of packed audio begins with an ID3 tag that holds its timestamp'),
  'hevc-measured': should('video encoding', 'HEVC uses fragmented MP4'),
  interlaced: should('video encoding', 'Video is not interlaced'),
  'encryption-unmeasured': info('4.4.4.4', 'Segments are protected by DRM: they were fetched, but not measured'),
  'measuring-cut': info('6.2.1', 'Measuring ended early, at its limit of bytes, segments or time'),
  'measuring-impossible': info('6.2.1', 'No segment was measured: no probe is available'),
} satisfies Record<string, Rule>;
