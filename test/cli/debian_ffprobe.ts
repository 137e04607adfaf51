/** A command line of ffprobe through the shim and the API, beside Debian's ffprobe with the line itself. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { readFfprobe } from '../../src/cli/shim/ffprobe_shim.ts';
import { ffprobe } from '../../src/media/tools/ffprobe.ts';
import { FFPROBE_OPTIONS } from '../../src/media/tools/ffprobe_options.ts';
import { catalogOf } from '../../src/service/api/probe/tool_versions.ts';
import { ProbeFileSchema, type ProbeFile, selectTools } from '../../src/service/api/probe/file_request.ts';
import { makeReader } from '../../src/service/api/http/input/read_fields.ts';
import { aTool } from '../api/a_tool.ts';

const clip = join(import.meta.dirname, '../fixtures/tiny.mp4');

const read = makeReader<ProbeFile>(ProbeFileSchema);
const flags = FFPROBE_OPTIONS.flatMap(({ flag }) => (flag === undefined ? [] : [flag]));
const catalog = catalogOf([aTool('ffprobe', '9.0', { latest: true, options: [flags] })]);

/** The arguments with which a runner calls ffprobe for a line, through the command line and the API. */
export function argumentsFor(line: readonly string[]): string[] {
  const { options, request, source } = readFfprobe(line.map((word) => (word === 'S' ? clip : word)));
  assert.equal(source, clip);
  const fields = read({ form: 'json', value: { url: 'u', only: 'ffprobe', ...request, ffprobe: options } });
  const [selected] = selectTools(fields, catalog).tools;
  const args = ffprobe.args(selected!.options ?? {}, clip);
  // A runner reads over HTTP alone, and this test a file.
  return args.toSpliced(args.indexOf('-protocol_whitelist'), 2);
}

const run = (args: readonly string[]) => spawnSync('ffprobe', args, { encoding: 'utf8', timeout: 30_000 });

export const isInstalled = (): boolean => run(['-version']).error === undefined;

/** For each line. Not with `-o -`: ffprobe itself may write a file of that name. */
export function assertSameOutput(lines: readonly string[][]): void {
  for (const line of lines.filter((one) => !one.includes('-o'))) {
    const own = run(line.map((word) => (word === 'S' ? clip : word)));
    const ours = run(argumentsFor(line));
    assert.equal(ours.stdout, own.stdout, line.join(' '));
    assert.equal(ours.status, own.status, `${line.join(' ')}\n${own.stderr}`);
  }
}
