/** Parts of reports of content checks in which nothing was found. */
import type { QcPictures } from '../../src/media/qc/pictures_schema.ts';
import type { QcAudio, QcFile, QcIntegrity, QcReport, QcVideo } from '../../src/media/qc/schema.ts';
import { thresholdsOf } from '../../src/media/tools/qc_options.ts';

export const NONE = { count: 0, list: [], more: 0 };

export const THRESHOLDS: QcReport['thresholds'] = thresholdsOf({});

const LASTED = { decoded: 10, declared: 10, duration_differs: false };

export const QUIET_VIDEO: Omit<QcVideo, 'stream'> = {
  ...LASTED,
  black: NONE,
  freeze: NONE,
  scan: { progressive: 250, top_first: 0, bottom_first: 0, looks: 'progressive', declared: null, differs: false },
  bars: { left: 0, right: 0, top: 0, bottom: 0 },
  letterbox: { changes: false, ...NONE },
  test_bars: NONE,
};

export const QUIET_AUDIO: Omit<QcAudio, 'stream'> = {
  ...LASTED,
  silence: NONE,
  loudness: { integrated: -23.1, range: 4, short_term_max: -18, true_peak: -1.2 },
  sample_peak: -1.5,
  flat_factor: 0,
  clipping: false,
  dc_offset: 0,
  phase: { mean: 0.6, mono: false, out_of_phase: NONE },
  test_tones: NONE,
};

export const QUIET: QcReport = {
  video: [{ stream: 0, ...QUIET_VIDEO }],
  audio: [{ stream: 1, ...QUIET_AUDIO }],
  thresholds: THRESHOLDS,
  unread_lines: 0,
  not_checked: [],
};

export const WHOLE: QcIntegrity = {
  streams: [
    { stream: 0, type: 'video', packets: 250, errors: NONE, hash: '0'.repeat(32) },
    { stream: 1, type: 'audio', packets: 500, errors: NONE, hash: '1'.repeat(32) },
  ],
  checksums: [{ kind: 'flac-md5', stream: 1, checked: 1, wrong: 0, first_wrong_byte: null }],
};
export const FILE: QcFile = { bytes: 9_000, sha256: '2'.repeat(64), as_given: true };

const BROKEN = [4.2, 5, 6, 7].map((at) => ({ at, byte: at * 1_000, what: 'slice CRC mismatch' }));
/** What is found of a file that is damaged, by what it is called. */
export const DAMAGE: Readonly<Record<string, Pick<QcReport, 'integrity' | 'file'>>> = {
  errors: {
    integrity: { ...WHOLE, streams: [{ ...WHOLE.streams[0]!, errors: { count: 9, list: BROKEN, more: 5 } }] },
    file: FILE,
  },
  sums: {
    integrity: {
      ...WHOLE,
      checksums: [{ kind: 'matroska-crc32', stream: null, checked: 9, wrong: 2, first_wrong_byte: 961 }],
    },
    file: FILE,
  },
  cut: { integrity: { ...WHOLE, until: 7, cut: 'out of time' }, file: { bytes: null, sha256: null, cut: 'no time' } },
  other: { integrity: WHOLE, file: { ...FILE, as_given: false } },
};
export const UNREAD: QcIntegrity = {
  ...WHOLE,
  streams: [{ ...WHOLE.streams[0]!, not_checked: 'ffprobe 9.0 decoded nothing of its av1' }],
};
/** No bytes between its first and its last ones. */
export const PICTURES: QcPictures = {
  video: { stream: 0, width: 160, height: 90, list: [0, 2.5, 5].map((at) => ({ at, jpeg: '/9j/2Q==' })) },
  audio: [{ stream: 1, step: 0.1, peaks: Buffer.from([0, 128, 255]).toString('base64') }],
};
