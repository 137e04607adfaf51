/** The report derived from the output of both tools. */
import type { Derived, InFile } from './tool.ts';

/** The two tools that it compares. */
export const REPORT_TOOLS = ['ffprobe', 'mediainfo'] as const;
export type ReportTool = (typeof REPORT_TOOLS)[number];

/** Whether the first pictures are read as a third witness. */
export const FRAMES = ['auto', 'never', 'always'] as const;
export type FramesOption = (typeof FRAMES)[number];

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
    {
      name: 'frames',
      type: 'enum',
      values: FRAMES,
      default: 'auto',
      description:
        'Read some pictures of the first video stream, which may carry what the container does not declare: ' +
        'auto where HDR, captions or fields are possible and not known.',
    },
  ],
  file: {
    byDefault: true,
    enables: 'Add the report made from the output of both tools.',
    description: 'The report made from the output of both tools.',
  },
};
