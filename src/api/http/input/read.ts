/** From what was sent to what the schema says, whatever way it came. */
import type { Input } from '../context.ts';
import { unreadable } from '../../errors.ts';
import { makeCheck } from './check.ts';
import { coerce, type Field } from './coerce.ts';
import { nest } from './nested.ts';

export function makeReader<T>(schema: object): (input: Input) => T {
  const field = schema as Field;
  const check = makeCheck<T>(field);
  return (input) => {
    if (input.form === 'json') {
      if (typeof input.value !== 'object' || input.value === null || Array.isArray(input.value))
        throw unreadable('must be a JSON object');
      return check(input.value);
    }
    return check(coerce(field, nest(input.pairs), { jsonObjects: input.form === 'form' }));
  };
}
