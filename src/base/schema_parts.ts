/** Parts of schemas. A schema is the type, the check and the description of what it describes. */
import Type, { type Static, type TSchema } from 'typebox';

type Properties = Record<string, TSchema>;

/** Closed objects: a member that is not described is a defect. */
export const untitled = <T extends Properties>(properties: T) =>
  Type.Object(properties, { additionalProperties: false });
export const titled = <T extends Properties>(title: string, properties: T) =>
  Type.Object(properties, { title, additionalProperties: false });
export const described = <T extends Properties>(title: string, description: string, properties: T) =>
  Type.Object(properties, { title, description, additionalProperties: false });

const saying = (description: string | undefined) => (description === undefined ? {} : { description });

export const oneOf = <const T extends string>(values: readonly T[], description?: string, more: object = {}) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], ...saying(description), ...more });
export const count = (description?: string) => Type.Integer({ minimum: 0, ...saying(description) });
export const eitherOrNull = <T extends TSchema>(schema: T, description?: string) =>
  Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: 'null' }], ...saying(description) });

/** Beside a finding that somebody accepts. */
export const WaivedSchema = described('Waived', 'Who accepts a finding, why, and until when.', {
  waiver: Type.String({ description: 'The id of the waiver.' }),
  reason: Type.String({ description: 'Why it is accepted.' }),
  by: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'Who waived it; null: an erased user.' }),
  until: Type.String({ description: 'The end of the waiver, as RFC 3339.' }),
});
export type Waived = Static<typeof WaivedSchema>;
