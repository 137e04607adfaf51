/** Converts the input to the schema's form, regardless of its encoding. */
import { invalid, unreadable } from '../../errors.ts';
import { JSON_BOUNDS, type JsonBounds, type JsonBudget, JsonRefused, parseJson } from './bounded_json.ts';
import { nest, type Nested, type Pair, shown } from './pairs.ts';
import type { Input } from '../request_context.ts';
import { makeCheck } from './check_fields.ts';

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
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
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

/** `bounds`: of the JSON in the fields of a form, together. JSON itself was bounded when it was parsed. */
export function makeReader<T>(schema: object, bounds: JsonBounds = JSON_BOUNDS): (input: Input) => T {
  const field = schema as Field;
  const check = makeCheck<T>(field);
  return (input) => {
    if (input.form === 'json') {
      if (typeof input.value !== 'object' || input.value === null || Array.isArray(input.value))
        throw unreadable('must be a JSON object');
      return check(input.value);
    }
    const budget = { ...bounds, used: 0 };
    const { rest, lists } = takeLists(field, input.pairs, budget);
    return check({ ...coerce(field, nest(rest), input.form === 'form' ? budget : null), ...lists });
  };
}
