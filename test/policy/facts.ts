/** Facts as the runner makes them, from what both tools printed of files that were made for this. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Facts } from '../../src/media/policy/types.ts';
import type { Input } from '../../src/media/report/report.ts';
import { inputOf, reportOf } from '../report/sample.ts';

function factsOf(input: Input, more: Partial<Facts> = {}): Facts {
  const tools = (['ffprobe', 'mediainfo'] as const).flatMap((name) => {
    const told = input[name];
    return told ? [{ name, version: told.version, success: true, output: JSON.stringify(told.output) }] : [];
  });
  return { report: reportOf(input), tools, ...more };
}

export const sampleFacts = (name: string, more: Partial<Facts> = {}): Facts => factsOf(inputOf(name), more);

/** One of test/policy/outputs: ffprobe 9.0 and mediainfo 26.10 on small files of ffmpeg's encoders. */
export function outputFacts(name: string): Facts {
  const outputs = JSON.parse(readFileSync(join(import.meta.dirname, 'outputs', `${name}.json`), 'utf8')) as Record<
    string,
    unknown
  >;
  const told = (tool: string, version: string) =>
    outputs[`${tool} ${version}`] === undefined ? undefined : { version, output: outputs[`${tool} ${version}`] };
  return factsOf({
    ffprobe: told('ffprobe', '9.0'),
    mediainfo: told('mediainfo', '26.10'),
    diff: true,
    prefer: null,
    extension: name.split('.').pop(),
  });
}
