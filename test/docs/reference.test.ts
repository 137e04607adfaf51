/** The API reference is complete, and its examples are calls of the operations that they stand under. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { Ajv } from 'ajv';
import { apiPages } from '../../docs/tables/api_reference.ts';
import { OPERATIONS } from '../../src/service/api/endpoints.ts';
import { openapiDocument } from '../../src/service/api/openapi/openapi_document.ts';

interface Described {
  requestBody?: { content: Record<string, { schema: object }> };
  parameters?: { name: string; in: string }[];
}
const document = openapiDocument(OPERATIONS) as {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, object> };
};
const pages = new Map(apiPages());

interface Sent {
  method: string;
  path: string;
  query: string[];
  body: string | undefined;
}

/** Every block as a shell runs it: arguments of curl, each line ended by its own byte. */
function sentBy(blocks: readonly string[]): Sent[] {
  const calls = blocks.join('\n');
  const variables = 'PROBEYARD_URL= PROBEYARD_TOKEN=t ID=:id NAME=:name SECRET=:secret';
  const script = `curl() { printf '%s\\0' "$@"; printf '\\1\\0'; }\n${variables}\n${calls}`;
  const printed = execFileSync('bash', ['-u', '-c', script], { encoding: 'utf8', maxBuffer: 10_000_000 });
  return printed
    .split('\u0001\0')
    .filter((one) => one !== '')
    .map((one) => {
      const args = one.split('\0').slice(0, -1);
      const after = (name: string) => args.flatMap((arg, index) => (arg === name ? [args[index + 1]!] : []));
      const [body] = after('-d');
      return {
        method: (after('-X')[0] ?? (body === undefined ? 'GET' : 'POST')).toLowerCase(),
        path: args.find((arg) => arg.startsWith('/'))!,
        query: after('--data-urlencode'),
        body,
      };
    });
}

/** What stands below an operation's anchor, up to the next one. */
function sectionOf(id: string): string {
  for (const text of pages.values()) {
    const start = text.indexOf(`<a id="${id}"></a>`);
    if (start >= 0) return text.slice(start, text.indexOf('<a id="', start + 1) >>> 0).split('\n## Schemas\n')[0]!;
  }
  return '';
}

describe('API reference', () => {
  it('overview: links to every operation', () => {
    const overview = pages.get('README.md')!;
    assert.deepEqual(
      OPERATIONS.filter(({ id, tag }) => !overview.includes(`](${tag}.md#${id})`)).map(({ id }) => id),
      [],
    );
  });

  it('pages: every schema that a page names is on it', () => {
    for (const [name, text] of pages)
      for (const [, schema] of text.matchAll(/\(#(schema-\w+)\)/g))
        assert.ok(text.includes(`<details id="${schema}">`), `${name}: ${schema}`);
  });

  it('operations: each has its method and path, its fields, and an example that calls it with a valid body', () => {
    const ajv = new Ajv({ strict: false, validateFormats: false });
    for (const { id, method, path } of OPERATIONS) {
      const section = sectionOf(id);
      const described = document.paths[path.replaceAll(/:(\w+)/g, '{$1}')]![method]!;
      assert.ok(section.includes(`\n\`${method.toUpperCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')}\`\n`), id);
      for (const parameter of described.parameters ?? []) assert.ok(section.includes(`- \`${parameter.name}\` `), id);
      const sent = sentBy([...section.matchAll(/```sh\n([\s\S]*?)\n```/g)].map(([, block]) => block!));
      assert.ok(sent.length > 0, id);
      const [schema] = Object.values(described.requestBody?.content ?? {});
      for (const call of sent) {
        assert.deepEqual([call.method, call.path], [method, path], id);
        assert.equal(call.body !== undefined, schema !== undefined, id);
        if (schema && call.body !== undefined) {
          const valid = ajv.compile({ ...schema.schema, components: document.components });
          assert.ok(valid(JSON.parse(call.body)), `${id}: ${ajv.errorsText(valid.errors)}\n${call.body}`);
        }
        const names = new Set((described.parameters ?? []).filter((one) => one.in === 'query').map(({ name }) => name));
        for (const pair of call.query) assert.ok(names.has(/^[\w-]+/.exec(pair)![0]), `${id}: ${pair}`);
      }
    }
  });
});
