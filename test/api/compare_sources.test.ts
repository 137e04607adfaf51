/** `POST /v1/compare` with two addresses: one job, one row, one answer of both. */
import assert from 'node:assert/strict';
import { compareRuns } from '../../src/media/compare/compare.ts';
import { SIDES, type Side } from '../../src/platform/bus/messages.ts';
import type { FailureCode } from '../../src/platform/bus/result_body.ts';
import { openSealed } from '../../src/platform/seal/seal.ts';
import { startApi, tool, type ApiFixture } from './fixture.ts';
import type { TextBody, TextToolResult } from '../result/text_body.ts';

const A = 'https://one.test/films/a.mp4';
const B = 'https://two.test/films/b.mp4';
const SECRETS = ['hunter2secret', 'tokenoftwo1234', 'user-of-two'];
const PRIVATE_A = 'https://user:hunter2secret@one.test/films/a.mp4';
const PRIVATE_B = 'https://user-of-two:x@two.test/films/b.mp4?key=tokenoftwo1234';

const output = { a: '{"streams":[],"a":1}', b: '{"streams":[],"a":2}' };
const ran = (side: Side, change: Partial<TextToolResult> = {}) => tool('ffprobe', output[side], { side, ...change });
const failed = (side: Side, failure: FailureCode, error: string) =>
  ran(side, { success: false, failure, error, output: null, format: 'text' });

function body(tools: TextToolResult[], more: Partial<TextBody> = {}): TextBody {
  const runs = tools.flatMap(({ version, side, success, output: text }) =>
    success ? [{ tool: 'ffprobe' as const, version, label: side!, output: { bytes: 1, text: () => text! } }] : [],
  );
  return {
    tools,
    comparison: { durationMs: 1, output: JSON.stringify(compareRuns(runs)) },
    ioUsage: 77,
    ...more,
  };
}

