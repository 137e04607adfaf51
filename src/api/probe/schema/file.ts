/** What `/v1/probe/file` takes: validated, typed and described by this alone. */
import Type, { type Static } from 'typebox';
import { flag, milliseconds, optionalChoice, optionalText, options, version } from '../../http/fields.ts';
import { MAX_QUEUE_MS, MAX_TIMEOUT_MS, TIMEOUT_MS, TOOL_TIMEOUT_MS } from '../../../limits.ts';
import { FILE_ROWS, FILE_TOOLS, type FileTool } from '../../../tools/table.ts';
import { optionFields } from './tool_options.ts';
import { SCHEMES } from '../../../source/protocols/table.ts';

const toolTimeout = milliseconds(
  TOOL_TIMEOUT_MS,
  MAX_TIMEOUT_MS,
  'Time limit of this tool in milliseconds; at most that of the request.',
);

/** What a request says of one tool: whether it runs and, where it can be tuned, how. */
export interface AskedTool extends Record<string, unknown> {
  enabled: boolean;
  version: string;
  timeout: number;
}

const sectionOf = ({ name, file, options: specs }: (typeof FILE_ROWS)[number]) =>
  Type.Unsafe<AskedTool>(
    options(
      {
        enabled: flag(file.byDefault, file.enables),
        ...(file.tunable ? { version: version(`A version of ${name}.`), timeout: toolTimeout } : {}),
        ...optionFields(specs),
      },
      file.description,
    ),
  );
const sections = Object.fromEntries(FILE_ROWS.map((row) => [row.name, sectionOf(row)])) as Record<
  FileTool,
  ReturnType<typeof sectionOf>
>;

const LIST = SCHEMES.join(', ');

export const ProbeFileSchema = Type.Object(
  {
    url: Type.String({
      minLength: 1,
      maxLength: 8192,
      description: `The source, with or without credentials; playlists and manifests too. Schemes: ${LIST}.`,
      examples: ['https://media.example.com/film.mp4'],
    }),
    timeout: milliseconds(
      TIMEOUT_MS,
      MAX_TIMEOUT_MS,
      'Time limit of the analysis in milliseconds, counted from admission; time in the queue is not included.',
    ),
    queue_timeout: milliseconds(MAX_QUEUE_MS, MAX_QUEUE_MS, 'Maximum time in the queue, in milliseconds.'),
    only: optionalChoice(FILE_TOOLS, 'Run only this tool; the response is the envelope with its result.'),
    // No default here: an operator can make true the default.
    inject_output: Type.Optional(
      Type.Boolean({ description: 'With `only`: the body is the bare output of that tool.' }),
    ),
    output: Type.Unsafe<'json'>({
      type: 'string',
      enum: ['json'],
      default: 'json',
      description: 'Format of the envelope.',
    }),
    inject_json: flag(false, 'One document: the results of the other tools become members of the first one.'),
    webhook_url: optionalText(
      8192,
      'POST only: the response is 202 at once, and the envelope is sent to this address.',
    ),
    ...sections,
    mediastreamvalidator: Type.Optional(
      Type.Unsafe<unknown>({ type: 'object', description: 'Accepted, ignored, and named in X-Ignored-Fields.' }),
    ),
  },
  { additionalProperties: false },
);
export type ProbeFile = Static<typeof ProbeFileSchema>;

/** The members that are ignored, for the header that says so. */
export const IGNORED = ['mediastreamvalidator'] as const;
