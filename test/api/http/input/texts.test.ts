import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { ProbeFileSchema } from '../../../../src/service/api/probe/file_request.ts';
import { SINGLES } from '../../../../src/service/api/probe/single_endpoints.ts';
import { makeReader, unstorableIn } from '../../../../src/service/api/http/input/read_fields.ts';
import { MANAGEMENT } from '../../../../src/service/api/endpoints.ts';
import { startManagement, type Management } from '../../accounts/fixture.ts';

const BAD: [string, string][] = [
  ['U+0000', 'a\0b'],
  ['a high surrogate', 'a\ud800b'],
  ['a low surrogate', '\udc00'],
];

interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  items?: Schema;
}
const has = ({ type }: Schema, name: string) => [type].flat().includes(name);

/** Every text field of a schema: the body with `text` in it, and the name of the field. */
function placesOf(schema: Schema, text: string): { field: string; body: unknown }[] {
  if (has(schema, 'array') && schema.items)
    return placesOf(schema.items, text).map(({ field, body }) => ({
      field: field === '' ? '0' : `0.${field}`,
      body: [body],
    }));
  const inner = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    placesOf(field, text).map((place) => ({
      field: place.field === '' ? name : `${name}.${place.field}`,
      body: { [name]: place.body },
    })),
  );
  return has(schema, 'string') ? [{ field: '', body: text }, ...inner] : inner;
}

describe('texts that Postgres cannot store', () => {
  it('are found at any depth', () => {
    for (const [input, path] of [
      ['a\0', []],
      [{ a: 'b\0' }, ['a']],
      [{ a: { b: ['c', 'd\ud800'] } }, ['a', 'b', '1']],
      [{ 'a\0': 1 }, ['a\0']],
      [{ a: [{ '\udfff': null }] }, ['a', '0', '\udfff']],
    ] as const)
      assert.deepEqual(unstorableIn(input), path, JSON.stringify(input));
    for (const input of ['', 'a', '\ud83d\ude00', '\u{10ffff}', null, 1, true, [], {}, { a: ['\u0001'] }])
      assert.equal(unstorableIn(input), undefined);
  });

  it('are searched to the end of a body of the maximum depth', () => {
    const deep = (text: string) => JSON.parse(`${'['.repeat(64)}"${text}"${']'.repeat(64)}`) as unknown;
    assert.equal(unstorableIn(deep('a')), undefined);
    assert.deepEqual(
      unstorableIn(deep('\\u0000')),
      Array.from({ length: 8 }, () => '0'),
    );
  });

  for (const [name, schema] of [
    ['/v1/probe/file', ProbeFileSchema] as const,
    ...SINGLES.map((single) => [single.path, single.schema] as const),
  ]) {
    it(`${name}: every text field refuses them with its name in the error`, () => {
      const read = makeReader<unknown>(schema);
      for (const [what, text] of BAD) {
        const places = placesOf(schema as Schema, text);
        assert.ok(places.length >= 2, name);
        for (const { field, body } of places)
          assert.throws(
            () => read({ form: 'json', value: body }),
            { status: 400, field, message: `${field}: must not contain U+0000 or an unpaired surrogate` },
            `${what} in ${field}`,
          );
      }
    });
  }

  describe('management endpoints', function () {
    this.timeout(60_000);
    let m: Management;
    before(async () => {
      m = await startManagement();
    });
    after(() => m.stop());

    for (const { operation } of MANAGEMENT) {
      const [path] = [
        operation.path.replaceAll(
          /\{(\w+)\}|:(\w+)/g,
          operation.path.includes('session') || operation.path.includes('media') ? randomUUID() : '1',
        ),
      ];
      const method = operation.method.toUpperCase();
      it(`${method} ${operation.path}: a text field never causes a 500`, async () => {
        const token = m.root.token;
        if (operation.body) {
          for (const [what, text] of BAD) {
            for (const { field, body } of placesOf(operation.body.schema as Schema, text)) {
              const { status, json } = await m.call(method, path, { token, body });
              assert.deepEqual(
                [status, json['context']],
                [400, { field }],
                `${what} in ${field}: ${JSON.stringify(json)}`,
              );
            }
          }
          const form = await m.call(method, path, { token, form: 'x%00=1' });
          assert.equal(form.status, 400, form.text);
        }
        for (const { field } of placesOf((operation.query ?? {}) as Schema, '')) {
          const [outer, inner] = field.split('.');
          const query = `${outer}${inner === undefined || inner === '0' ? '' : `[${inner}]`}=a%00b`;
          const { status, json } = await m.call(method, `${path}?${query}`, { token });
          assert.deepEqual([status, json['context']], [400, { field }], `${query}: ${JSON.stringify(json)}`);
        }
        for (const text of ['a%00b', '%00', '%ED%A0%80', '%']) {
          if (!/[{:]/.test(operation.path)) continue;
          const { status } = await m.call(method, operation.path.replaceAll(/\{(\w+)\}|:(\w+)/g, text), {
            token,
            ...(operation.body ? { body: {} } : {}),
          });
          assert.ok([400, 404].includes(status), `${text}: ${status}`);
        }
      });
    }
  });
});
