/**
 * The table of outcomes, line by line, as a caller sees them: with several tools, one tool, bare, and at the endpoints
 * of one tool.
 */
import assert from 'node:assert/strict';
import type { FailureCode } from '../../../src/platform/bus/result_body.ts';
import type { ToolName } from '../../../src/media/tools/table.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';
import type { TextBody, TextToolResult } from '../../result/text_body.ts';

const bad = (name: ToolName, failure: FailureCode, error: string, output: string | null = null): TextToolResult =>
  tool(name, '', { success: false, failure, error, output, exitCode: 1 });
const both = (failure: FailureCode, error: string): TextToolResult[] => [
  bad('ffprobe', failure, error),
  bad('mediainfo', failure, `${error}, too`),
];
const refused = (failure: FailureCode, message: string): Partial<TextBody> => ({ source: { failure, message } });
const good = [tool('ffprobe', '{"f":1}'), tool('mediainfo', '{"m":1}')];
const error = (text: string, code?: FailureCode) => ({ error: text, ...(code === undefined ? {} : { code }) });
/** The envelope without what is the same in all of them. */
const shape = (answer: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(answer).filter(([name]) => name !== 'metadata'));
const failed = (text: string, code: FailureCode = 'failed', response: unknown = null) => ({
  success: false,
  code,
  duration: 31,
  usage: 31,
  error: text,
  exit_code: 1,
  response,
});
const ok = (response: unknown) => ({ success: true, duration: 31, usage: 31, response });

interface Line {
  what: string;
  fields: string;
  tools: TextToolResult[];
  more?: Partial<TextBody>;
  status: number;
  body: unknown;
  state: string;
}

