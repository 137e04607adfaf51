import assert from 'node:assert/strict';
import { catalogOf } from '../../src/api/probe/catalog.ts';
import { ApiError } from '../../src/api/errors.ts';
import { makeReader } from '../../src/api/http/input/read.ts';
import { ProbeFileSchema, type ProbeFile } from '../../src/api/probe/schema/file.ts';
import { selectTools } from '../../src/api/probe/tools.ts';
import { FFPROBE_OPTIONS, LOG_LEVELS } from '../../src/tools/ffprobe_options.ts';
import type { ToolName } from '../../src/tools/table.ts';
import { aTool } from '../api/a_tool.ts';
import { argsOf, difference, optionTable } from '../../docs/tables/options.ts';

const read = makeReader<ProbeFile>(ProbeFileSchema);
/** A version that has everything. */
const flags = FFPROBE_OPTIONS.flatMap(({ flag }) => (flag === undefined ? [] : [flag]));
const catalog = catalogOf([
  aTool('ffprobe', '9.0', { latest: true, options: [flags] }),
  aTool('mediainfo', '26.10', { latest: true }),
]);

/** From what a caller writes to the arguments of the tool, by the code that does it. */
function passed(tool: ToolName, name: string, value: unknown): string[] {
  const request = read({
    form: 'json',
    value: JSON.parse(JSON.stringify({ url: 'u', only: tool, [tool]: { [name]: value } })),
  });
  const [selected] = selectTools(request, catalog).tools;
  return difference(tool, selected!.options ?? {});
}

/** What docs/options.md says each becomes; the rest goes by its own name. */
const SPECIAL: Record<string, (value: unknown) => string[]> = {
  'ffprobe.output_format': (value) => (value === 'json' ? [] : ['-of', String(value)]),
  'ffprobe.show_data_hash': (value) => (value === true ? ['-show_data_hash', 'MD5'] : []),
  'ffprobe.show_log': (value) => ['-show_log', String(LOG_LEVELS[String(value)])],
  'ffprobe.skip_estimate_duration_from_pts': (value) =>
    value === true ? ['-skip_estimate_duration_from_pts', '1'] : [],
  'ffprobe.tls_verify': () => [],
  'mediainfo.output': (value) => (value === 'JSON' ? [] : [`--Output=${String(value)}`]),
  'mediainfo.full': (value) => (value === true ? ['--Full'] : []),
  'mediainfo.language': (value) => [`--Language=${String(value)}`],
  'mediainfo.parse_speed': (value) => (value === 0.5 ? [] : [`--ParseSpeed=${String(value)}`]),
  'mediainfo.read_by_human': (value) => (value === true ? ['--ReadByHuman=1'] : []),
  'mediainfo.ssl_ignore_security': () => [],
};

function expected(tool: string, name: string, byDefault: unknown, value: unknown): string[] {
  const special = SPECIAL[`${tool}.${name}`];
  if (special) return special(value);
  if (value === true) return byDefault === true ? [] : [`-${name}`];
  if (value === false) return byDefault === true ? [`without -${name}`] : [];
  if (value === 0 && byDefault === 0) return [];
  return [`-${name}`, String(value)];
}

describe('every option of the tools', () => {
  for (const { tool, spec, accepted, refused } of optionTable()) {
    it(`${tool}.${spec.name}: ${accepted.length} values become arguments, ${refused.length} are refused`, () => {
      for (const { value, args } of accepted) {
        assert.deepEqual(passed(tool, spec.name, value), expected(tool, spec.name, spec.default, value), String(value));
        assert.deepEqual(args, expected(tool, spec.name, spec.default, value), `the page: ${String(value)}`);
      }
      for (const value of refused) {
        const sent = JSON.stringify(value);
        assert.throws(
          () => passed(tool, spec.name, value),
          (error) =>
            error instanceof ApiError && error.status === 400 && error.message.startsWith(`${tool}.${spec.name}: `),
          `${sent?.slice(0, 60)} was taken`,
        );
      }
    });
    it(`${tool}.${spec.name} null is ${spec.default === null ? 'its default' : 'refused'}`, () => {
      if (spec.default === null) assert.deepEqual(passed(tool, spec.name, null), []);
      else assert.throws(() => passed(tool, spec.name, null), { status: 400 });
    });
  }

  it('all at once are arguments in the order of the table, each once', () => {
    const options = Object.fromEntries(
      optionTable()
        .filter(({ tool }) => tool === 'ffprobe')
        .map(({ spec, accepted }) => [
          spec.name,
          String(accepted.findLast(({ value }) => value !== 0 && value !== false)!.value),
        ]),
    );
    const args = argsOf('ffprobe', options);
    const used = args.filter((arg) => arg.startsWith('-') && flags.includes(arg.slice(1)));
    assert.deepEqual(
      used,
      flags.map((flag) => `-${flag}`),
    );
  });
});
