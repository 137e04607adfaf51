/**
 * Reads the input by its schema, regardless of its encoding: texts of a query or form become names and values, these
 * the types of the schema, and the whole is validated. Bounded and strict.
 */
import { Ajv, type ErrorObject } from 'ajv';
import { ApiError, invalid, unreadable } from '../../errors.ts';
import { isObject } from '../../../../base/is_object.ts';
import { nearest } from '../../../../base/nearest.ts';
import type { Input } from '../request_context.ts';
import { JSON_BOUNDS, type JsonBounds, type JsonBudget, JsonRefused, parseJson } from './bounded_json.ts';

export type Pair = [name: string, value: string];

export const MAX_PAIRS = 256;
const MAX_NAME = 256;

export function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw unreadable('is not valid UTF-8');
  }
}

function decode(text: string, where: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ApiError('unreadable-input', { text: `${where}: is not valid percent-encoded UTF-8` });
  }
}

export const shown = (name: string): string => (name.length > 64 ? `${name.slice(0, 64)}…` : name);

export function parsePairs(text: string, where: 'query' | 'body'): Pair[] {
  const pairs: Pair[] = [];
  for (const part of text.split('&', MAX_PAIRS + 2)) {
    if (part === '') continue;
    if (pairs.length >= MAX_PAIRS)
      throw new ApiError('unreadable-input', { text: `${where}: has more than ${MAX_PAIRS} fields` });
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals), where);
    if (name.length > MAX_NAME)
      throw new ApiError('unreadable-input', { text: `${where}: the name "${shown(name)}" is too long` });
    pairs.push([name, equals < 0 ? '' : decode(part.slice(equals + 1), shown(name))]);
  }
  return pairs;
}

// Bracket notation with a single level: `a=1&b[c]=2` is `{a: '1', b: {c: '2'}}`. A fixed grammar, without arrays.

type Nested = Record<string, string | Record<string, string>>;

const NAME = /^([^[\]]+)(?:\[([^[\]]+)\])?$/;

function nest(pairs: readonly Pair[]): Nested {
  // Without a prototype, so that `__proto__` is a normal, unknown name.
  const out = Object.create(null) as Nested;
  for (const [name, value] of pairs) {
    const match = NAME.exec(name);
    if (!match)
      throw new ApiError('invalid-field', {
        text: `"${shown(name)}": is not a valid field name; use name=value or name[option]=value`,
      });
    const [, outer, inner] = match as unknown as [string, string, string | undefined];
    // An empty value counts as not sent, so it is no repetition either.
    if (value === '') continue;
    const present = out[outer];
    if (inner === undefined) {
      if (present !== undefined) throw invalid(shown(outer), 'is given more than once');
      out[outer] = value;
      continue;
    }
    if (typeof present === 'string') throw invalid(shown(outer), 'is given more than once');
    const object = (present ?? Object.create(null)) as Record<string, string>;
    if (object[inner] !== undefined) throw invalid(`${shown(outer)}.${shown(inner)}`, 'is given more than once');
    object[inner] = value;
    out[outer] = object;
  }
  return out;
}

// Converts texts of a query or form to the types of the schema. Texts that do not fit are kept, and reported by the
// check.

/** The subset of JSON Schema in request schemas. */
export interface Field {
  type?: string | string[];
  properties?: Record<string, Field>;
  enum?: unknown[];
  not?: { minimum: number; maximum: number };
  default?: unknown;
  description?: string;
  'x-form'?: string;
  'x-aliases'?: readonly string[];
  'x-off-with'?: string;
}

const allows = (field: Field, type: string): boolean =>
  Array.isArray(field.type) ? field.type.includes(type) : field.type === type;

const TRUE = new Set(['true', 't', '1']);
const FALSE = new Set(['false', 'f', '0']);

function scalar(field: Field, text: string): unknown {
  if (allows(field, 'boolean')) {
    const lower = text.toLowerCase();
    return TRUE.has(lower) ? true : FALSE.has(lower) ? false : text;
  }
  if (allows(field, 'integer') && /^[+-]?\d{1,15}$/.test(text)) return Number(text);
  if (allows(field, 'number') && /^[+-]?(\d{1,15}(\.\d{0,15})?|\.\d{1,15})$/.test(text)) return Number(text);
  // Within an object a name may occur once, so its values are separated by commas.
  if (allows(field, 'array')) return text.split(',');
  return text;
}

