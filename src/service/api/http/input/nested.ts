/** Bracket notation with a single level: `a=1&b[c]=2` is `{a: '1', b: {c: '2'}}`. A fixed grammar, without arrays. */
import { ApiError, invalid } from '../../errors.ts';
import { shown, type Pair } from './pairs.ts';

export type Nested = Record<string, string | Record<string, string>>;

const NAME = /^([^[\]]+)(?:\[([^[\]]+)\])?$/;

export function nest(pairs: readonly Pair[]): Nested {
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
