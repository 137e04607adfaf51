/**
 * The fields of a batch: what its creator sends, and what its template is made of. A schema is the validator, the type
 * and the description.
 */
import Type, { type Static } from 'typebox';
import { DESCRIBED_AS } from '../http/input/read_fields.ts';
import {
  choice,
  closed,
  flag,
  milliseconds,
  nonEmpty,
  optionalText,
  optionalWhole,
  PLAIN,
  UUID,
} from '../http/request_fields.ts';
import { PolicyNameField } from '../policies/asked_policy.ts';
import { ProbeFileSchema } from '../probe/file_request.ts';
import { MAX_ADDRESS, webhookFields } from '../probe/request_source.ts';

/** Of one batch, its first line not counted. */
export const MOST_ITEMS = 10_000;
/** Of an account, over all its batches that have not ended. */
export const MOST_BATCHES = 20;

/** What a batch asks of one host at a time, and all batches of an account together. */
export const PER_HOST = { most: 8, byDefault: 4 } as const;
const MOST_TRIES = 5;
const DEFAULT_TRIES = 3;
const MOST_AT_ONCE = 100;
/** So a batch of a list has at most a hundred webhooks. */
const LEAST_EVERY = 100;

const DAY_MS = 86_400_000;
const LONGEST_MS = 30 * DAY_MS;
const DEADLINE_MS = 7 * DAY_MS;

// Left out: what belongs to one address or one caller, and what is stored with the request in the clear.
const {
  url: _url,
  file: _file,
  headers: _headers,
  cookies: _cookies,
  webhook_url: _webhook,
  webhook_format: _format,
  timeline: _timeline,
  output: _output,
  inject_output: _bare,
  policy: _policy,
  ...OF_A_FILE
} = ProbeFileSchema.properties;

export const TemplateSchema = closed(
  { ...OF_A_FILE, policy: PolicyNameField },
  {
    description:
      'Fields of `/v1/probe/file` that all items share. Not `url`, `file`, `headers`, `cookies`, `webhook_url`, ' +
      '`webhook_format`, `timeline`, `output` and `inject_output`. A policy is named; the revision of that ' +
      'moment judges all items. Versions become exact when the batch is created.',
  },
);
export type Template = Static<typeof TemplateSchema>;

export const ItemSchema = closed({
  url: nonEmpty(MAX_ADDRESS, 'The source, as in `/v1/probe/file`. It is stored encrypted until the item has ended.'),
  ref: optionalText(1_024, "The caller's own name of the item. It is returned, and not interpreted."),
});
export type SentItem = Static<typeof ItemSchema>;

const TIME = String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$`;
const patterns = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 200, pattern: PLAIN }), { maxItems: 10, default: [], description });
const bytes = (description: string) => optionalWhole(0, Number.MAX_SAFE_INTEGER, description);

export const BucketSchema = closed(
  {
    url: nonEmpty(
      MAX_ADDRESS,
      '`s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `az://ACCOUNT/CONTAINER/PREFIX`: whatever begins so. The prefix ' +
        'may be empty. It is read with `credential` of the template, or as a public bucket.',
    ),
    include: patterns(
      'Patterns, one of which an object must fit; none: all fit. `*` is for any characters, `/` included. ' +
        'Compared is the name after the last `/` of the prefix.',
    ),
    exclude: patterns('Patterns that no object may fit.'),
    min_bytes: bytes('Smaller objects are not wanted.'),
    max_bytes: bytes('Larger objects are not wanted.'),
    modified_after: optionalText(40, 'Objects from this time on, as RFC 3339 has it.', TIME),
    modified_before: optionalText(40, 'Objects before this time.', TIME),
  },
  {
    description:
      'In place of `items`: objects of a bucket, which jobs list while items run already. The listing is item 0, and ' +
      'other items have the name of the object as their `ref`.',
  },
);
export type Bucket = Static<typeof BucketSchema>;

const BUDGET = {
  max_requests: optionalWhole(1, 1_000_000_000, 'Stop after this many requests, repeated ones included.'),
  max_bytes: optionalWhole(
    1,
    Number.MAX_SAFE_INTEGER,
    'Stop after this many bytes of origins. What runs at that moment ends, so it may be exceeded.',
  ),
};

