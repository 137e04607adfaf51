/**
 * `GET /v1/versions`: the tool versions that the cluster can run now, and the options that each accepts. `GET
 * /v1/samples`: the samples of this installation, by the addresses at which runners read them.
 */
import Type, { type Static } from 'typebox';
import type { OptionSpec } from '../../../media/tools/option.ts';
import { FILE_ROWS, sectionOf, type SectionName } from '../../../media/tools/table.ts';
import { SAMPLES } from '../../samples/list.ts';
import type { Context } from '../http/request_context.ts';
import { endpoint } from '../http/endpoint.ts';
import { component, oneOf, orNull } from '../http/request_fields.ts';
import type { Deps } from '../deps.ts';
import { acceptedValues, type Catalog, describedOption } from './tool_versions.ts';

type Program = Extract<(typeof FILE_ROWS)[number], { args: unknown }>;
const PROGRAMS = FILE_ROWS.filter((row): row is Program => 'args' in row);

const Option = component('ToolOption', {
  name: Type.String(),
  type: oneOf(['boolean', 'integer', 'number', 'enum', 'string']),
  default: Type.Unsafe<OptionSpec['default']>({
    type: ['boolean', 'number', 'string', 'null'],
    description: 'Null: nothing is passed to the tool.',
  }),
  help: Type.String(),
  values: Type.Optional(Type.Array(Type.String(), { description: 'Of an enum: the accepted values.' })),
  minimum: Type.Optional(Type.Number()),
  maximum: Type.Optional(Type.Number()),
  pattern: Type.Optional(Type.String({ description: 'Of a string: the regular expression for the whole text.' })),
});

const Version = component('ToolVersion', {
  version: Type.String(),
  latest: Type.Optional(Type.Literal(true, { description: 'What `latest` stands for; left out elsewhere.' })),
  options: Type.Array(Type.String(), { description: 'Names of the options that this version accepts.' }),
  values: Type.Optional(
    Type.Record(Type.String(), Type.Array(Type.String()), {
      description: 'By option: the values of an enum that this version accepts, if it does not accept all of them.',
    }),
  ),
  reported: Type.Optional(Type.String({ description: 'The first line that the tool prints of its version.' })),
  warning: Type.Optional(
    Type.String({ description: 'Known vulnerabilities of this version, if the operator shows them.' }),
  ),
});

const Tool = component('AvailableTool', {
  tool: oneOf<SectionName>(PROGRAMS.map(sectionOf), { description: 'The name of its section in `/v1/probe/file`.' }),
  latest: orNull(Type.String({ description: 'The version that `latest` stands for; null if no version is ready.' })),
  selectable: Type.Boolean({ description: 'Its section accepts `version` and `timeout`.' }),
  default: Type.Boolean({ description: 'Whether it runs if a request does not say.' }),
  help: Type.String(),
  options: Type.Array(Option, { description: 'Every option of the tool.' }),
  versions: Type.Array(Version, { description: 'Newest first.' }),
});

const Versions = component('Versions', { success: Type.Literal(true), tools: Type.Array(Tool) });
type Versions = Static<typeof Versions>;

function versionOf(program: Program, version: string, latest: string, catalog: Catalog): Static<typeof Version> {
  const resolved = catalog.resolve(program.name, version);
  const accepted = program.options.flatMap((spec) => {
    const values = acceptedValues(spec, resolved);
    return values === null ? [] : [{ spec, values }];
  });
  const fewer = accepted.filter(({ spec, values }) => values.length < (spec.values?.length ?? 0));
  return {
    version,
    ...(version === latest ? { latest: true as const } : {}),
    options: accepted.map(({ spec }) => spec.name),
    ...(fewer.length > 0
      ? { values: Object.fromEntries(fewer.map(({ spec, values }) => [spec.name, [...values]])) }
      : {}),
    ...(resolved.reported === undefined ? {} : { reported: resolved.reported }),
    ...(resolved.warning === undefined ? {} : { warning: resolved.warning }),
  };
}

export function availableTools(catalog: Catalog): Versions {
  const tools = PROGRAMS.map((program): Static<typeof Tool> => {
    const versions = catalog.versions(program.name);
    const latest = versions.length > 0 ? catalog.resolve(program.name, 'latest').version : null;
    return {
      tool: sectionOf(program),
      latest,
      selectable: program.file.tunable === true,
      default: program.file.byDefault,
      help: program.file.description,
      options: program.options.map(describedOption),
      versions: latest === null ? [] : versions.map((version) => versionOf(program, version, latest, catalog)),
    };
  });
  return { success: true, tools };
}

/** Catalogs are immutable: a change creates a new object. */
const made = new WeakMap<Catalog, Versions>();

function listVersions(deps: Deps, ctx: Context): void {
  const catalog = deps.catalog();
  const answer = made.get(catalog) ?? availableTools(catalog);
  made.set(catalog, answer);
  ctx.set('Cache-Control', 'private, max-age=5');
  ctx.body = answer;
}

export const readVersions = endpoint('GET /v1/versions', {
  id: 'readVersions',
  summary: 'List tool versions',
  description:
    'The versions of each tool that the installation can run now, and the options that each version accepts. ' +
    'Clients may cache the response for five seconds.',
  answer: { description: 'The tools.', schema: Versions },
  work: listVersions,
});

const Sample = component('Sample', {
  url: Type.String({ description: 'Its address as a source.' }),
  group: oneOf(['video', 'audio', 'streams', 'c2pa', 'broken']),
  shows: Type.String(),
  endpoint: oneOf(['file', 'mediastreamvalidator', 'c2pa'], {
    description: 'What it is meant for: the last part of `/v1/probe/…`.',
  }),
  codecs: Type.Unsafe<readonly string[] | null>({
    anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }],
    description: 'Codecs of its streams, as ffprobe names them. Null: ffprobe refuses the file.',
  }),
});
const Samples = component('Samples', { success: Type.Literal(true), samples: Type.Array(Sample) });

/** `origin`: null if none is served. */
export const samplesAt = (origin: string | null): Static<typeof Samples> => ({
  success: true,
  samples:
    origin === null
      ? []
      : SAMPLES.map(({ path, group, shows, endpoint: of, codecs = null }) => ({
          url: `${origin}/${path}`,
          group,
          shows,
          endpoint: of,
          codecs,
        })),
});

function listSamples({ settings }: Deps, ctx: Context): void {
  ctx.set('Cache-Control', 'private, max-age=60');
  ctx.body = samplesAt(settings.samplesUrl);
}

export const readSamples = endpoint('GET /v1/samples', {
  id: 'readSamples',
  summary: 'List samples',
  description: 'Small media for a first request, if the operator serves them (`samples.enabled`). Otherwise none.',
  answer: { description: 'The samples.', schema: Samples },
  work: listSamples,
});
