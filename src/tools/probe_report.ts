/** The report that both readers lead to. */
import type { Derived, InFile } from './tool.ts';

/** The two that it compares. */
const READERS = ['ffprobe', 'mediainfo'] as const;
export type Reader = (typeof READERS)[number];

export const probeReport: InFile<Derived<'probe_report', Reader>> = {
  name: 'probe_report',
  from: READERS,
  options: [
    { name: 'diff', type: 'boolean', default: true, description: 'List every field on which the tools disagree.' },
    {
      name: 'prefer',
      type: 'enum',
      values: READERS,
      default: null,
      description: 'This tool wins every field that both have.',
    },
  ],
  file: {
    byDefault: true,
    enables: 'Add the report that both tools lead to.',
    description: 'The report that both tools lead to.',
  },
};
