import assert from 'node:assert/strict';
import { knownValues, type Schema } from './known_values.ts';

const schema: Schema = {
  properties: {
    image: { properties: { digest: {} }, additionalProperties: false },
    catalog: { items: { properties: { tool: { enum: ['a', 'b'] } }, additionalProperties: false } },
    labels: { additionalProperties: { properties: { text: {} }, additionalProperties: false } },
    open: {},
  },
  additionalProperties: false,
};

describe('values that an older chart knows', () => {
  for (const [what, values, expected] of [
    ['an unknown part is left out', { image: { digest: 'd' }, samples: { enabled: true } }, { image: { digest: 'd' } }],
    ['an unknown field of a part, too', { image: { digest: 'd', arm64: 'e' } }, { image: { digest: 'd' } }],
    ['and of items of a list', { catalog: [{ tool: 'a', arm64: {} }] }, { catalog: [{ tool: 'a' }] }],
    [
      'an item of an unknown kind is left out',
      { catalog: [{ tool: 'b' }, { tool: 'c' }] },
      { catalog: [{ tool: 'b' }] },
    ],
    ['and of parts of any name', { labels: { a: { text: 't', more: 1 } } }, { labels: { a: { text: 't' } } }],
    ['what has no description stays', { open: { a: [1, { b: null }] } }, { open: { a: [1, { b: null }] } }],
  ] as const)
    it(what, () => assert.deepEqual(knownValues(values, schema), expected));
});
