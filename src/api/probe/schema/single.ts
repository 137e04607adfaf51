/** What the endpoints of one tool take: validated, typed and described by this alone. */
import Type, { type Static } from 'typebox';
import { WEB_SCHEMES } from '../../../source/protocols/table.ts';
import { MAX_QUEUE_MS, MAX_TIMEOUT_MS } from '../../../limits.ts';
import type { Endpoint } from '../../../tools/tool.ts';
import { c2pa } from '../../../tools/c2pa.ts';
import { msv } from '../../../tools/msv.ts';
import { flag, milliseconds, optionalText } from '../../http/fields.ts';

const common = ({ timeoutMs, injectJson }: Endpoint) => ({
  url: Type.String({
    minLength: 1,
    maxLength: 8192,
    description: `The source, with or without credentials. Schemes: ${WEB_SCHEMES.join(', ')}.`,
  }),
  timeout: milliseconds(
    timeoutMs,
    MAX_TIMEOUT_MS,
    'Time limit of the analysis in milliseconds, counted from admission; time in the queue is not included.',
  ),
  queue_timeout: milliseconds(MAX_QUEUE_MS, MAX_QUEUE_MS, 'Maximum time in the queue, in milliseconds.'),
  inject_output: flag(true, 'Return the bare output; false: an envelope that holds the output.'),
  inject_json: flag(injectJson, 'In the envelope, `output` is an object; false: a string that holds the JSON.'),
  webhook_url: optionalText(8192, 'POST only: the response is 202 at once, and the envelope is sent to this address.'),
});

export const ProbeMsvSchema = Type.Object(
  {
    ...common(msv.endpoint),
    parse_playlist_only: flag(true, 'Validate only the playlists; false: segments are sampled and measured too.'),
    enable_cli_output: flag(false, 'Add the report as text for a terminal.'),
  },
  { additionalProperties: false },
);
export type ProbeMsv = Static<typeof ProbeMsvSchema>;

export const ProbeC2paSchema = Type.Object(common(c2pa.endpoint), { additionalProperties: false });
export type ProbeC2pa = Static<typeof ProbeC2paSchema>;