const LINES: Line[] = [
  {
    what: 'both tools succeeded',
    fields: '',
    tools: good,
    status: 200,
    body: { success: true, ffprobe: ok({ f: 1 }), mediainfo: ok({ m: 1 }) },
    state: 'success',
  },
  {
    what: 'one document',
    fields: 'inject_json=1',
    tools: good,
    status: 200,
    body: { success: true, ffprobe: ok({ f: 1, mediainfo: { m: 1 } }), mediainfo: ok({ m: 1 }) },
    state: 'success',
  },
  {
    what: 'a partial failure',
    fields: '',
    tools: [good[0]!, bad('mediainfo', 'crashed', 'mediainfo was ended by SIGSEGV (exit code 139)')],
    status: 200,
    body: {
      success: true,
      ffprobe: ok({ f: 1 }),
      mediainfo: failed('mediainfo was ended by SIGSEGV (exit code 139)', 'crashed'),
    },
    state: 'with-errors',
  },
  {
    what: 'one document of a partial failure',
    fields: 'inject_json=1',
    tools: [bad('ffprobe', 'failed', 'x (exit code 1)', '{"error":{"code":-1}}'), good[1]!],
    status: 200,
    body: {
      success: true,
      ffprobe: failed('x (exit code 1)', 'failed', { error: { code: -1 }, mediainfo: { m: 1 } }),
      mediainfo: ok({ m: 1 }),
    },
    state: 'with-errors',
  },
  {
    what: 'one tool that could not reach the origin beside one that did',
    fields: '',
    tools: [bad('ffprobe', 'origin-unreachable', 'late'), good[1]!],
    status: 200,
    body: { success: true, ffprobe: failed('late', 'origin-unreachable'), mediainfo: ok({ m: 1 }) },
    state: 'with-errors',
  },
  ...(['timeout', 'crashed', 'source-cut', 'out-of-memory', 'output-too-large', 'failed'] as const).map(
    (failure): Line => ({
      what: `a total failure: ${failure}`,
      fields: '',
      tools: both(failure, `${failure} (exit code 1)`),
      status: 200,
      body: {
        success: false,
        error: `${failure} (exit code 1)`,
        code: failure,
        ffprobe: failed(`${failure} (exit code 1)`, failure),
        mediainfo: failed(`${failure} (exit code 1), too`, failure),
      },
      state: 'error',
    }),
  ),
  {
    what: 'an origin that cannot be reached, for all',
    fields: '',
    tools: both('origin-unreachable', 'the host answered 404 (exit code 1)'),
    status: 404,
    body: error('the host answered 404 (exit code 1)', 'origin-unreachable'),
    state: 'error',
  },
  {
    what: 'the same with inject_json',
    fields: 'inject_json=true',
    tools: both('origin-unreachable', 'the host answered 403 (exit code 1)'),
    status: 404,
    body: error('the host answered 403 (exit code 1)', 'origin-unreachable'),
    state: 'error',
  },
  {
    what: 'a source refused where its redirect leads',
    fields: '',
    tools: both('source-forbidden', 'x'),
    more: refused('source-forbidden', 'the address is not allowed'),
    status: 400,
    body: error('the address is not allowed', 'source-forbidden'),
    state: 'error',
  },
  {
    what: 'a declared size over the limit',
    fields: '',
    tools: both('source-too-large', 'x'),
    more: refused('source-too-large', 'the file is larger than 10 GB'),
    status: 400,
    body: error('the file is larger than 10 GB', 'source-too-large'),
    state: 'error',
  },
  {
    what: 'an address refused inside a playlist',
    fields: '',
    tools: both('failed', 'x (exit code 1)'),
    status: 200,
    body: {
      success: false,
      error: 'x (exit code 1)',
      code: 'failed',
      ffprobe: failed('x (exit code 1)'),
      mediainfo: failed('x (exit code 1), too'),
    },
    state: 'error',
  },
  {
    what: 'tools that could not be started',
    fields: '',
    tools: both('unavailable', '/tools/ffprobe: ENOENT'),
    status: 500,
    body: error('the tool could not be started', 'unavailable'),
    state: 'error',
  },
  {
    what: 'one tool alone',
    fields: 'only=mediainfo',
    tools: [good[1]!],
    status: 200,
    body: { success: true, mediainfo: ok({ m: 1 }) },
    state: 'success',
  },
  {
    what: 'one tool alone, bare',
    fields: 'only=ffprobe&inject_output=1&inject_json=1',
    tools: [good[0]!],
    status: 200,
    body: { f: 1 },
    state: 'success',
  },
  {
    what: 'one tool alone that failed',
    fields: 'only=ffprobe',
    tools: [bad('ffprobe', 'failed', 'no media (exit code 1)', '{"error":1}')],
    status: 200,
    body: {
      success: false,
      error: 'no media (exit code 1)',
      code: 'failed',
      ffprobe: failed('no media (exit code 1)', 'failed', { error: 1 }),
    },
    state: 'error',
  },
  {
    what: 'one tool alone that failed and printed something, bare',
    fields: 'only=ffprobe&inject_output=1',
    tools: [bad('ffprobe', 'failed', 'no media (exit code 1)', '{"error":1}')],
    status: 200,
    body: { error: 1 },
    state: 'error',
  },
  {
    what: 'one tool alone that failed and printed nothing, bare',
    fields: 'only=ffprobe&inject_output=1',
    tools: [bad('ffprobe', 'timeout', 'late (exit code 137)')],
    status: 200,
    body: { success: false, error: 'late (exit code 137)', code: 'timeout' },
    state: 'error',
  },
  {
    what: 'one tool alone that could not reach the origin, bare',
    fields: 'only=ffprobe&inject_output=1',
    tools: [bad('ffprobe', 'origin-unreachable', 'gone')],
    status: 404,
    body: error('gone', 'origin-unreachable'),
    state: 'error',
  },
];

