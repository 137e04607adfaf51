import assert from 'node:assert/strict';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import Type from 'typebox';
import { openapiDocument } from '../../../src/service/api/openapi/openapi_document.ts';
import type { Operation } from '../../../src/service/api/openapi/operation.ts';
import { OPERATIONS } from '../../../src/service/api/endpoints.ts';

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  style?: string;
  schema: Record<string, unknown>;
  examples?: Record<string, { value: unknown }>;
}
interface Described {
  operationId: string;
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: {
    content: Record<
      string,
      {
        schema: { $ref?: string; required?: string[]; properties?: Record<string, Record<string, unknown>> };
        encoding?: object;
      }
    >;
  };
  responses: Record<string, { headers: object; content?: Record<string, { schema: object }> }>;
}
interface Document {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, object> };
}

const simple = (change: Partial<Operation> = {}): Operation => ({
  method: 'get',
  path: '/a',
  id: 'a',
  tag: 'health',
  summary: 'A',
  security: 'none',
  responses: { 200: { description: 'yes' } },
  ...change,
});

describe('OpenAPI description', function () {
  // Compiling every schema takes seconds on a busy machine.
  this.timeout(30_000);
  const document = openapiDocument(OPERATIONS) as Document;
  const file = document.paths['/v1/probe/file']!;

  it('is a valid OpenAPI 3.1 document with no dangling reference', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document) as unknown as Record<string, unknown>);
    assert.deepEqual(result, { valid: true });
    assert.equal(validator.version, '3.1');
    assert.doesNotThrow(() => validator.resolveRefs());
    assert.equal(document.info.version, 'v1.0');
  });

  it('has only schemas that are valid in 2020-12, and examples that fit them', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
    const whole = { $id: 'probeyard', components: document.components };
    ajv.addSchema(whole);
    const based = (schema: object): object =>
      JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"probeyard#/components/')) as object;
    let examples = 0;
    const compiled = new Map<string, ReturnType<typeof ajv.compile>>();
    const compile = (schema: object): ReturnType<typeof ajv.compile> => {
      const text = JSON.stringify(schema);
      const validate = compiled.get(text) ?? ajv.compile(based(schema));
      compiled.set(text, validate);
      return validate;
    };
    const check = (what: string, schema: object, given: Record<string, { value: unknown }> = {}): void => {
      const validate = compile(schema);
      for (const [name, { value }] of Object.entries(given)) {
        examples++;
        assert.ok(validate(value), `${what}, example ${name}: ${ajv.errorsText(validate.errors)}`);
      }
    };
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const what = `${method} ${path}`;
        for (const parameter of operation.parameters ?? [])
          check(`${what} ${parameter.name}`, parameter.schema, parameter.examples);
        for (const content of [operation.requestBody, ...Object.values(operation.responses)].map(
          (part) => part?.content ?? {},
        )) {
          for (const [type, { schema, examples: given }] of Object.entries(content) as [
            string,
            { schema: object; examples?: Record<string, { value: unknown }> },
          ][])
            check(`${what} ${type}`, schema, given);
        }
      }
    }
    assert.ok(examples > 10);
  });

  it('shows the schemas that validate requests, with only fields without a default required', () => {
    const url = file['get']!.parameters!.find(({ name }) => name === 'url')!;
    assert.deepEqual([url.in, url.required, url.schema['maxLength']], ['query', true, 8192]);
    const ffprobe = file['get']!.parameters!.find(({ name }) => name === 'ffprobe')!;
    assert.deepEqual([ffprobe.style, ffprobe.required, ffprobe.schema['required']], ['deepObject', false, undefined]);
    const only = file['get']!.parameters!.find(({ name }) => name === 'only')!;
    assert.deepEqual(
      [only.schema['type'], only.schema['enum'], 'default' in only.schema],
      ['string', ['ffprobe', 'mediainfo', 'probe_report', 'mediastreamvalidator', 'c2pa', 'qc'], false],
      'nothing in a query is null',
    );
    const body = file['post']!.requestBody!.content;
    assert.deepEqual(body['multipart/form-data']!.schema.properties!['only']!['type'], 'string');
    assert.deepEqual(body['application/json']!.schema.properties!['only']!['type'], ['string', 'null']);
    assert.deepEqual(Object.keys(body), [
      'application/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
    ]);
    const { schema } = body['application/json']!;
    assert.equal(schema.required, undefined, 'a file may take the place of url');
    assert.equal(
      schema.properties!['timeout']!['description'],
      'Time limit of the analysis in milliseconds, counted from admission; time in the queue is not included. ' +
        'Larger values are lowered to 650000.',
    );
    assert.ok(!JSON.stringify(document).includes('x-lowered-to'));
    assert.ok('webhook_url' in schema.properties!);
    assert.ok(!file['get']!.parameters!.some(({ name }) => name === 'webhook_url'));
  });

  it('lists credentials, errors and their bodies for each operation', () => {
    assert.deepEqual(file['post']!.security, [{ apiToken: [] }, { apiTokenQuery: [] }]);
    assert.deepEqual(Object.keys(file['post']!.responses), [
      '200',
      '202',
      '400',
      '401',
      '403',
      '404',
      '429',
      '499',
      '500',
      '503',
    ]);
    const errors = file['post']!.responses;
    for (const status of [400, 401, 403, 404, 429, 500, 503])
      assert.deepEqual(errors[status]!.content, {
        'application/json': { schema: { $ref: '#/components/schemas/GatewayError' } },
      });
    assert.deepEqual(Object.keys(errors[429]!.headers), [
      'X-Request-Id',
      'RateLimit-Policy',
      'RateLimit',
      'Retry-After',
    ]);
    assert.ok('Retry-After' in errors[503]!.headers);
    assert.deepEqual(Object.keys(errors[401]!.headers), ['X-Request-Id', 'WWW-Authenticate']);
    const managed = openapiDocument([
      simple({
        path: '/frontend/api/v1/a/:id',
        params: { id: Type.Integer() },
        security: 'management',
        permission: 'read:user',
      }),
    ]) as Document;
    const { security, responses } = managed.paths['/frontend/api/v1/a/{id}']!['get']!;
    assert.equal(security.length, 5);
    assert.deepEqual(responses['404']!.content, {
      'application/json': { schema: { $ref: '#/components/schemas/ManagementError' } },
    });
  });

  it('distinguishes bare outputs from envelopes', () => {
    const ajv = new Ajv2020({ strict: false, formats: { uuid: true } });
    ajv.addSchema({ $id: 'probeyard', components: document.components });
    const validate = ajv.compile({
      anyOf: [{ $ref: 'probeyard#/components/schemas/Envelope' }, { $ref: 'probeyard#/components/schemas/BareOutput' }],
    });
    const metadata = { request_id: '0', queue_time: 1, io_usage: 2 };
    for (const [value, fits] of [
      [{ success: true, metadata }, true],
      [{ streams: [], format: {} }, true],
      [{ success: false, error: 'no' }, true],
      [{ success: true, metadata: {} }, false],
      [{ success: 1, metadata }, false],
      [{ success: true, metadata, ffprobe: 1 }, false],
      [{ success: true, metadata, other: 1 }, false],
      ['text', false],
    ] as const)
      assert.equal(validate(value), fits, JSON.stringify(value));
  });

  it('refuses operations that contradict each other', () => {
    const titled = (type: 'string' | 'integer') => ({
      200: { description: 'x', schema: Type.Unsafe<unknown>({ title: 'Same', type }) },
    });
    for (const [operations, message] of [
      [[simple(), simple({ path: '/b' })], 'two operations are called a'],
      [[simple(), simple({ id: 'b' })], 'get /a is described twice'],
      [[simple({ path: '/a/:id' })], 'a: the path /a/:id and its parameters do not agree on id'],
      [[simple({ params: { id: Type.String() } })], 'a: the path /a and its parameters do not agree on id'],
      [
        [simple({ responses: titled('string') }), simple({ path: '/b', id: 'b', responses: titled('integer') })],
        'two schemas are called Same',
      ],
      [
        [simple({ query: Type.Object({ x: Type.String() }), queryExamples: { one: { value: { y: '1' } } } })],
        'a: the example one has the unknown parameter y',
      ],
    ] as const)
      assert.throws(() => openapiDocument(operations), { code: 'description-invalid', message });
  });
});