function objectOf(name: string, text: string, budget: JsonBudget): unknown {
  try {
    const value = parseJson(text, budget);
    if (isObject(value)) return value;
  } catch (error) {
    if (error instanceof JsonRefused) {
      const { message, repeated } = error;
      throw invalid(repeated === undefined ? shown(name) : `${shown(name)}.${shown(repeated)}`, message);
    }
    // Invalid JSON: reported below, like JSON that is not an object.
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw invalid(shown(name), 'must be an object, in brackets or as a JSON string');
}

/** For a field that may also be a string: anything that does not begin like an object. */
const isText = (field: Field, value: string): boolean => allows(field, 'string') && !/^\s*\{/.test(value);

/**
 * Forms may send an object as one JSON string, whose members are then typed as in a JSON body: `json` bounds all of
 * them together. Null: a query, whose objects are in brackets.
 */
function coerce(schema: Field, input: Nested, json: JsonBudget | null): Record<string, unknown> {
  const out = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of Object.entries(input)) {
    const field = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name]! : undefined;
    if (!field) out[name] = value;
    else if (typeof value === 'object')
      out[name] = allows(field, 'object') && field.properties ? coerce(field, value, json) : value;
    else if (allows(field, 'object') && !isText(field, value)) out[name] = json ? objectOf(name, value, json) : value;
    else out[name] = scalar(field, value);
  }
  return out;
}

type ListField = Field & { items?: Field };

const MAX_ITEMS = 200;

const itemOf = (items: Field | undefined, text: string, json: JsonBudget): unknown =>
  coerce({ properties: { item: items ?? {} } }, { item: text }, json)['item'];

/** Lists are sent by repeating the name, with or without `[]`; forms may send one as JSON. */
function takeLists(
  field: Field,
  pairs: readonly Pair[],
  json: JsonBudget,
): { rest: Pair[]; lists: Record<string, unknown[]> } {
  const lists: Record<string, unknown[]> = {};
  const rest: Pair[] = [];
  for (const [name, value] of pairs) {
    const plain = name.endsWith('[]') ? name.slice(0, -2) : name;
    const list: ListField | undefined =
      field.properties && Object.hasOwn(field.properties, plain) ? field.properties[plain] : undefined;
    if (!list || !allows(list, 'array')) {
      rest.push([name, value]);
      continue;
    }
    if (value === '') continue;
    const items = (lists[plain] ??= []);
    if (items.length >= MAX_ITEMS) throw invalid(shown(plain), `must have at most ${MAX_ITEMS} values`);
    items.push(itemOf(list.items, value, json));
  }
  return { rest, lists };
}

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

const sectionIn = (input: Record<string, unknown>, name: string): Record<string, unknown> | undefined => {
  const members = input[name];
  return isObject(members) ? members : undefined;
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
    if (!isObject(input)) return;
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
export const or = (choices: readonly string[]): string =>
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

/** Path of the first one, including names of members. The input is bounded in depth and in values (bounded_json.ts). */
export function unstorableIn(input: unknown): string[] | undefined {
  if (typeof input === 'string') return isPlain(input) ? undefined : [];
  if (typeof input !== 'object' || input === null) return undefined;
  for (const name of Object.keys(input)) {
    const inner = isPlain(name) ? unstorableIn((input as Record<string, unknown>)[name]) : [];
    if (inner) return [name, ...inner].slice(0, MOST_STEPS);
  }
  return undefined;
}

/** `bounds`: of the JSON in the fields of a form, together. JSON itself was bounded when it was parsed. */
export function makeReader<T>(schema: object, bounds: JsonBounds = JSON_BOUNDS): (input: Input) => T {
  const field = schema as Field;
  const check = makeCheck<T>(field);
  return (input) => {
    if (input.form === 'json') {
      if (!isObject(input.value)) throw unreadable('must be a JSON object');
      return check(input.value);
    }
    const budget = { ...bounds, used: 0 };
    const { rest, lists } = takeLists(field, input.pairs, budget);
    return check({ ...coerce(field, nest(rest), input.form === 'form' ? budget : null), ...lists });
  };
}
