/** Parts of reports of content checks in which nothing was found. */
import type { QcAudio, QcReport, QcVideo } from '../../src/media/qc/schema.ts';
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
};

export const QUIET: QcReport = {
  video: [{ stream: 0, ...QUIET_VIDEO }],
  audio: [{ stream: 1, ...QUIET_AUDIO }],
  thresholds: THRESHOLDS,
  unread_lines: 0,
  not_checked: [],
};
