/** Validates an input against its schema, fills in defaults, and describes invalid fields. */
import { Ajv, type ErrorObject } from 'ajv';
import { invalid } from '../../errors.ts';
import type { Field } from './read_fields.ts';
import { nearest } from '../../../../base/nearest.ts';
import { shown } from './pairs.ts';

/** Custom keyword: a larger value is lowered to this instead of rejected. */
export const LOWERED_TO = 'x-lowered-to';
/** Custom keyword: the description of a field that is validated by code. */
export const DESCRIBED_AS = 'x-described-as';

/** Custom keyword: describes a text's pattern in words. */
export const FORM = 'x-form';

const ajv = new Ajv({ useDefaults: true, allowUnionTypes: true, strict: true });
ajv.addKeyword(DESCRIBED_AS);
ajv.addKeyword({
  keyword: LOWERED_TO,
  type: 'number',
  modifying: true,
  errors: false,
  validate: (
    limit: number,
    value: number,
    _schema: unknown,
    at?: { parentData?: unknown; parentDataProperty?: string | number },
  ) => {
    if (value > limit) (at!.parentData as Record<string, number>)[at!.parentDataProperty!] = limit;
    return true;
  },
});

ajv.addKeyword(FORM);

/** Custom keyword, for members of a section: accepted alternative names. */
export const ALIASES = 'x-aliases';
ajv.addKeyword(ALIASES);

/** Custom keyword, for a boolean of a section: its default is false if this other member of the section is given. */
export const OFF_WITH = 'x-off-with';
ajv.addKeyword(OFF_WITH);

const sectionIn = (input: object, name: string): Record<string, unknown> | undefined => {
  const members = (input as Record<string, unknown>)[name];
  return typeof members === 'object' && members !== null ? (members as Record<string, unknown>) : undefined;
};

/** Before defaults are filled in: renames members given by an alias, then sets those that another one switches off. */
function preparing(schema: Field): (input: unknown) => void {
  const all = Object.entries(schema.properties ?? {}).flatMap(([section, { properties = {} }]) =>
    Object.entries(properties).map(([name, field]) => ({ section, name, field })),
  );
  const renamed = all.flatMap(({ field, ...at }) => (field[ALIASES] ?? []).map((alias) => ({ ...at, alias })));
  const switched = all.flatMap(({ field: { [OFF_WITH]: other }, ...at }) =>
    other === undefined ? [] : [{ ...at, other }],
  );
  return (input) => {
    if (typeof input !== 'object' || input === null) return;
    for (const { section, name, alias } of renamed) {
      const members = sectionIn(input, section);
      if (!members || !Object.hasOwn(members, alias)) continue;
      if (Object.hasOwn(members, name))
        throw invalid(`${section}.${alias}`, `is another name of ${section}.${name}, which is given too`);
      members[name] = members[alias];
      delete members[alias];
    }
    for (const { section, name, other } of switched) {
      const members = sectionIn(input, section);
      if (members && Object.hasOwn(members, other) && members[other] !== null && !Object.hasOwn(members, name))
        members[name] = false;
    }
  };
}

const TYPES: Record<string, string> = {
  string: 'a string',
  boolean: 'true or false',
  integer: 'an integer',
  number: 'a number',
  object: 'an object',
  array: 'an array',
  null: 'null',
};
const or = (choices: string[]): string =>
  choices.length < 2 ? choices.join('') : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;

const pathOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

const fieldAt = (schema: Field, path: string[]): Field | undefined =>
  path.reduce<Field | undefined>((field, step) => field?.properties?.[step], schema);

/** Parameters of signed addresses: of S3, Google Cloud Storage, Azure and CloudFront. */
const OF_SIGNATURES =
  /^(?:X-(?:Amz|Goog)-[A-Za-z0-9-]+|AWSAccessKeyId|GoogleAccessId|Signature|Key-Pair-Id|Expires|Policy|sig|se|sp)$/;

/** Requests that read a source; `url` of the log is a filter. */
const readsSource = ({ properties = {} }: Field): boolean =>
  Object.hasOwn(properties, 'url') && Object.hasOwn(properties, 'timeout');

/**
 * The commonest mistake with a signed address: its `&` was not encoded, and what follows became fields of the request.
 * An address that has parameters is known by its `?`.
 */
function lostParameter(schema: Field, input: object): string | undefined {
  const known = schema.properties ?? {};
  const { url } = input as { url?: unknown };
  if (!readsSource(schema) || typeof url !== 'string' || !url.includes('?')) return undefined;
  return Object.keys(input).find((name) => !Object.hasOwn(known, name) && OF_SIGNATURES.test(name));
}

/** For callers who expect one request to take many sources. */
const URLS =
  'is unknown: a request reads one source. Send a request for each; POST /v1/compare with urls says how two of them ' +
  'differ';

