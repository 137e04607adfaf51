import assert from 'node:assert/strict';
import { compareRuns } from '../../src/media/compare/compare.ts';
import { canonicalPolicy } from '../../src/media/policy/canonical.ts';
import { outputsOf } from '../report/sample.ts';
import { startApi, tool, type ApiFixture } from './fixture.ts';
import type { TextBody, TextToolResult } from '../result/text_body.ts';

const UNKNOWN = '01937c5e-8a00-7000-8000-000000000001';
const outputs = { '3.3': '{"streams":[],"a":1}', '7.0': '{"streams":[],"a":2}' };

function compared(): TextBody {
  const runs = Object.entries(outputs).map(([version, text]) => ({
    tool: 'ffprobe' as const,
    version,
    label: version,
    output: { bytes: text.length, text: () => text },
  }));
  return {
    tools: Object.entries(outputs).map(([version, output]) =>
      tool('ffprobe', output, { version, build: `f ${version}` }),
    ),
    comparison: { durationMs: 1, output: JSON.stringify(compareRuns(runs)) },
    ioUsage: 77,
  };
}

describe('POST /v1/compare', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  const call = (path: string, body: object, token = api.token) =>
    fetch(`${api.url}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    });
  const compare = (body: object) => call('/v1/compare', body);
  const versions = (...all: string[]) => ({ url: 'https://refused.test/a.mp4', ffprobe: { versions: all } });

  const REFUSED: [string, object, RegExp][] = [
    ['an empty body', {}, /^exactly one of url, urls and request_ids is required$/],
    [
      'a source without tools',
      { url: 'https://refused.test/a' },
      /^one of ffprobe, mediainfo is required, with its versions$/,
    ],
    ['no versions', { ...versions(), ffprobe: {} }, /^ffprobe\.versions: is required$/],
    [
      'one version under another name',
      { ...versions('7.0', '3.3'), ffprobe: { versions: ['7.0', '3.3'], version: '7.0' } },
      /^ffprobe\.version: has no effect with url: name at least two in ffprobe\.versions$/,
    ],
    ['one version', versions('7.0'), /^ffprobe\.versions: must have at least 2 values$/],
    ['nine versions', versions(...'123456789'), /^ffprobe\.versions: must have at most 8 values$/],
    ['a version twice', versions('7.0', '7.0'), /^ffprobe\.versions: must not contain duplicates$/],
    [
      'a version under two names',
      versions('7.0', 'latest'),
      /^ffprobe\.versions: "7\.0" and "latest" are both version 7\.0$/,
    ],
    [
      'an unknown version',
      versions('7.0', '1.0'),
      /^ffprobe\.version: "1\.0" is not available; available: latest, 7\.0/,
    ],
    [
      'an unknown option',
      { ...versions('7.0', '3.3'), ffprobe: { versions: ['7.0', '3.3'], sow_frames: true } },
      /did you mean show_frames/,
    ],
    [
      'an option that one version lacks',
      { ...versions('7.0', '3.3'), ffprobe: { versions: ['7.0', '3.3'], max_probe_packets: 5 } },
      /^ffprobe\.max_probe_packets: ffprobe 3\.3 does not have this option$/,
    ],
    [
      'a format that is not compared',
      { ...versions('7.0', '3.3'), ffprobe: { versions: ['7.0', '3.3'], output_format: 'xml' } },
      /^ffprobe: the options ask for another format; only JSON is compared$/,
    ],
    [
      'a private address',
      { ...versions('7.0', '3.3'), url: 'http://169.254.169.254/' },
      /^url: the address is not allowed/,
    ],
    [
      'both forms',
      { ...versions('7.0', '3.3'), request_ids: [UNKNOWN, UNKNOWN.replace(/1$/, '2')] },
      /^exactly one of url, urls and request_ids/,
    ],
    ['one request', { request_ids: [UNKNOWN] }, /^request_ids: must have at least 2 values$/],
    [
      'tools beside two requests',
      { request_ids: [UNKNOWN, UNKNOWN.replace(/1$/, '2')], ffprobe: { versions: ['7.0', '3.3'] } },
      /^ffprobe: has no effect with request_ids/,
    ],
  ];
  for (const [what, body, message] of REFUSED)
    it(`refuses ${what}`, async () => {
      const response = await compare(body);
      const { error } = (await response.json()) as { error: string };
      assert.equal(response.status, 400, error);
      assert.match(error, message);
    });

  async function made(host: string) {
    const answering = compare({
      url: `https://${host}/a.mp4`,
      ffprobe: { versions: ['3.3', 'latest'], show_frames: true, timeout: 5000 },
    });
    const job = await api.job(host);
    await api.end(job.metadata.name, {
      result: compared(),
      asked: [
        { name: 'ffprobe', version: '3.3' },
        { name: 'ffprobe', version: '7.0' },
      ],
    });
    return { job, response: await answering };
  }

  it('is one job with every version, answered with runs and fields, and can be read back', async () => {
    const { job, response } = await made('made.test');
    const { kind, tools, report } = job.spec;
    const run = { name: 'ffprobe', timeoutMs: 5000, options: { show_frames: 'true' } };
    assert.deepEqual(
      { kind, tools, report },
      {
        kind: 'compare',
        tools: [
          { ...run, version: '3.3' },
          { ...run, version: '7.0' },
        ],
        report: { enabled: false },
      },
    );
    assert.equal(response.status, 200);
    const answer = (await response.json()) as Record<string, any>;
    assert.deepEqual(answer['metadata'], { request_id: job.metadata.name, queue_time: 7, io_usage: 77 });
    assert.deepEqual(answer['runs'][0], {
      run: '3.3',
      tool: 'ffprobe',
      version: '3.3',
      build: 'f 3.3',
      success: true,
      duration: 31,
      usage: 31,
    });
    assert.deepEqual(answer['fields'], [
      { path: 'a', tool: 'ffprobe', level: 'raw', change: 'value', values: { '3.3': 1, '7.0': 2 } },
    ]);
    assert.equal(answer['success'], true);
    const back = await fetch(`${api.url}/v1/probe/${job.metadata.name}`, {
      headers: { Authorization: `Bearer ${api.token}` },
    });
    assert.deepEqual(await back.json(), answer);
    const logged = await fetch(`${api.url}/frontend/api/v1/media/log/${job.metadata.name}`, {
      headers: { Authorization: `Bearer ${api.token}` },
    });
    const { runs, fields, summary } = answer;
    const detail = (await logged.json()) as Record<string, any>;
    assert.deepEqual(JSON.parse(detail['comparison-response'] as string), { runs, fields, summary });
    assert.equal(detail['ffprobe-response'], undefined);
    assert.deepEqual(
      detail['run-responses'],
      Object.entries(outputs).map(([version, text]) => ({ tool: 'ffprobe', version, response: text })),
    );
  });

  it('the log has the long outputs of every version', async () => {
    const long = ['3.3', '7.0'].map((version) => JSON.stringify({ version, filler: version.repeat(300_000) }));
    const answering = compare({ url: 'https://long.test/a.mp4', ffprobe: { versions: ['3.3', '7.0'] } });
    const { name } = (await api.job('long.test')).metadata;
    const tools = ['3.3', '7.0'].map((version, index) => tool('ffprobe', long[index]!, { version }));
    await api.end(name, {
      result: { ...compared(), tools },
      asked: tools.map(({ version }) => ({ name: 'ffprobe', version })),
    });
    await answering;
    const logged = await fetch(`${api.url}/frontend/api/v1/media/log/${name}`, {
      headers: { Authorization: `Bearer ${api.token}` },
    });
    const detail = (await logged.json()) as { 'run-responses': { response: string }[] };
    assert.deepEqual(
      detail['run-responses'].map(({ response }) => response),
      long,
    );
    assert.equal(api.wired.deps.memory.used(), 0);
  });

  it('reports that fewer than two runs of a tool succeeded, or that the runner compared nothing', async () => {
    const failed = { success: false, failure: 'failed', code: 'not-media', error: 'it is text' } as const;
    for (const [host, change, error, code] of [
      ['failed.test', failed, 'fewer than two runs of one tool succeeded', 'not-media'],
      ['older.test', {}, 'the runner did not compare the runs', undefined],
    ] as const) {
      const answering = compare({ url: `https://${host}/a.mp4`, ffprobe: { versions: ['3.3', '7.0'] } });
      const job = await api.job(host);
      const { tools } = compared();
      await api.end(job.metadata.name, {
        result: { tools: [tools[0]!, { ...tools[1]!, ...change }], ioUsage: 1 },
        asked: [
          { name: 'ffprobe', version: '3.3' },
          { name: 'ffprobe', version: '7.0' },
        ],
      });
      const answer = (await (await answering).json()) as Record<string, unknown>;
      assert.deepEqual(
        [answer['success'], answer['error'], answer['code'], answer['fields']],
        [false, error, code, []],
      );
    }
  });

  it('the report counts recorded comparisons, and lists other ids as left out', async () => {
    const [one, two] = [await made('report-a.test'), await made('report-b.test')];
    const ids = [one.job.metadata.name, two.job.metadata.name];
    const response = await call('/v1/compare/report', { request_ids: [...ids, UNKNOWN] });
    assert.equal(response.status, 200);
    const report = (await response.json()) as Record<string, any>;
    assert.deepEqual(report['left_out'], [{ request_id: UNKNOWN, why: 'does not exist' }]);
    assert.equal(report['summary'].comparisons, 2);
    assert.deepEqual(report['fields'], [
      {
        path: 'a',
        tool: 'ffprobe',
        level: 'raw',
        change: 'value',
        files: 2,
        examples: ids.map((id) => ({ request_id: id, path: 'a', values: { '3.3': 1, '7.0': 2 } })),
      },
    ]);
  });

  describe('report with policies', () => {
    const outputs9 = outputsOf('picture_and_sound.mkv');
    const frame = (rate: string) => {
      const output = structuredClone(outputs9['ffprobe 9.0']) as { streams: { codec_type: string }[] };
      for (const stream of output.streams)
        if (stream.codec_type === 'video') Object.assign(stream, { avg_frame_rate: rate, r_frame_rate: rate });
      return JSON.stringify(output);
    };
    const whole = frame('25/1');
    async function judged(host: string, [before, after]: [string, string], change: Partial<TextToolResult> = {}) {
      const answering = compare({ url: `https://${host}/a.mkv`, ffprobe: { versions: ['3.3', '7.0'] } });
      const { name } = (await api.job(host)).metadata;
      await api.end(name, {
        result: {
          tools: [tool('ffprobe', before, { version: '3.3' }), tool('ffprobe', after, { version: '7.0', ...change })],
          comparison: { durationMs: 1, output: JSON.stringify(compareRuns([])) },
          ioUsage: 1,
        },
        asked: [
          { name: 'ffprobe', version: '3.3' },
          { name: 'ffprobe', version: '7.0' },
        ],
      });
      await answering;
      return name;
    }
    const RATE = { name: 'rate', each: 'video', field: 'frame_rate', is: 25 };
    before(async () => {
      for (const [name, policy] of [
        ['rate', { uses: { ffprobe: '3.3' }, rules: [RATE] }],
        ['steady', { rules: [{ name: 'one', count: 'video', is: 1 }] }],
      ] as const) {
        const account = { account: api.userId, name, userId: null };
        await api.stored.store.putPolicy(account, canonicalPolicy(policy as never), {
          policies: 9,
          revisions: 9,
          documents: 9,
          bytes: 99_999,
        });
      }
    });
    const report = async (ids: string[], policies: string[]) => {
      const response = await call('/v1/compare/report', { request_ids: ids, policies });
      const answer = (await response.json()) as Record<string, any>;
      assert.equal(response.status, 200, JSON.stringify(answer));
      return answer['policies'];
    };

    it('lists outcomes that change from one version to the next, with the rules and an example', async () => {
      const flips = await judged('flips.test', [whole, frame('30/1')]);
      const same = await judged('same.test', [whole, whole]);
      assert.deepEqual(await report([flips, same], ['rate', 'steady']), [
        {
          name: 'rate',
          revision: 1,
          flips: 1,
          judged: 2,
          not_judged: 0,
          examples: [
            {
              request_id: flips,
              from: { outcome: 'pass', versions: { ffprobe: '3.3' } },
              to: { outcome: 'fail', versions: { ffprobe: '7.0' } },
              rules: ['rate'],
            },
          ],
        },
        { name: 'steady', revision: 1, flips: 0, judged: 2, not_judged: 0, examples: [] },
      ]);
    });

    it('a failed version makes the outcome unknown', async () => {
      const [told] = await report(
        [await judged('broke.test', [whole, ''], { success: false, output: null })],
        ['rate'],
      );
      assert.deepEqual([told.flips, told.examples[0].to.outcome], [1, 'unknown']);
    });

    it('counts results that are too large as not judged', async () => {
      const large = JSON.stringify({ streams: [], filler: 'x'.repeat(1_200_000) });
      const [told] = await report([await judged('too-large.test', [whole, large])], ['rate']);
      assert.deepEqual([told.judged, told.not_judged], [0, 1]);
      assert.equal(api.wired.deps.memory.used(), 0);
    });

    for (const [what, policies, message] of [
      ['an unknown policy', ['stedy'], /^policies: "stedy" does not exist; did you mean steady\?$/],
      ['six policies', [...'123456'], /^policies: must have at most 5 values$/],
      ['a policy twice', ['rate', 'rate'], /^policies: must not contain duplicates$/],
    ] as const)
      it(`refuses ${what}`, async () => {
        const response = await call('/v1/compare/report', { request_ids: [UNKNOWN], policies });
        assert.equal(response.status, 400);
        assert.match(((await response.json()) as { error: string }).error, message);
      });
  });

  it('a report counts as a request of the token, with rate limit headers', async () => {
    const { token } = await api.newToken({ requestsPerMinute: 1 });
    const first = await call('/v1/compare/report', { request_ids: [UNKNOWN] }, token);
    assert.deepEqual([first.status, first.headers.get('ratelimit-policy')], [200, '"default";q=1;w=60']);
    assert.equal((await call('/v1/compare/report', { request_ids: [UNKNOWN] }, token)).status, 429);
  });

  describe('two recorded requests', () => {
    const probed = async (host: string, result: TextBody): Promise<string> => {
      const answering = api.post({ url: `https://${host}/a.mp4` });
      const job = await api.job(host);
      await api.end(job.metadata.name, { result });
      await answering;
      return job.metadata.name;
    };
    const result = (a: number): TextBody => ({
      tools: [tool('ffprobe', JSON.stringify({ a })), tool('mediainfo', '{"media":{"track":[]}}')],
      ioUsage: 5,
    });

    it('are compared as a and b, and no job runs', async () => {
      const ids = [await probed('first.test', result(1)), await probed('second.test', result(2))];
      const response = await compare({ request_ids: ids });
      assert.equal(response.status, 200);
      assert.ok(response.headers.has('ratelimit'));
      const answer = (await response.json()) as Record<string, any>;
      assert.deepEqual(answer['metadata'], { request_ids: ids, queue_time: 0, io_usage: 0 });
      assert.deepEqual(
        answer['runs'].map(({ run, tool: of }: { run: string; tool: string }) => `${run} ${of}`),
        ['a ffprobe', 'a mediainfo', 'b ffprobe', 'b mediainfo'],
      );
      assert.deepEqual(answer['fields'][0].values, { a: 1, b: 2 });
    });

    it('of which one failed are not compared, and the code is its own', async () => {
      const why = { failure: 'failed', code: 'not-media', error: 'it is text' } as const;
      const failed = tool('ffprobe', '', { success: false, output: null, ...why });
      const ids = [
        await probed('whole.test', { tools: [tool('ffprobe', '{"a":1}')], ioUsage: 5 }),
        await probed('text.test', { tools: [failed], ioUsage: 5 }),
      ];
      const answer = (await (await compare({ request_ids: ids })).json()) as Record<string, any>;
      assert.deepEqual(
        [answer['error'], answer['code'], answer['runs'][1].code],
        ['no tool has a JSON output in both results', 'not-media', 'not-media'],
      );
    });

    it('outputs that are too large are named and not compared', async () => {
      const large = { ...result(1), tools: [tool('ffprobe', JSON.stringify({ a: 'x'.repeat(1_200_000) }))] };
      const ids = [await probed('large.test', large), await probed('small.test', result(2))];
      const answer = (await (await compare({ request_ids: ids })).json()) as Record<string, any>;
      assert.equal(answer['success'], false);
      assert.deepEqual(
        answer['summary'].not_compared.map(({ run, why }: { run: string; why: string }) => [run, why.slice(0, 23)]),
        [['a', 'its output is too large']],
      );
      assert.equal(api.wired.deps.memory.used(), 0);
    });

    it("must be the caller's; a comparison or an open request is refused", async () => {
      const own = await probed('own.test', result(1));
      const missing = await compare({ request_ids: [own, UNKNOWN] });
      assert.equal(missing.status, 404);
      assert.deepEqual(await missing.json(), { error: `request_ids: ${UNKNOWN} does not exist` });
      const { job } = await made('kind.test');
      const other = await compare({ request_ids: [own, job.metadata.name] });
      assert.equal(other.status, 400);
      assert.deepEqual(await other.json(), {
        error: `request_ids: ${job.metadata.name} is not a request of /v1/probe/file`,
      });
    });
  });
});
