/** Reads what was sent against the endpoint's schema: the query of GET and DELETE, the body of POST and PUT. */
import type { Static, TSchema } from 'typebox';
import { bodyBeside } from './body.ts';
import type { Context, Handler, Input } from './context.ts';
import { invalid, unreadable } from '../errors.ts';
import { makeCheck } from './input/check.ts';
import { allows, coerce, type Field } from './input/coerce.ts';
import { nest } from './input/nested.ts';
import { parsePairs, shown, type Pair } from './input/pairs.ts';

type ListField = Field & { items?: Field };

/** Credentials wherever they stand in a query, and no fields. */
const CREDENTIALS = ['token', 'jwt'] as const;
const MAX_ITEMS = 200;

const itemOf = (items: Field | undefined, text: string): unknown =>
  coerce({ properties: { item: items ?? {} } }, { item: text }, { jsonObjects: true })['item'];

/** Lists are written by repeating the name, with or without `[]`; forms may write one as JSON. */
function takeLists(field: Field, pairs: readonly Pair[]): { rest: Pair[]; lists: Record<string, unknown[]> } {
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
    items.push(itemOf(list.items, value));
  }
  return { rest, lists };
}

function makeManagementReader<T>(schema: TSchema): (input: Input) => T {
  const field = schema as Field;
  const check = makeCheck<T>(field);
  return (input) => {
    if (input.form === 'json') {
      if (typeof input.value !== 'object' || input.value === null || Array.isArray(input.value))
        throw unreadable('must be a JSON object');
      return check(input.value);
    }
    const { rest, lists } = takeLists(field, input.pairs);
    return check({ ...coerce(field, nest(rest), { jsonObjects: input.form === 'form' }), ...lists });
  };
}

const readBody = bodyBeside(CREDENTIALS);

/** A POST that has nothing to say needs no body. */
const nothingSent = (ctx: Context): boolean => (ctx.request.length ?? 0) === 0 && ctx.get('Transfer-Encoding') === '';

/** The checked input stands in `ctx.state.checked`; `checkedBy` gives it its type. */
export function readInput(schema: TSchema): Handler[] {
  const read = makeManagementReader<unknown>(schema);
  const check: Handler = function checkInput(ctx, next) {
    ctx.state.checked = read(ctx.state.input!);
    return next();
  };
  const fromQuery: Handler = function readQuery(ctx, next) {
    const pairs = parsePairs(ctx.querystring, 'query').filter(
      ([name]) => !CREDENTIALS.some((credential) => credential === name),
    );
    ctx.state.input = { form: 'query', pairs };
    return next();
  };
  const fromNothing: Handler = function readNothing(ctx, next) {
    ctx.state.input = { form: 'json', value: {} };
    return next();
  };
  const input: Handler = function input(ctx, next) {
    if (ctx.method === 'GET' || ctx.method === 'DELETE') return fromQuery(ctx, next);
    if (nothingSent(ctx)) return fromNothing(ctx, next);
    return readBody(ctx, next);
  };
  return [input, check];
}

export const checkedBy = <T extends TSchema>(_schema: T, ctx: Context): Static<T> => ctx.state.checked as Static<T>;