/** Without `items`. The template is checked by its own schema, so that its sections get their aliases. */
export const HeadSchema = closed({
  name: optionalText(200, 'A name for people.'),
  probe: Type.Unsafe<object>({ type: 'object', default: {} }),
  concurrency: optionalWhole(
    1,
    MOST_AT_ONCE,
    'Jobs at once, each an item or a chunk of small files. Default: half of the concurrency of the token, at most 4.',
  ),
  rate: optionalWhole(
    1,
    1_000_000,
    'Requests a minute, repeated ones included. At most, and by default half of, what the account may send a minute.',
  ),
  per_host: Type.Integer({
    minimum: 1,
    maximum: PER_HOST.most,
    default: PER_HOST.byDefault,
    description: `Jobs at once that read from one host. All batches of an account together: ${PER_HOST.most}.`,
  }),
  tries: Type.Integer({
    minimum: 1,
    maximum: MOST_TRIES,
    default: DEFAULT_TRIES,
    description: 'Requests for an item whose failures are temporary, the first one included.',
  }),
  ...BUDGET,
  items_url: optionalText(
    MAX_ADDRESS,
    'In place of `items`: the `http` or `https` address of a list of at most 4 MB, which is read now. It has an ' +
      'address on each line; or lines of JSON, each an address or an item; or CSV with a column `url`, and `ref` if ' +
      'it is there. The address is not kept.',
  ),
  from: Type.Optional(
    closed(
      {
        batch: Type.String({ pattern: UUID, description: 'The id of an earlier batch of the user.' }),
        only: choice(
          ['failed', 'changed', 'all'],
          'failed',
          'failed: items that are `error`, `with-errors` or `skipped`, but not as unchanged. changed: all, but an ' +
            'item that succeeded is `skipped` with the reason `Unchanged` if its host says that the file is still ' +
            'the same. all: whatever became of them.',
        ),
      },
      {
        description:
          'In place of `items`: those of an earlier batch, with their `ref`. Left out, and counted in `left_out`, ' +
          'are items whose address had a credential or a query: it was erased when they ended.',
      },
    ),
  ),
  bucket: Type.Optional(BucketSchema),
  ...webhookFields('The batch is sent to this address when it has ended.'),
  webhook_every: optionalWhole(
    LEAST_EVERY,
    MOST_ITEMS,
    'The batch is also sent to `webhook_url` each time that so many more of its items have ended.',
  ),
  tag_objects: flag(
    false,
    'Of `s3://` items: the runner writes the verdict to the object that it read, as the tags `probeyard-verdict`, ' +
      '`probeyard-checked-at` and `probeyard-request`, with the credential that reads it; other tags stay. The ' +
      'operator must allow it for a named credential. An item whose tags cannot be written does not fail.',
  ),
  webhook_items: flag(
    false,
    'The result of each item is sent to `webhook_url`, too, when the item has ended and is not tried again. Not of ' +
      'items without a request: those that were skipped or refused.',
  ),
  deadline: milliseconds(
    DEADLINE_MS,
    LONGEST_MS,
    'Milliseconds from now after which items that wait are skipped, and the batch ends. At most 30 days.',
  ),
});
export type Head = Static<typeof HeadSchema>;

/** For the description: what is sent may be lines instead. */
export const BatchSchema = closed({
  ...HeadSchema.properties,
  probe: { ...TemplateSchema, default: {} },
  items: Type.Optional(
    Type.Array(
      Type.Unsafe<string | SentItem>({
        [DESCRIBED_AS]: {
          anyOf: [
            ItemSchema.properties.url,
            closed({ url: ItemSchema.properties.url, ref: Type.Optional(ItemSchema.properties.ref) }),
          ],
        },
      }),
      {
        minItems: 1,
        maxItems: MOST_ITEMS,
        description:
          'The sources: an address, or an object with an address. Required, unless `items_url`, ' +
          '`from` or `bucket` is sent.',
      },
    ),
  ),
});

export const ResumeSchema = closed(BUDGET, { description: 'A larger budget may come along.' });
