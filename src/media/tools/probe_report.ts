/** The report derived from the output of both tools. */
import type { Derived, InFile } from './tool.ts';

/** The two tools that it compares. */
export const REPORT_TOOLS = ['ffprobe', 'mediainfo'] as const;
export type ReportTool = (typeof REPORT_TOOLS)[number];

export const probeReport: InFile<Derived<'probe_report', ReportTool>> = {
  name: 'probe_report',
  from: REPORT_TOOLS,
  options: [
    { name: 'diff', type: 'boolean', default: true, description: 'List every field on which the tools disagree.' },
    {
      name: 'prefer',
      type: 'enum',
      values: REPORT_TOOLS,
      default: null,
      description: 'This tool wins every field that both have.',
    },
  ],
  file: {
    byDefault: true,
    enables: 'Add the report made from the output of both tools.',
    description: 'The report made from the output of both tools.',
  },
};
