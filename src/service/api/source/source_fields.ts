/** The fields of a source: those of a batch over a bucket, and when it looks at the bucket. */
import Type, { type Static } from 'typebox';
import { BucketSchema, HeadSchema, TemplateSchema } from '../batch/batch_fields.ts';
import { closed, flag } from '../http/request_fields.ts';

/** Of an account. */
export const MOST_SOURCES = 10;

const DAY_S = 86_400;
const DEFAULT_EVERY_S = 3_600;
const DEFAULT_SETTLE_S = 60;
const DEFAULT_BUNDLE_S = 60;

const seconds = (minimum: number, maximum: number, byDefault: number, description: string) =>
  Type.Integer({ minimum, maximum, default: byDefault, description });

const { items_url: _address, from: _from, bucket: _bucket, ...OF_BATCH } = HeadSchema.properties;

/** The template is checked by its own schema, so that its sections get their aliases. */
export const SourceInput = closed({
  ...OF_BATCH,
  bucket: BucketSchema,
  every: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 60,
    maximum: 7 * DAY_S,
    default: DEFAULT_EVERY_S,
    description: 'Seconds between two listings. Null: after the first one, only events and calls of `list`.',
  }),
  settle: seconds(0, DAY_S, DEFAULT_SETTLE_S, 'Seconds for which an object must not have changed.'),
  bundle: seconds(1, DAY_S, DEFAULT_BUNDLE_S, 'Seconds between two batches, each of up to 10,000 objects.'),
  existing: flag(true, 'Whether objects that were modified before the source was created are probed.'),
});
export type SentSource = Static<typeof SourceInput>;

/** For the description. */
export const SourceSchema = closed({ ...SourceInput.properties, probe: { ...TemplateSchema, default: {} } });
