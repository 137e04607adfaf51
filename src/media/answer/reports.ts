/** What an answer has of each kind, as it is on record. */
import type { C2paReport, HlsReport, ProbeReport, QcReport } from '../../api_types.ts';
import type { Comparison } from './comparison.ts';

export interface Reports {
  report: ProbeReport;
  hls: HlsReport;
  c2pa: C2paReport;
  qc: QcReport;
  comparison: Comparison;
}
