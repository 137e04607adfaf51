/** Calls of functions of the schema, with their parameters by name. */
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
