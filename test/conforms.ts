/** Checks that a value matches a schema of the product. */
import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { TSchema } from 'typebox';

export type Validate = ReturnType<Ajv2020['compile']>;

export function makeAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: false, allErrors: true, verbose: true });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  return ajv;
}

const MOST_SHOWN = 8;

/** The errors with the invalid values. */
export const errorsOf = ({ errors }: Validate): string =>
  (errors ?? [])
    .slice(0, MOST_SHOWN)
    .map(
      ({ instancePath, message, params, data }) =>
        `${instancePath || '/'} ${message} ${JSON.stringify(params)}: ${JSON.stringify(data)?.slice(0, 200)}`,
    )
    .join('\n');

const ajv = makeAjv();

/** Compiles immediately, because it would take too long within the first test that needs it. */
export function conformsTo(schema: TSchema): (value: unknown) => void {
  const validate = ajv.compile(schema);
  const { title } = schema as { title?: string };
  return (value) => assert.ok(validate(value), `this does not have the form of ${title}:\n${errorsOf(validate)}`);
}
