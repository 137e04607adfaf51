/** Converts the input to the schema's form, regardless of its encoding. */
import type { Input } from '../context.ts';
import { invalid, unreadable } from '../../errors.ts';
import { makeCheck } from './check.ts';
import { allows, coerce, type Field } from './coerce.ts';
import { JSON_BOUNDS, type JsonBounds, type JsonBudget } from './json.ts';
import { nest } from './nested.ts';
import { shown, type Pair } from './pairs.ts';

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
