/** docs/reports/hls-findings.md: thirty findings as they were worded until 0.2.0, and as the rules word them. */
import { RULES, type RuleId } from '../../src/media/hls/rules/catalog.ts';

const BEFORE = {
  'segment-unreadable': 'A segment can be fetched',
  'frame-rate-missing': 'A variant with video has FRAME-RATE',
  'resolution-measured': 'RESOLUTION matches the video',
  'media-language-missing': 'Audio and subtitles name their language',
  'bandwidth-exceeded': 'No segment has a higher bit rate than BANDWIDTH, by more than a tenth',
  'average-exceeded': 'The average bit rate is not above AVERAGE-BANDWIDTH, by more than a tenth',
  'extinf-over-target': 'No segment is longer than the target duration, rounded to the nearest second',
  'duration-over-target': 'No segment, as measured, is longer than the target duration, rounded to the nearest second',
  'codecs-measured': 'CODECS names the formats of the media',
  'channels-measured': 'CHANNELS matches the audio',
  'keyframe-missing': 'Under EXT-X-INDEPENDENT-SEGMENTS a segment begins with a key frame',
  'playlist-unreadable': 'Every playlist that is named can be read',
  'targetduration-missing': 'A media playlist has EXT-X-TARGETDURATION',
  'extinf-missing': 'Every segment has an EXTINF',
  'version-low': 'EXT-X-VERSION is as high as what the playlist uses needs',
  'vod-endlist': 'A playlist of the type VOD ends with EXT-X-ENDLIST',
  'content-type':
    'A playlist is sent as application/vnd.apple.mpegurl or audio/mpegurl, or its path ends with .m3u8 or .m3u',
  'dates-some': 'If one media playlist has EXT-X-PROGRAM-DATE-TIME, all have it',
  'target-differs': 'Media playlists of one presentation have one target duration',
  'durations-differ': 'Variants have the same duration',
  'group-undefined': 'A group that a variant names exists',
  'media-name-repeated': 'The names of a group differ',
  'captions-none-some': 'If one variant has CLOSED-CAPTIONS=NONE, all have it',
  'map-missing': 'A fragmented MP4 segment has its init section in EXT-X-MAP',
  'key-unreadable': 'A key can be fetched',
  'daterange-start': 'A date range has its START-DATE',
  'part-hold-back-short': 'PART-HOLD-BACK is at least three part target durations',
  'reload-sequence-back': 'The media sequence number never goes back',
  'reload-stale': 'A live playlist is updated within one and a half target durations',
  'tag-spelling': 'A line looks like a tag but is not one: tags are case-sensitive and begin with #EXT',
} satisfies Partial<Record<RuleId, string>>;

const INTRODUCTION = `# Thirty findings of the HLS validator

Until 0.2.0 a finding was worded as the rule, as if all were well. Now it says what is wrong, and then what to do. What
was found follows after a colon in both.

| rule | before | what is wrong | what to do |
|---|---|---|---|
`;

const row = ([id, before]: [string, string]): string => {
  const { finding, remedy } = RULES[id as RuleId];
  return `| \`${id}\` | ${before} | ${finding} | ${remedy} |\n`;
};

export const hlsFindingsPage = (): string => INTRODUCTION + Object.entries(BEFORE).map(row).join('');
