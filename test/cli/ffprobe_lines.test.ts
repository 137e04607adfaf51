/**
 * Ten thousand command lines as people write them: understood, and for a sample the same bytes as Debian's ffprobe
 * prints for the line itself.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Failure } from '../../src/cli/exits.ts';
import { readFfprobe } from '../../src/cli/shim/ffprobe_shim.ts';
import { ffprobe } from '../../src/media/tools/ffprobe.ts';
import { FFPROBE_OPTIONS } from '../../src/media/tools/ffprobe_options.ts';
import { catalogOf } from '../../src/service/api/probe/tool_versions.ts';
import { ProbeFileSchema, type ProbeFile } from '../../src/service/api/probe/file_schema.ts';
import { selectTools } from '../../src/service/api/probe/select_tools.ts';
import { makeReader } from '../../src/service/api/http/input/read_fields.ts';
import { aTool } from '../api/a_tool.ts';
import { REFUSED, seeded, shapes, variant } from './ffprobe_lines.ts';

const LINES = 10_000;
const VARIANTS_RUN = 40;
const SEED = 33;
const clip = join(import.meta.dirname, '../fixtures/tiny.mp4');

const read = makeReader<ProbeFile>(ProbeFileSchema);
const flags = FFPROBE_OPTIONS.flatMap(({ flag }) => (flag === undefined ? [] : [flag]));
const catalog = catalogOf([aTool('ffprobe', '9.0', { latest: true, options: [flags] })]);

/** The arguments with which a runner calls ffprobe for a line, through the command line and the API. */
function argumentsFor(line: readonly string[]): string[] {
  const { options, request, source } = readFfprobe(line.map((word) => (word === 'S' ? clip : word)));
  assert.equal(source, clip);
  const fields = read({ form: 'json', value: { url: 'u', only: 'ffprobe', ...request, ffprobe: options } });
  const [selected] = selectTools(fields, catalog).tools;
  const args = ffprobe.args(selected!.options ?? {}, clip);
  // A runner reads over HTTP alone, and this test a file.
  const place = args.indexOf('-protocol_whitelist');
  return args.toSpliced(place, 2);
}

const run = (args: readonly string[]) => spawnSync('ffprobe', args, { encoding: 'utf8', timeout: 30_000 });

describe('command lines of ffprobe', function () {
  this.timeout(120_000);

  it(`${LINES} variants are understood`, () => {
    const random = seeded(SEED);
    for (let count = 0; count < LINES; count++) {
      const line = variant(random);
      try {
        argumentsFor(line);
      } catch (error) {
        assert.fail(`${line.join(' ')}: ${String(error)}`);
      }
    }
  });

  for (const [line, flag] of REFUSED)
    it(`${line} is refused by the name of ${flag}`, () =>
      assert.throws(
        () => readFfprobe(line.split(' ')),
        (error) => error instanceof Failure && error.exitCode === 2 && error.message.startsWith(`ffprobe: ${flag}: `),
      ));

  it('the shapes and some variants print what ffprobe prints for the line itself', function () {
    if (run(['-version']).error) return this.skip();
    const random = seeded(SEED + 1);
    const lines = [...shapes(), ...Array.from({ length: VARIANTS_RUN }, () => variant(random))];
    for (const line of lines.filter((one) => !one.includes('-o'))) {
      const own = run(line.map((word) => (word === 'S' ? clip : word)));
      const ours = run(argumentsFor(line));
      assert.equal(ours.stdout, own.stdout, line.join(' '));
      assert.equal(ours.status, own.status, `${line.join(' ')}\n${own.stderr}`);
    }
  });
});
