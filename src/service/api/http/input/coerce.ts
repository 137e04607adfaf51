/**
 * Converts texts of a query or form to the types of the schema. Texts that do not fit are kept, and reported by the
 * check.
 */
import { invalid } from '../../errors.ts';
import { JsonRefused, parseJson, type JsonBudget } from './json.ts';
import { shown } from './pairs.ts';
import type { Nested } from './nested.ts';

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
}

export const allows = (field: Field, type: string): boolean =>
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
export function coerce(schema: Field, input: Nested, json: JsonBudget | null): Record<string, unknown> {
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