function unknownName(schema: Field, path: string[], name: string): string {
  const level = fieldAt(schema, path) ?? schema;
  if (path.length === 0 && name === 'urls' && readsSource(schema)) return URLS;
  // An option written one level too high is the most frequent mistake: suggest where it belongs.
  const inner =
    path.length > 0
      ? undefined
      : Object.entries(schema.properties ?? {}).find(
          ([, field]) => field.properties && Object.hasOwn(field.properties, name),
        );
  const best = inner ? `${inner[0]}.${name}` : nearest(name, Object.keys(level.properties ?? {}));
  return best === undefined ? 'is unknown' : `is unknown; did you mean ${best}?`;
}

const dotted = (steps: string[]): string =>
  steps.map((step) => shown(step.replaceAll('\0', '\uFFFD').toWellFormed())).join('.') || 'body';

type Params = Record<string, unknown>;

const itemsOf = ({ limit }: Params): string => `${String(limit)} value${limit === 1 ? '' : 's'}`;

/** What is said of a value, by the keyword that it breaks. */
const SAID: Readonly<Record<string, (params: Params, field: Field | undefined) => string>> = {
  type: ({ type }) => `must be ${or([type].flat().map((one) => TYPES[String(one)] ?? String(one)))}`,
  enum: ({ allowedValues }) => `must be one of ${or((allowedValues as unknown[]).map(String))}`,
  const: ({ allowedValue }) => `must be ${String(allowedValue)}`,
  minimum: ({ limit }) => `must be at least ${String(limit)}`,
  maximum: ({ limit }) => `must be at most ${String(limit)}`,
  // A gap between 0, which is not passed on, and the smallest value that the tool accepts.
  not: (_, field) => `must be 0, or at least ${field!.not!.maximum + 1}`,
  minItems: (params) => `must have at least ${itemsOf(params)}`,
  maxItems: (params) => `must have at most ${itemsOf(params)}`,
  uniqueItems: () => 'must not contain duplicates',
  minLength: () => 'must not be empty',
  maxLength: ({ limit }) => `must be at most ${String(limit)} characters long`,
  pattern: (_, field) => field?.[FORM] ?? 'has an invalid format or contains control characters',
};

function words(schema: Field, error: ErrorObject, input: unknown): { field: string; text: string } {
  const path = pathOf(error.instancePath);
  const params = error.params as Params;
  if (error.keyword === 'additionalProperties') {
    const name = String(params['additionalProperty']);
    const lost = path.length > 0 ? undefined : lostParameter(schema, input as object);
    if (lost === undefined) return { field: dotted([...path, name]), text: unknownName(schema, path, name) };
    return {
      field: 'url',
      text:
        `lost a part of its query: ${lost} became a field of the request. Encode the address, & as %26 ` +
        '(curl: -G --data-urlencode "url=…"), or send it in a JSON body',
    };
  }
  if (error.keyword === 'required') {
    const name = String(params['missingProperty']);
    const isUrl = path.length === 0 && name === 'url' && readsSource(schema);
    if (isUrl && Object.hasOwn(input as object, 'urls')) return { field: 'urls', text: URLS };
    return { field: dotted([...path, name]), text: 'is required' };
  }
  const text = SAID[error.keyword]?.(params, fieldAt(schema, path)) ?? error.message ?? 'is not valid';
  return { field: dotted(path), text };
}

/** The validator of one schema. It modifies its input: defaults are filled in, and too large values lowered. */
export function makeCheck<T>(schema: Field): (input: unknown) => T {
  const validate = ajv.compile(schema);
  const prepare = preparing(schema);
  return (input) => {
    const place = unstorableIn(input);
    if (place) throw invalid(dotted(place), 'must not contain U+0000 or an unpaired surrogate');
    prepare(input);
    if (validate(input)) return input as T;
    const { field, text } = words(schema, validate.errors![0]!, input);
    throw invalid(field, text);
  };
}

// Finds texts that cannot be stored: Postgres rejects U+0000 in text and jsonb, and an unpaired surrogate is not valid
// UTF-8.

const isPlain = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Maximum path length in an error, counted from the outermost member. */
const MOST_STEPS = 8;

/** Path of the first one, including names of members. The input is bounded in depth and in values (json.ts). */
export function unstorableIn(input: unknown): string[] | undefined {
  if (typeof input === 'string') return isPlain(input) ? undefined : [];
  if (typeof input !== 'object' || input === null) return undefined;
  for (const name of Object.keys(input)) {
    const inner = isPlain(name) ? unstorableIn((input as Record<string, unknown>)[name]) : [];
    if (inner) return [name, ...inner].slice(0, MOST_STEPS);
  }
  return undefined;
}