describe('POST /v1/compare of two addresses', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  const authorization = () => ({ Authorization: `Bearer ${api.token}` });
  const compare = (sent: object | string, more: Record<string, string> = {}) =>
    fetch(`${api.url}/v1/compare`, {
      method: 'POST',
      body: typeof sent === 'string' ? sent : JSON.stringify(sent),
      headers: { 'Content-Type': 'application/json', ...authorization(), ...more },
    });
  const read = async (path: string) =>
    (await (await fetch(`${api.url}${path}`, { headers: authorization() })).json()) as Record<string, any>;

  const long = (character: string) => `https://long.test/${character.repeat(8170)}`;
  const REFUSED: [string, object, RegExp][] = [
    ['no address', { urls: [] }, /^urls: must have at least 2 values$/],
    ['one address', { urls: [A] }, /^urls: must have at least 2 values$/],
    ['three addresses', { urls: [A, B, A] }, /^urls: must have at most 2 values$/],
    ['a text', { urls: `${A},${B}` }, /^urls: must be an array$/],
    ['nested lists', { urls: [[A], [B]] }, /^urls\.0: must be a string$/],
    ['a list in place of the second', { urls: [A, [B]] }, /^urls\.1: must be a string$/],
    ['an object', { urls: { 0: A, 1: B } }, /^urls: must be an array$/],
    ['null', { urls: [A, null] }, /^urls\.1: must be a string$/],
    ['an empty second address', { urls: [A, ''] }, /^urls\.1: must not be empty$/],
    ['a second address of another scheme', { urls: [A, 'file:///etc/passwd'] }, /^urls\.1 must begin with one of http/],
    ['a first address that is none', { urls: ['film', B] }, /^urls\.0 must begin with one of http/],
    ['a private second address', { urls: [A, 'http://169.254.169.254/'] }, /^urls\.1: the address is not allowed/],
    ['a private first address', { urls: ['http://[::1]/', B] }, /^urls\.0: the address is not allowed/],
    ['a private address behind user info', { urls: [A, 'http://good.test@127.1/'] }, /^urls\.1: the address is not/],
    ['a line break', { urls: [A, `${B}\nx`] }, /^urls\.1 must not hold control characters$/],
    ['U+0000', { urls: [A, `${B}\0`] }, /^urls\.1: must not contain U\+0000/],
    ['a long address', { urls: [A, `${long('x')}yyyyyyy`] }, /^urls\.1: must be at most 8192 characters long$/],
    ['an address of 2 MB', { urls: [A, `https://two.test/${'x'.repeat(2_000_000)}`] }, /^body: must be at most 1 MB$/],
    ['addresses of many bytes', { urls: [long('字'), A] }, /^urls: must have at most 18000 bytes in UTF-8$/],
    ['many bytes of both together', { urls: [long('é'), long('é')] }, /^urls: must have at most 18000 bytes in UTF-8$/],
    ['an address beside two', { url: A, urls: [A, B] }, /^exactly one of url, urls and request_ids is required$/],
    [
      'versions',
      { urls: [A, B], ffprobe: { versions: ['7.0', '3.3'] } },
      /^ffprobe\.versions: has no effect with urls/,
    ],
    ['an unknown version', { urls: [A, B], ffprobe: { version: '1.0' } }, /^ffprobe\.version: "1\.0" is not available/],
    [
      'an option that the version lacks',
      { urls: [A, B], ffprobe: { version: '3.3', max_probe_packets: 5 } },
      /^ffprobe\.max_probe_packets: ffprobe 3\.3 does not have this option$/,
    ],
    [
      'a format that is not compared',
      { urls: [A, B], ffprobe: { output_format: 'xml' } },
      /^ffprobe: the options ask for another format; only JSON is compared$/,
    ],
  ];
  for (const [what, sent, message] of REFUSED)
    it(`refuses ${what}`, async () => {
      const response = await compare(sent);
      const { error } = (await response.json()) as { error: string };
      assert.equal(response.status, 400, error);
      assert.match(error, message);
      assert.doesNotMatch(error, /one\.test|two\.test/);
    });

  async function made(sent: object, host: string, result: TextBody) {
    const answering = compare(sent);
    const job = await api.job(host);
    const { name } = job.metadata;
    const asked = SIDES.map((side) => ({ name: 'ffprobe' as const, version: '7.0', side }));
    await api.end(name, { result, asked });
    const response = await answering;
    return { name, job, response, answer: (await response.json()) as Record<string, any> };
  }

  it('is one job with one version of each tool, and each source sealed on its own', async () => {
    const { job, name } = await made(
      { urls: [PRIVATE_A, PRIVATE_B], ffprobe: { show_frames: true, timeout: 5000 } },
      'one.test',
      body([ran('a'), ran('b')]),
    );
    const { kind, tools, source, other } = job.spec;
    assert.deepEqual(
      [kind, tools],
      ['compare', [{ name: 'ffprobe', version: '7.0', timeoutMs: 5000, options: { show_frames: 'true' } }]],
    );
    assert.equal(source.display, 'https://one.test/…/a.mp4 and https://two.test/…/b.mp4');
    const binding = { requestId: name, tokenId: api.tokenId };
    for (const [sealed, address] of [
      [source.sealed, PRIVATE_A],
      [other?.sealed, PRIVATE_B],
    ])
      assert.equal(openSealed(sealed!, binding, api.privateKeys), address);

    const detail = await read(`/frontend/api/v1/media/log/${name}`);
    const said = JSON.stringify([job, detail, api.announced, api.log]);
    for (const secret of SECRETS) assert.ok(!said.includes(secret), secret);
  });

  it('runs the newest version of both tools where none is named', async () => {
    const answering = compare({ urls: ['https://both.test/a', B] });
    const job = await api.job('both.test');
    assert.deepEqual(
      job.spec.tools?.map(({ name, version }) => `${name} ${version}`),
      ['ffprobe 7.0', 'mediainfo 24.06'],
    );
    await api.end(job.metadata.name, { close: { status: 499, reason: 'Cancelled', error: 'over' } });
    assert.equal((await answering).status, 499);
  });

  it('is answered with runs and fields of a and b, and can be read back', async () => {
    const { name, response, answer } = await made(
      { urls: ['https://read.test/a.mp4?x=1', B], ffprobe: { version: '7.0' } },
      'read.test',
      body([ran('a', { build: 'f' }), ran('b')]),
    );
    assert.equal(response.status, 200);
    assert.deepEqual(answer['metadata'], { request_id: name, queue_time: 7, io_usage: 77 });
    const run = { tool: 'ffprobe', version: '7.0', success: true, duration: 31, usage: 31 };
    assert.deepEqual(answer['runs'], [
      { run: 'a', ...run, build: 'f' },
      { run: 'b', ...run, build: null },
    ]);
    assert.deepEqual(answer['fields'], [
      { path: 'a', tool: 'ffprobe', level: 'raw', change: 'value', values: { a: 1, b: 2 } },
    ]);
    assert.equal(answer['success'], true);
    assert.deepEqual(await read(`/v1/probe/${name}`), answer);

    const detail = await read(`/frontend/api/v1/media/log/${name}`);
    assert.equal(detail['url'], 'https://read.test/a.mp4?x=REDACTED and https://two.test/films/b.mp4');
    assert.deepEqual(JSON.parse(detail['request'] as string).urls, [
      'https://read.test/a.mp4?x=REDACTED',
      'https://two.test/films/b.mp4',
    ]);
    assert.deepEqual(
      detail['run-responses'],
      SIDES.map((side) => ({ tool: 'ffprobe', version: '7.0', side, response: output[side] })),
    );
    const { runs, fields, summary } = answer;
    assert.deepEqual(JSON.parse(detail['comparison-response'] as string), { runs, fields, summary });
    const { log } = await read('/frontend/api/v1/media/log?url=two.test/films/b');
    assert.equal((log as { id: string }[]).filter(({ id }) => id === name).length, 1);
    const report = await fetch(`${api.url}/v1/compare/report`, {
      method: 'POST',
      body: JSON.stringify({ request_ids: [name] }),
      headers: { 'Content-Type': 'application/json', ...authorization() },
    });
    assert.deepEqual(((await report.json()) as Record<string, any>)['left_out'], [
      { request_id: name, why: 'compares two sources, not versions' },
    ]);
  });

  it('accepts the same address twice, and finds no difference', async () => {
    const twice = 'https://twice.test/a.mp4';
    const same = tool('ffprobe', output.a, {});
    const { answer } = await made(
      { urls: [twice, twice], ffprobe: {} },
      'twice.test',
      body(SIDES.map((side) => ({ ...same, side }))),
    );
    assert.deepEqual([answer['success'], answer['fields'], answer['summary'].fields], [true, [], 0]);
  });

  it('keeps the result of one source when the other fails, and tells which', async () => {
    const { response, answer } = await made(
      { urls: ['https://half.test/a', B], ffprobe: {} },
      'half.test',
      body([ran('a'), failed('b', 'origin-unreachable', 'HTTP 404')]),
    );
    assert.equal(response.status, 200);
    const head = [answer['success'], answer['error'], answer['code']];
    assert.deepEqual(head, [false, 'b: HTTP 404', 'origin-unreachable']);
    assert.deepEqual(
      answer['runs'].map(({ run, success, error }: Record<string, unknown>) => [run, success, error]),
      [
        ['a', true, undefined],
        ['b', false, 'HTTP 404'],
      ],
    );
  });

  it('answers 404 when neither source can be reached, with both reasons', async () => {
    const { response, answer } = await made(
      { urls: ['https://neither.test/a', B], ffprobe: {} },
      'neither.test',
      body([failed('a', 'origin-unreachable', 'HTTP 404'), failed('b', 'origin-unreachable', 'HTTP 500')]),
    );
    assert.deepEqual([response.status, answer['error']], [404, 'a: HTTP 404; b: HTTP 500']);
  });

  it('takes two of the longest addresses, and a repeated field of a form', async () => {
    const longest = compare({ urls: [long('x'), long('y')], ffprobe: {} });
    const job = await api.job('long.test');
    assert.ok(job.spec.source.sealed!.length <= 24_576);
    assert.match(job.spec.source.display!, / and https:\/\/long\.test\/y+$/);
    await api.end(job.metadata.name, { close: { status: 499, reason: 'Cancelled', error: 'over' } });
    assert.equal((await longest).status, 499);

    const fields = new URLSearchParams([
      ['urls', 'https://form.test/a,b.mp4'],
      ['urls', B],
      ['ffprobe[version]', '3.3'],
    ]).toString();
    const sent = compare(fields, { 'Content-Type': 'application/x-www-form-urlencoded' });
    const { metadata, spec } = await api.job('form.test');
    assert.equal(spec.tools?.[0]?.version, '3.3');
    assert.equal(spec.source.display, 'https://form.test/a,b.mp4 and https://two.test/…/b.mp4');
    await api.end(metadata.name, { close: { status: 499, reason: 'Cancelled', error: 'over' } });
    assert.equal((await sent).status, 499);
  });

  it('is accepted at once with respond-async', async () => {
    const response = await compare({ urls: ['https://later.test/a', B] }, { Prefer: 'respond-async' });
    assert.equal(response.status, 202);
    const { metadata } = (await response.json()) as { metadata: { request_id: string } };
    const job = await api.job('later.test');
    assert.equal(job.metadata.name, metadata.request_id);
    const asked = SIDES.map((side) => ({ name: 'ffprobe' as const, version: '7.0', side }));
    await api.end(job.metadata.name, { result: body([ran('a'), ran('b')]), asked });
    assert.equal((await read(`/v1/probe/${metadata.request_id}`))['success'], true);
  });
});
