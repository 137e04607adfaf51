/** Reports in their documented form, as the text that tools print. */
import type { HlsReport } from '../../src/media/hls/schema.ts';
import type { ProbeReport } from '../../src/media/report/schema.ts';
import type { C2paReport } from '../../src/media/tools/c2pa_schema.ts';

const hls: HlsReport = {
  success: true,
  cli_output: 'fine',
  tool: 'probeyard-hls',
  version: '1.0.0',
  reference_version: '1.24.5 (686.23b-241118)',
  playlists: [],
  variants: [],
  messages: [],
  summary: {
    must_fix: 0,
    should_fix: 0,
    info: 0,
    untold: 0,
    playlists: 1,
    variants: 0,
    segments: 1,
    segments_measured: 0,
    bytes_measured: 0,
    reloads: 0,
    live: false,
    protocol_version: 3,
    newest_protocol_version: 12,
    duration: 6,
  },
};
const probe: ProbeReport = {
  container: { format: 'mp4', streams: { total: 0, video: 0, audio: 0, subtitle: 0, data: 0, attachment: 0 } },
  streams: [],
  confidence: {},
  warnings: [],
};
const c2pa: C2paReport = { active_manifest: null, manifests: {}, validation_state: null, validation_results: null };

export const [HLS_REPORT, PROBE_REPORT, C2PA_REPORT] = [hls, probe, c2pa].map((report) => JSON.stringify(report)) as [
  string,
  string,
  string,
];
