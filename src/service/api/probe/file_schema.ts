/** The request schema of `/v1/probe/file`: the single source of its validation, type and description. */
import Type, { type Static } from 'typebox';
import { choice, closed, flag, milliseconds, optionalChoice, optionalText, options } from '../http/request_fields.ts';
import { DESCRIBED_AS, FORM } from '../http/input/read_fields.ts';
import { PolicyField } from './requested_policy.ts';
import { MAX_TIMEOUT_MS, TIMEOUT_MS, TOOL_TIMEOUT_MS } from '../../../base/limits.ts';
import { FILE_ROWS, sectionOf, SECTIONS, type SectionName } from '../../../media/tools/table.ts';
import { SOURCE_FIELDS, timeFields } from './request_source.ts';
import { optionFields } from './tool_options.ts';
import { SCHEMES } from '../../../source/protocols/table.ts';

const toolTimeout = milliseconds(
  TOOL_TIMEOUT_MS,
  MAX_TIMEOUT_MS,
  'Time limit of this tool in milliseconds; at most that of the request.',
);

/** A request's section of one tool: whether it runs and, if it can be tuned, how. */
export interface AskedTool extends Record<string, unknown> {
  enabled: boolean;
  version?: string;
  timeout: number;
}

/** Without a default: a policy may name the version that it is written for. */
const pinnedVersion = (name: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        `A version of ${name}, or the beginning of one: \`6\` stands for the newest 6.x that is available. Default: ` +
        'that of `uses` in the policy, else latest.',
    }),
  );

const schemaOf = ({ name, file, options: specs }: (typeof FILE_ROWS)[number]) => {
  const members = options(
    {
      enabled: flag(file.byDefault, file.enables),
      ...(file.tunable ? { version: pinnedVersion(name), timeout: toolTimeout } : {}),
      ...optionFields(specs),
    },
    file.description,
  );
  return Type.Unsafe<AskedTool>(file.lenient ? { ...members, additionalProperties: true } : members);
};
const sections = Object.fromEntries(FILE_ROWS.map((row) => [sectionOf(row), schemaOf(row)])) as Record<
  SectionName,
  ReturnType<typeof schemaOf>
>;

const LIST = SCHEMES.join(', ');

/** Optional only where a file can be sent. */
export const UrlField = Type.String({
  minLength: 1,
  maxLength: 8192,
  description:
    `The source, with or without credentials; playlists and manifests too. Schemes: ${LIST}. Required, ` +
    'unless a `file` is sent.',
  examples: ['https://media.example.com/film.mp4'],
});

export const ProbeFileSchema = closed({
  url: Type.Optional(UrlField),
  // A file is taken out of the form before its fields are checked: what is left under this name is none.
  file: Type.Optional(
    Type.Unsafe<string>({
      type: 'string',
      pattern: '^(?!)',
      [FORM]: 'must be a file: a part of multipart/form-data with a file name',
      [DESCRIBED_AS]: { type: 'string', format: 'binary' },
      description:
        'Instead of `url`, POST with `multipart/form-data` only: the file itself. It is stored encrypted until the ' +
        'request ends.',
    }),
  ),
  ...SOURCE_FIELDS,
  ...timeFields(TIMEOUT_MS),
  only: optionalChoice(SECTIONS, 'Run only this tool; the response is the envelope with its result.'),
  // Without a default: an operator can make true the default.
  inject_output: Type.Optional(Type.Boolean({ description: 'With `only`: the body is the bare output of that tool.' })),
  output: choice(['json'], 'json', 'Format of the envelope.'),
  inject_json: flag(false, 'One document: the results of the other tools become members of the first one.'),
  timeline: options(
    {
      enabled: flag(
        false,
        'Run ffprobe once more, over all packets, and keep bit rate, key frames, gaps and jumps over time: read ' +
          'them at `/v1/probe/{request_id}/timeline`. The whole source is read, within `timeout`.',
      ),
    },
    'The timeline.',
  ),
  policy: PolicyField,
  webhook_url: optionalText(8192, 'POST only: the response is 202 at once, and the envelope is sent to this address.'),
  ...sections,
});
export type ProbeFile = Static<typeof ProbeFileSchema>;

/** Removes unknown members from sections that accept them, and returns their names. */
export function takeIgnored(fields: ProbeFile): string[] {
  return FILE_ROWS.filter(({ file }) => file.lenient).flatMap((row) => {
    const section = sectionOf(row);
    const known = Object.keys((sections[section] as unknown as { properties: object }).properties);
    const ignored = Object.keys(fields[section]).filter((name) => !known.includes(name));
    for (const name of ignored) delete fields[section][name];
    return ignored.map((name) => `${section}.${name}`);
  });
}
