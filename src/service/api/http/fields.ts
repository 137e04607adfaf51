/** Building blocks of request schemas. A schema is the validator, the type and the documentation of a field. */
import Type, { type TSchema } from 'typebox';
import { LOWERED_TO } from './input/check.ts';

export const milliseconds = (byDefault: number, loweredTo: number, description: string) =>
  Type.Integer({ minimum: 1, default: byDefault, [LOWERED_TO]: loweredTo, description });

export const flag = (byDefault: boolean, description: string) => Type.Boolean({ default: byDefault, description });

export const choice = <const T extends string>(values: readonly T[], byDefault: T, description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], default: byDefault, description });

/** Null is the default, and may be sent. */
export const optionalChoice = <const T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T | null>({ type: ['string', 'null'], enum: [...values, null], default: null, description });

/** Without control characters and lone surrogates: neither Postgres nor an argument list accepts them. */
export const PLAIN = '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$';

export const optionalText = (maxLength: number, description: string, pattern = PLAIN) =>
  Type.Unsafe<string | null>({
    type: ['string', 'null'],
    minLength: 1,
    maxLength,
    pattern,
    default: null,
    description,
  });

/** An object whose members all have defaults, so an absent one is filled in with them. */
export const options = <T extends Record<string, TSchema>>(properties: T, description: string) =>
  Type.Object(properties, { additionalProperties: false, default: {}, description });
