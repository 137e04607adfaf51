/** Answers that several tests and the pictures of the docs show. Some names in them are hostile. */
import type { StreamTimeline } from '../../src/api_types.ts';
import type { PolicyResult } from '../../src/media/policy/schema.ts';
import type { QcReport } from '../../src/media/qc/schema.ts';
import type { ProbeReport } from '../../src/media/report/schema.ts';
import { NONE, QUIET_AUDIO, QUIET_VIDEO, THRESHOLDS } from '../qc/reports.ts';

export const REPORT: ProbeReport = {
  container: {
    format: 'mp4',
    duration: 60,
    size: 22_500_000,
    title: '<b>film</b>\u202egnp',
    streams: { total: 2, video: 1, audio: 1, subtitle: 0, data: 0, attachment: 0 },
  },
  streams: [
    {
      index: 0,
      type: 'video',
      codec: { name: 'h264', profile: 'high' },
      size: { width: 1280, height: 720 },
      frame_rate: { numerator: 25, denominator: 1 },
      scan_type: 'progressive',
      bitrate: { average: 2_900_000 },
      duration: 60,
    },
    {
      index: 1,
      type: 'audio',
      codec: { name: 'aac' },
      channels: 2,
      sample_rate: 48_000,
      start_time: 0.2,
      duration: 59.8,
    },
  ],
  confidence: { 'container.format': 1, 'streams[0].duration': 0.98, 'streams[1].channels': 0.7 },
  warnings: [{ code: 'late-start', message: 'audio begins 0.2 s after the file', path: 'streams[1]' }],
  diff: [
    {
      path: 'streams[1].channels',
      ffprobe: 1,
      mediainfo: 2,
      chosen: 'mediainfo',
      reason: 'in test files mediainfo was right in 7 of 10 such cases',
      confidence: 0.7,
    },
    { path: 'streams[2]', ffprobe: null, mediainfo: { type: 'data' }, chosen: 'mediainfo', reason: 'one tool sees it' },
  ],
};

/** Of a film that begins black, has a silence that lasts to its end, and was cut short. */
export const CHECKS: QcReport = {
  video: [
    {
      stream: 0,
      ...QUIET_VIDEO,
      decoded: 60,
      declared: 60,
      black: { count: 2, list: [{ from: 0, to: 2.5, to_end: false }], more: 1 },
    },
  ],
  audio: [
    {
      stream: 1,
      ...QUIET_AUDIO,
      decoded: 50,
      declared: 60,
      duration_differs: true,
      silence: { count: 1, list: [{ from: 40, to: 50, to_end: true }], more: 0 },
      loudness: { integrated: -23.04, range: 5, short_term_max: -18.2, true_peak: 0.3 },
      sample_peak: 0,
      flat_factor: 8,
      clipping: true,
    },
  ],
  until: 50,
  cut: 'qc did not finish within 60000 ms\u202e',
  thresholds: THRESHOLDS,
  unread_lines: 0,
  not_checked: [{ stream: 9, type: 'audio', why: 'only the first 8 audio streams are checked' }],
};

export const CLEAN_CHECKS: QcReport = { ...CHECKS, video: [{ ...CHECKS.video[0]!, black: NONE }], audio: [] };
delete CLEAN_CHECKS.until;
delete CLEAN_CHECKS.cut;

export const VERDICT: PolicyResult = {
  name: 'house-delivery',
  revision: 3,
  outcome: 'fail',
  rules: [
    {
      name: 'wrapper',
      level: 'fail',
      outcome: 'pass',
      field: 'container.format',
      actual: 'mp4',
      expected: 'mp4 or mov',
      from: 'probe_report',
      message: 'container.format is mp4',
    },
    {
      name: 'loudness',
      level: 'warn',
      outcome: 'warn',
      stream: 'streams[1]',
      field: 'channels',
      actual: '1',
      expected: 'at least 2',
      from: 'mediainfo',
      confidence: 0.7,
      message: 'channels is 1, and at least 2 is asked for',
      also: [{ stream: 'streams[2]', actual: '1' }],
      more: 3,
    },
    {
      name: 'title \u202egnp',
      level: 'fail',
      outcome: 'fail',
      field: 'container.title',
      actual: '<img src=x onerror=alert(1)>',
      expected: 'absent',
      message: 'container.title is there',
    },
    { name: 'hls', level: 'fail', outcome: 'unknown', message: 'no HLS report: the check did not run' },
  ],
};

export const aStream = (change: Partial<StreamTimeline> = {}): StreamTimeline => ({
  index: 0,
  type: 'video',
  codec: 'h264',
  start: 0,
  end: 4,
  packets: 40,
  bytes: 5_000,
  untimed: 0,
  step: 1,
  first: 0,
  bits: [8_000, 16_000, 0, 16_000],
  counts: [10, 20, 0, 10],
  keys: { count: 2, every: false, times: [0, 2] },
  gops: { count: 1, min: 2, mean: 2, max: 2 },
  gaps: { count: 1, list: [[2, 1]] },
  jumps: { count: 0, list: [] },
  ...change,
});

/** Of 600 s: a rate that swells, a key frame each 2 s, a gap, and a jump. */
function film(): object {
  const columns = Array.from({ length: 1_200 }, (_, index) =>
    index > 500 && index < 520 ? 0 : Math.round(500_000 + 400_000 * Math.sin(index / 40)),
  );
  const video = aStream({
    end: 600,
    packets: 15_000,
    bytes: 75_000_000,
    step: 0.5,
    bits: columns,
    counts: columns.map((bits) => (bits === 0 ? 0 : 13)),
    keys: { count: 300, every: false, times: Array.from({ length: 300 }, (_, index) => index * 2) },
    gaps: { count: 1, list: [[250.5, 9.5]] },
    jumps: { count: 1, list: [[400, -12]] },
  });
  const audio = aStream({
    index: 1,
    type: 'audio',
    codec: '<b>aac</b>\u202e',
    end: 600,
    step: 0.5,
    bits: columns.map(() => 64_000),
    counts: columns.map(() => 23),
    keys: { count: 0, every: true, times: [] },
    gops: null,
    gaps: { count: 0, list: [] },
  });
  return { version: '9.0', until: 590, streams_left_out: 0, streams: [video, audio] };
}

export const FILM_TIMELINE: object = film();
