/** A field without a value is left out of management answers, and of their description. */
import assert from 'node:assert/strict';
import Type from 'typebox';
import { isManagement } from '../../../src/service/api/http/endpoint_access.ts';
import { schemaWithoutNull, withoutNull } from '../../../src/service/api/http/endpoint.ts';
import { OPERATIONS } from '../../../src/service/api/endpoints.ts';

const orNull = (type: string) => Type.Unsafe<unknown>({ type: [type, 'null'], description: 'd' });

describe('answers without null', () => {
  for (const [what, value, left] of [
    ['a member', { a: null, b: 0, c: '', d: false, e: [] }, { b: 0, c: '', d: false, e: [] }],
    ['a member of a member', { a: { b: null, c: { d: null } } }, { a: { c: {} } }],
    ['members of items, and no items', { a: [{ b: null }, null, 1] }, { a: [{}, null, 1] }],
    ['of a text nothing', 'null', 'null'],
  ] as const)
    it(`leave out ${what}`, () => assert.deepEqual(JSON.parse(JSON.stringify(value, withoutNull)), left));
});

describe('descriptions without null', () => {
  const Named = Type.Object({ id: Type.Integer() }, { title: 'Named' });
  const described = (schema: Parameters<typeof schemaWithoutNull>[0]): unknown =>
    JSON.parse(JSON.stringify(schemaWithoutNull(schema)));
  const id = { type: 'integer' };

  it('what may be null is optional', () =>
    assert.deepEqual(described(Type.Object({ id: Type.Integer(), a: orNull('string') }, { title: 'X' })), {
      title: 'X',
      type: 'object',
      required: ['id'],
      properties: { id, a: { type: 'string', description: 'd' } },
    }));

  it('a titled schema stays itself, an enum loses null, and lists and maps are looked into', () => {
    const either = Type.Unsafe<unknown>({ anyOf: [Named, { type: 'null' }] });
    const schema = Type.Object({
      named: either,
      choice: Type.Unsafe<unknown>({ type: ['string', 'null'], enum: ['a', null] }),
      list: Type.Array(Type.Object({ a: orNull('number') })),
      map: Type.Record(Type.String(), Type.Object({ a: orNull('number') })),
      plain: Type.Unsafe<unknown>({ anyOf: [{ type: 'integer', minimum: 0 }, { type: 'null' }], description: 'd' }),
    });
    const { properties, required } = described(schema) as { properties: Record<string, any>; required: string[] };
    assert.deepEqual(required, ['list', 'map']);
    const named = { type: 'object', required: ['id'], properties: { id }, title: 'Named' };
    assert.deepEqual(properties['named'], { anyOf: [named] });
    assert.deepEqual(properties['choice'], { type: 'string', enum: ['a'] });
    assert.deepEqual(properties['list'].items.properties, { a: { type: 'number', description: 'd' } });
    assert.equal(properties['list'].items.required, undefined);
    assert.doesNotMatch(JSON.stringify(properties['map']), /null/);
    assert.deepEqual(properties['plain'], { type: 'integer', minimum: 0, description: 'd' });
  });

  it('no management answer of the API may be null, or have a member that is', () => {
    const seen: string[] = [];
    const look = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      for (const [name, member] of Object.entries(value)) {
        if (name === 'type' && [member].flat().includes('null')) seen.push(path);
        if (name !== 'default' && name !== 'examples') look(member, `${path}.${name}`);
      }
    };
    for (const { path, id: name, responses } of OPERATIONS)
      if (isManagement(path))
        for (const [status, { schema }] of Object.entries(responses)) look(schema, `${name} ${status}`);
    assert.deepEqual(seen, []);
  });
});