describe('response for the outcome', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  for (const [index, { what, fields, tools, more = {}, status, body, state }] of LINES.entries()) {
    it(`${what}: ${status}, ${state}`, async () => {
      const host = `line${index}.test`;
      const answering = api.get(`url=https://${host}/a.mp4&probe_report[enabled]=false&${fields}`);
      const job = await api.job(host);
      const asked = job.spec.tools!.map(({ name }) => ({ name }));
      await api.end(job.metadata.name, { result: { tools, ioUsage: 1, ...more }, asked });
      const response = await answering;
      assert.deepEqual([response.status, shape((await response.json()) as Record<string, unknown>)], [status, body]);
      assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
      assert.equal(response.headers.get('x-request-id'), job.metadata.name);
      assert.ok(response.headers.has('ratelimit') && response.headers.has('ratelimit-policy'));
      const [row] = await api.stored.sql<{ state: string; status: number }>(
        'select state, status from requests where id = $1',
        [job.metadata.name],
      );
      assert.deepEqual(row, { state, status });
      // Read back, it is the same in an envelope.
      const back = await fetch(`${api.url}/v1/probe/${job.metadata.name}`, {
        headers: { Authorization: `Bearer ${api.token}` },
      });
      assert.equal(back.status, status);
      const told = (await back.json()) as Record<string, unknown>;
      if (status === 200) assert.ok('metadata' in told && 'success' in told);
      else assert.deepEqual(told, body);
    });
  }

  it('another format is a string in the envelope, and bare in its own media type, which no browser runs', async () => {
    const xml = '<?xml version="1.0"?>\n<a>é</a>';
    for (const [fields, check] of [
      [
        '',
        async (response: Response) =>
          assert.equal(((await response.json()) as Record<string, any>)['mediainfo'].response, xml),
      ],
      [
        '&inject_output=1',
        async (response: Response) =>
          assert.deepEqual(
            [
              response.headers.get('content-type'),
              response.headers.get('x-content-type-options'),
              response.headers.get('content-security-policy')?.split(';')[0],
              await response.text(),
            ],
            ['application/xml; charset=utf-8', 'nosniff', 'sandbox', xml],
          ),
      ],
    ] as const) {
      const host = `xml${fields.length}.test`;
      const answering = api.get(`url=https://${host}/a.mp4&only=mediainfo&mediainfo[output]=XML${fields}`);
      const job = await api.job(host);
      await api.end(job.metadata.name, {
        result: { tools: [tool('mediainfo', xml, { format: 'text' })], ioUsage: 1 },
        asked: [{ name: 'mediainfo' }],
      });
      await check(await answering);
    }
  });

  it('all tools disabled: 400', async () => {
    const response = await api.get(
      'url=https://a.test/&ffprobe[enabled]=0&mediainfo[enabled]=0&probe_report[enabled]=0',
    );
    assert.deepEqual([response.status, await response.json()], [400, error('all tools are disabled')]);
  });

  for (const path of ['file', 'mediastreamvalidator', 'c2pa']) {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE'].filter((one) => one !== 'TRACE')) {
      it(`${method} /v1/probe/${path}: 405 with Allow`, async () => {
        const response = await fetch(`${api.url}/v1/probe/${path}`, {
          method,
          headers: { Authorization: `Bearer ${api.token}` },
        });
        assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, POST']);
        if (method !== 'HEAD') assert.deepEqual(await response.json(), error('method not allowed; allowed: GET, POST'));
      });
    }
  }
  it('POST to a result: 405 with Allow', async () => {
    const response = await fetch(`${api.url}/v1/probe/0192f0c1-0000-7000-8000-000000000001`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${api.token}` },
    });
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD']);
  });

  for (const [what, init, text] of [
    [
      'too long',
      { body: JSON.stringify({ url: 'x'.repeat(1_100_000) }), headers: { 'content-type': 'application/json' } },
      /^body: must be at most 1 MB$/,
    ],
    [
      'of another type',
      { body: '<a/>', headers: { 'content-type': 'application/xml' } },
      /^body: must be application\/json/,
    ],
    ['of no type', { body: Buffer.from('{}') }, /^body: must be application\/json/],
    ['not JSON', { body: '{"url":', headers: { 'content-type': 'application/json' } }, /^body: is not valid JSON$/],
  ] as const) {
    it(`a body that is ${what}: 400`, async () => {
      const response = await fetch(`${api.url}/v1/probe/file?token=${api.token}`, { method: 'POST', ...init });
      const { error: said } = (await response.json()) as { error: string };
      assert.equal(response.status, 400);
      assert.match(said, text);
      assert.ok(response.headers.has('ratelimit'));
    });
  }
});
