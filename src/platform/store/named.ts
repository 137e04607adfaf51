/** Parameters of statements by name, so that a call reads as name = value. */
import { listed, type Columns } from './columns.ts';
import type { Query } from './connection.ts';

type Values = Readonly<Record<string, unknown>>;

interface Call {
  names: readonly string[];
  columns: Columns | undefined;
  text: string;
}
/** By function. To write the text anew took 20 µs of each call of open_request, 3 % of it. */
const calls = new Map<string, Call>();

const isSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((one, at) => one === others[at]);

function callOf(name: string, names: readonly string[], columns?: Columns): Call {
  const known = calls.get(name);
  if (known && known.columns === columns && isSame(known.names, names)) return known;
  const given = names.map((one, at) => `p_${one} => $${at + 1}`).join(', ');
  const call = { names, columns, text: `select ${columns ? listed(columns) : '*'} from ${name}(${given})` };
  calls.set(name, call);
  return call;
}

/** A call of a function of the schema, whose parameters are named `p_…` there. `columns`: of its rows. */
export const calling = (name: string, values: Values = {}, columns?: Columns): Query => ({
  name,
  text: callOf(name, Object.keys(values), columns).text,
  values: Object.values(values),
});

/** A statement with `:name` in place of each value of that name. Values that it does not name are left out. */
export function named(text: string, values: Values): Required<Pick<Query, 'text' | 'values'>> {
  const names: string[] = [];
  return {
    // Not the second colon of a cast.
    text: text.replaceAll(/(?<!:):([a-z_]\w*)/gi, (_, name: string) => {
      if (!(name in values)) throw new Error(`:${name} has no value`);
      if (!names.includes(name)) names.push(name);
      return `$${names.indexOf(name) + 1}`;
    }),
    values: names.map((name) => values[name]),
  };
}
