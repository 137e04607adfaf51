/** Policies through the API: saved, read, requested and shown in every form of a response. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { MOST_POLICIES } from '../../src/base/limits.ts';
import { CRDS, PROBE_JOBS, type KubeObject } from '../../src/platform/kube/client.ts';
import { canonicalPolicy } from '../../src/media/policy/canonical.ts';
import { PolicyResultSchema, type PolicyResult } from '../../src/media/policy/schema.ts';
import { SHARED } from '../../src/platform/store/policies.ts';
import { report as makeReport } from '../../src/media/report/report.ts';
import { outputsOf } from '../report/sample.ts';
import { until } from '../until.ts';
import { sha256 } from '../store/fixture.ts';
import { startApi, tool, type ApiFixture } from './fixture.ts';
import type { TextBody } from '../result/text_body.ts';

const MP4 = { rules: [{ name: 'wrapper', field: 'container.format', is: 'mp4' }] };
const MKV = { description: 'Matroska', rules: [{ name: 'wrapper', field: 'container.format', is: 'matroska' }] };
const MOST = { policies: 10, revisions: 10, documents: 100, bytes: 1_000_000 };

const outputs = outputsOf('picture_and_sound.mkv');
const toldBy = (version: string, output: unknown) => ({ version, output });
const REPORT = makeReport({
  ffprobe: toldBy('9.0', outputs['ffprobe 9.0']),
  mediainfo: toldBy('26.10', outputs['mediainfo 26.10']),
  diff: true,
  prefer: null,
});
const HLS = {
  success: true,
  cli_output: null,
  tool: 'probeyard-hls',
  version: '1',
  reference_version: '1',
  playlists: [],
  variants: [],
  messages: [],
  summary: {
    must_fix: 0,
    should_fix: 0,
    info: 0,
    untold: 0,
    playlists: 0,
    variants: 0,
    segments: 0,
    segments_measured: 0,
    bytes_measured: 0,
    reloads: 0,
    live: false,
    protocol_version: 1,
    newest_protocol_version: 1,
    duration: 0,
  },
};
const printed: TextBody = {
  tools: [
    tool('ffprobe', JSON.stringify(outputs['ffprobe 9.0']), { version: '7.0' }),
    tool('mediainfo', JSON.stringify(outputs['mediainfo 26.10']), { version: '24.06' }),
  ],
  ioUsage: 3,
};
const verdict = (change: Partial<PolicyResult> = {}): PolicyResult => ({
  name: 'web',
  revision: 1,
  outcome: 'fail',
  rules: [{ name: 'wrapper', level: 'fail', outcome: 'fail', message: 'container.format is mkv; expected mp4' }],
  ...change,
});
const isVerdict = new Ajv({ strict: false }).compile<PolicyResult>(PolicyResultSchema);

interface Told {
  status: number;
  headers: Headers;
  text: string;
  json: Record<string, unknown>;
}

describe('policies through the API', function () {
  this.timeout(120_000);
  let api: ApiFixture;
  let stranger: string;
  /** A token of a user below the administrator. */
  let below: string;

  before(async () => {
    api = await startApi();
    stranger = await newUser(null);
    below = await newUser(api.userId);
    const shared = { account: SHARED, name: 'web-mp4', userId: null };
    await api.stored.store.putPolicy(shared, canonicalPolicy(MP4 as never), MOST);
  });
  after(() => api.stop());
  beforeEach(() => api.stored.sql(`delete from rate_limits where scope = 'policy'`));

  async function newUser(parent: number | null): Promise<string> {
    const token = randomBytes(32).toString('hex');
    await api.stored.sql(
      `with made as (insert into users (email, status, role, parent_id, root_id, permissions, requests_per_minute)
          values ($1, 'active', $2, $3, $3, '{read:media,write:media,write:policy}', 1000000) returning id)
        insert into tokens (user_id, sha256) select id, $4 from made`,
      [`${randomBytes(6).toString('hex')}@example.org`, parent === null ? 'user' : 'sub', parent, sha256(token)],
    );
    return token;
  }

  async function call(
    method: string,
    path: string,
    { body, type = 'application/json', token = api.token }: { body?: unknown; type?: string; token?: string } = {},
  ): Promise<Told> {
    const response = await fetch(`${api.url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'Content-Type': type }) },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
    };
  }
  const put = (name: string, body: unknown, more: { type?: string; token?: string } = {}) =>
    call('PUT', `/v1/policy/${name}`, { body, ...more });

  describe('saved and read', () => {
    it('PUT makes revisions, and the same content again makes none', async () => {
      const first = await put('house', MP4);
      assert.deepEqual(
        [first.status, first.json],
        [200, { name: 'house', revision: 1, changed: true, untranslated: [] }],
      );
      const reordered = { rules: [{ is: 'mp4', name: 'wrapper', field: 'container.format' }] };
      assert.deepEqual((await put('house', reordered)).json, {
        name: 'house',
        revision: 1,
        changed: false,
        untranslated: [],
      });
      assert.equal((await put('house', MKV)).json['revision'], 2);
    });

    it('PUT more than ten times in a minute is 429 for the account, and for no other', async () => {
      const saved = await Promise.all(
        Array.from({ length: 20 }, (_, at) => put('often', at < 10 ? MP4 : {}, at % 2 === 0 ? {} : { token: below })),
      );
      const refused = saved.filter(({ status }) => status === 429);
      // One more every six seconds.
      assert.ok(refused.length >= 5 && refused.length <= 10, `${refused.length} of 20`);
      assert.equal(refused[0]?.json['error'], 'an account saves at most 10 policies a minute; try again later');
      assert.ok(Number(refused[0]?.headers.get('retry-after')) <= 60);
      assert.equal((await put('often', MP4, { token: stranger })).status, 200);
    });

    it('PUT of a policy that is made to take long is refused at once', async () => {
      const rule = `<rule name="${'n'.repeat(40)}" value="Format" tracktype="Video" operator="=">x</rule>`;
      const conch = await put('conch', `<policy>${rule.repeat(9_000)}</policy>`, { type: 'application/xml' });
      assert.deepEqual([conch.status, conch.json['error']], [400, 'policy: has more than 200 rules']);
      const yaml = await put('yaml', `${'? '.repeat(50)}a`, { type: 'application/yaml' });
      assert.equal(yaml.status, 400);
      assert.match(String(yaml.json['error']), /^policy: is not valid YAML: the name of a member must be text/);
    });

    it('PUT takes YAML by its media type', async () => {
      const yaml = 'rules:\n  - name: wrapper\n    field: container.format\n    is: matroska\n';
      assert.equal((await put('yaml', yaml, { type: 'application/yaml' })).status, 200);
      assert.deepEqual((await call('GET', '/v1/policy/yaml')).json['policy'], {
        rules: [{ name: 'wrapper', field: 'container.format', is: 'matroska' }],
      });
    });

    it('PUT accepts a policy of MediaConch, and lists what it leaves out', async () => {
      const rules =
        '<rule name="wrapper" value="Format" tracktype="General" operator="=">MXF</rule>' +
        '<rule name="trace" scope="mt" value="mdat" operator="exists"/>';
      const saved = await put('conch', `<policy type="and" name="p">${rules}</policy>`, { type: 'application/xml' });
      assert.deepEqual([saved.status, (saved.json['untranslated'] as string[]).length], [200, 1], saved.text);
      const { policy } = (await call('GET', '/v1/policy/conch')).json as { policy: { rules: { field: string }[] } };
      assert.equal(policy.rules[0]?.field, 'container.format');
    });

    it('GET returns the latest revision or the given one, and lists the revisions', async () => {
      await put('read', MP4);
      await put('read', MKV);
      const latest = await call('GET', '/v1/policy/read');
      assert.deepEqual(
        [latest.json['revision'], latest.json['description'], latest.json['policy']],
        [2, 'Matroska', MKV],
      );
      assert.equal(latest.json['user_id'], api.userId);
      assert.deepEqual(
        (latest.json['revisions'] as { revision: number }[]).map(({ revision }) => revision),
        [2, 1],
      );
      assert.deepEqual((await call('GET', '/v1/policy/read?revision=1')).json['policy'], MP4);
      const none = await call('GET', '/v1/policy/read?revision=7');
      assert.deepEqual(
        [none.status, none.json['error']],
        [404, 'the policy has no revision 7, or it is no longer on record'],
      );
    });

    it('GET /v1/policy lists own policies, then shared ones', async () => {
      await put('listed', MKV);
      const rows = (await call('GET', '/v1/policy')).json['policies'] as { name: string; description?: string }[];
      assert.equal(rows.find(({ name }) => name === 'listed')?.description, 'Matroska');
      assert.equal(rows.at(-1)?.name, 'shared/web-mp4');
    });

    it('DELETE removes a policy, and its name continues with other revisions', async () => {
      await put('passing', MP4, { token: stranger });
      assert.equal((await call('DELETE', '/v1/policy/passing', { token: stranger })).status, 204);
      const gone = await call('DELETE', '/v1/policy/passing', { token: stranger });
      assert.equal(gone.status, 404);
      assert.equal((await put('passing', MP4, { token: stranger })).json['revision'], 2);
    });

    for (const path of ['/v1/policy/shared/web-mp4', '/v1/policy/shared%2Fweb-mp4'])
      it(`GET ${path} reads a shared policy`, async () => {
        const { status, json } = await call('GET', path);
        assert.deepEqual([status, json['name'], json['user_id'], json['policy']], [200, 'shared/web-mp4', null, MP4]);
      });

    for (const method of ['PUT', 'DELETE'])
      it(`${method} of a shared policy is not allowed`, async () => {
        const body = method === 'PUT' ? { body: MP4 } : {};
        const { status, headers } = await call(method, '/v1/policy/shared/web-mp4', body);
        assert.deepEqual([status, headers.get('allow')], [405, 'GET, HEAD']);
        assert.ok((await call(method, '/v1/policy/shared%2Fweb-mp4', body)).status >= 400);
        assert.equal((await call('GET', '/v1/policy/shared/web-mp4')).json['revision'], 1);
      });
  });

  describe('invalid policies', () => {
    const bad: [string, string, unknown, string, RegExp][] = [
      ['XML with a DTD', 'bad', '<!DOCTYPE a [<!ENTITY b "c">]><policy name="p">&b;</policy>', 'text/xml', /^policy: /],
      ['a name in upper case', 'House', MP4, 'application/json', /^name: must be 1 to 64 lower-case letters/],
      ['a name that is too long', 'x'.repeat(65), MP4, 'application/json', /^name: must be 1 to 64/],
      ['a name that is reserved', 'shared', MP4, 'application/json', /^name: "shared" is reserved/],
      ['no rules', 'bad', {}, 'application/json', /rules/],
      [
        'an unknown field',
        'bad',
        { rules: [{ name: 'a', field: 'container.formt', is: 'mp4' }] },
        'application/json',
        /^rules\[0\]\.field: .*did you mean format/,
      ],
      [
        'a duplicate member in JSON',
        'bad',
        '{"rules":[],"rules":[]}',
        'application/json',
        /^rules: is given more than once/,
      ],
      ['invalid JSON', 'bad', '{', 'application/json', /^body: is not valid JSON/],
      ['invalid YAML', 'bad', 'rules: [', 'application/yaml', /^policy: is not valid YAML/],
      ['another media type', 'bad', 'rules', 'text/plain', /^body: must be application\/json, application\/yaml/],
      ['more than 64 KB', 'bad', { description: 'x'.repeat(70_000), rules: MP4.rules }, 'application/json', /65536/],
    ];
    for (const [what, name, body, type, message] of bad)
      it(`PUT with ${what} is 400`, async () => {
        const { status, json } = await put(name, body, { type });
        assert.equal(status, 400);
        assert.match(String(json['error']), message);
      });

    it('a body over 1 MB is 400', async () => {
      const { status, json } = await put('bad', `# ${'x'.repeat(1_100_000)}`, { type: 'application/yaml' });
      assert.deepEqual([status, json['error']], [400, 'body: must be at most 1 MB']);
    });

    it('an unknown policy is 404 with the nearest name', async () => {
      await put('delivery', MP4);
      assert.equal(
        (await call('GET', '/v1/policy/delivry')).json['error'],
        'the policy does not exist; did you mean delivery?',
      );
    });

    it('a token without write:policy reads policies, and saves and deletes none', async () => {
      const token = randomBytes(32).toString('hex');
      const may = '{read:media,write:media}';
      await api.stored.sql(`insert into tokens (user_id, sha256, permissions) values ($1, $2, '${may}')`, [
        api.userId,
        sha256(token),
      ]);
      assert.equal((await call('GET', '/v1/policy', { token })).status, 200);
      assert.equal((await put('narrow', MP4, { token })).status, 403);
      assert.equal((await call('DELETE', '/v1/policy/house', { token })).status, 403);
    });
  });

  describe('policies of another account', () => {
    before(async () => {
      await put('secret-spec', MKV);
    });
    const attempts: [string, () => Promise<Told>][] = [
      ['read', () => call('GET', '/v1/policy/secret-spec', { token: stranger })],
      ['deleted', () => call('DELETE', '/v1/policy/secret-spec', { token: stranger })],
      [
        'used to judge stored results',
        () =>
          call('POST', '/v1/policy/secret-spec/evaluate', {
            token: stranger,
            body: { request_ids: [crypto.randomUUID()] },
          }),
      ],
      [
        'used in a probe',
        () =>
          call('POST', '/v1/probe/file', {
            token: stranger,
            body: { url: 'https://x.test/a.mp4', policy: 'secret-spec' },
          }),
      ],
    ];
    for (const [what, attempt] of attempts)
      it(`cannot be ${what}, and the error does not reveal the name`, async () => {
        const { status, text } = await attempt();
        assert.ok(status === 404 || status === 400, `${status} ${text}`);
        assert.doesNotMatch(text, /did you mean secret/);
      });

    it('are not listed', async () => {
      assert.doesNotMatch((await call('GET', '/v1/policy', { token: stranger })).text, /secret-spec/);
    });

    it('do not conflict with a policy of the same name', async () => {
      assert.equal((await put('secret-spec', MP4, { token: stranger })).json['changed'], true);
      assert.deepEqual((await call('GET', '/v1/policy/secret-spec')).json['policy'], MKV);
    });

    it('are shared with sub-users of their account', async () => {
      assert.deepEqual((await call('GET', '/v1/policy/secret-spec', { token: below })).json['policy'], MKV);
    });
  });

  describe('policy of a probe', () => {
    before(async () => {
      await put('web', MP4);
      await put('pinned', { uses: { ffprobe: '3.3' }, ...MP4 });
    });

    /** Starts a probe, ends its job with `result`, and returns both. */
    async function probe(host: string, body: object, result: TextBody, path = '/v1/probe/file') {
      const answer = call('POST', path, { body: { url: `https://${host}/a.mkv`, ...body } });
      const job = await api.job(host);
      await api.end(job.metadata.name, { result, close: result.policy ? { policy: result.policy.outcome } : {} });
      return { id: job.metadata.name, spec: job.spec, told: await answer };
    }

    it('by name: the job has its digest, the envelope and a header the outcome', async () => {
      const { id, spec, told } = await probe('named.test', { policy: 'web' }, { ...printed, policy: verdict() });
      assert.deepEqual(spec.policy, { name: 'web', revision: 1, digest: canonicalPolicy(MP4 as never).digest });
      assert.deepEqual([told.json['policy'], told.headers.get('x-policy-outcome')], [verdict(), 'fail']);
      const back = await call('GET', `/v1/probe/${id}`);
      assert.deepEqual([back.json['policy'], back.headers.get('x-policy-outcome')], [verdict(), 'fail']);
    });

    it('by name: its revision stays readable after 50 newer ones, and after the policy was deleted', async () => {
      const saved = (number: number) => ({ ...MP4, description: String(number) });
      const path = '/v1/policy/gate';
      const evaluate = (revision: number) =>
        call('POST', `${path}/evaluate`, { body: { request_ids: [crypto.randomUUID()], revision } });
      // Past the limit of saves.
      const store = (number: number) =>
        api.wired.deps.store.putPolicy(
          { account: api.userId, name: 'gate', description: String(number), userId: api.userId },
          canonicalPolicy(saved(number) as never),
          MOST_POLICIES,
        );
      await store(1);
      await probe('gate.test', { policy: 'gate' }, { ...printed, policy: verdict({ name: 'gate' }) });
      await store(2);
      assert.equal((await evaluate(2)).status, 200);
      for (let number = 3; number <= 55; number++) await store(number);
      const numbers = async () => (await call('GET', `${path}?revision=1`)).json['revisions'] as { revision: number }[];
      assert.deepEqual(
        (await numbers()).map(({ revision }) => revision),
        [...Array.from({ length: 50 }, (_, index) => 55 - index), 2, 1],
      );
      assert.deepEqual((await call('GET', `${path}?revision=1`)).json['policy'], saved(1));
      assert.equal((await call('GET', `${path}?revision=3`)).status, 404, 'it was not used');
      assert.equal((await call('DELETE', path)).status, 204);
      assert.deepEqual((await call('GET', `${path}?revision=1`)).json['policy'], saved(1));
      assert.equal((await evaluate(2)).status, 200, 'a pinned revision still judges');
      assert.equal((await call('GET', path)).status, 404);
      assert.equal((await call('GET', `${path}?revision=55`)).status, 404);
      const unknown = await call('POST', '/v1/probe/file', { body: { url: 'https://x.test/a.mp4', policy: 'gate' } });
      assert.equal(unknown.status, 400, 'a deleted policy judges no new request');
      assert.doesNotMatch((await call('GET', '/v1/policy')).text, /"gate"/);
    });

    it('shared, in the query of a GET', async () => {
      const answer = call('GET', '/v1/probe/file?url=https://query.test/a.mp4&policy=shared/web-mp4');
      const job = await api.job('query.test');
      assert.deepEqual([job.spec.policy?.name, job.spec.policy?.revision], ['shared/web-mp4', 1]);
      await api.end(job.metadata.name, { result: { ...printed, policy: verdict({ name: 'shared/web-mp4' }) } });
      assert.equal((await answer).status, 200);
    });

    for (const [what, type, body] of [
      ['JSON', 'application/json', { url: 'https://inline.test/a.mkv', policy: MP4 }],
      [
        'a form',
        'application/x-www-form-urlencoded',
        new URLSearchParams({ url: 'https://inline.test/a.mkv', policy: JSON.stringify(MP4) }).toString(),
      ],
    ] as const)
      it(`inline, in ${what}: the job has its digest alone, and the log does not keep it`, async () => {
        const answer = call('POST', '/v1/probe/file', { body, type });
        const job = await api.job('inline.test');
        const { digest } = canonicalPolicy(MP4 as never);
        assert.deepEqual(job.spec.policy, { digest });
        assert.equal(await api.stored.store.policyDocument(api.userId, digest), canonicalPolicy(MP4 as never).document);
        await api.end(job.metadata.name, { result: { ...printed, policy: verdict({ name: null, revision: null }) } });
        await answer;
        const log = await call('GET', `/frontend/api/v1/media/log/${job.metadata.name}`);
        const request = JSON.parse(String(log.json['request'])) as { policy: unknown };
        assert.deepEqual(request.policy, { sha256: digest });
        assert.equal(log.json['policy'], undefined);
      });

    it('runs the tools that it needs, and shows only those that the caller requested', async () => {
      const { spec, told } = await probe(
        'hidden.test',
        { policy: 'web', only: 'ffprobe' },
        { ...printed, policy: verdict() },
      );
      assert.deepEqual(
        spec.tools?.map(({ name }) => name),
        ['ffprobe', 'mediainfo'],
      );
      assert.deepEqual(Object.keys(told.json), ['success', 'metadata', 'ffprobe', 'policy']);
    });

    for (const [what, ffprobe, version] of [
      ['a request without a version gets that of the policy', {}, '3.3'],
      ['a version in the request wins', { version: '7.0' }, '7.0'],
      ['latest in the request wins', { version: 'latest' }, '7.0'],
    ] as const)
      it(`version: ${what}`, async () => {
        const { spec } = await probe('pinned.test', { policy: 'pinned', ffprobe }, { ...printed, policy: verdict() });
        assert.equal(spec.tools?.find(({ name }) => name === 'ffprobe')?.version, version);
      });

    it('adds the outcome of a bare output as a header', async () => {
      const body = { policy: 'web', only: 'ffprobe', inject_output: true };
      const { id, told } = await probe('bare.test', body, { ...printed, policy: verdict() });
      assert.equal(told.headers.get('x-policy-outcome'), 'fail');
      assert.equal('policy' in told.json, false);
      assert.deepEqual((await call('GET', `/v1/probe/${id}/policy`)).json, verdict());
    });

    it('is unknown if the result has no verdict', async () => {
      const { id, told } = await probe('silent.test', { policy: 'web' }, printed);
      const policy = told.json['policy'] as PolicyResult;
      assert.ok(isVerdict(policy), JSON.stringify(isVerdict.errors));
      assert.deepEqual([policy.name, policy.revision, policy.outcome], ['web', 1, 'unknown']);
      assert.equal((await call('GET', `/frontend/api/v1/media/log/${id}`)).json['status-policy'], 'unknown');
    });

    it('is neither a member nor a header if none was requested', async () => {
      const { id, told } = await probe('without.test', {}, printed);
      assert.deepEqual(['policy' in told.json, told.headers.get('x-policy-outcome')], [false, null]);
      const none = await call('GET', `/v1/probe/${id}/policy`);
      assert.deepEqual([none.status, none.json['error']], [404, 'the request named no policy']);
    });

    const refused: [string, unknown, RegExp][] = [
      ['an unknown name', 'webb', /^policy: "webb" does not exist; did you mean web\?$/],
      ['an unknown shared name', 'shared/web-mp5', /did you mean shared\/web-mp4\?$/],
      ['a name with U+0000', 'we\0b', /policy: must not contain U\+0000/],
      [
        'an invalid inline policy',
        { rules: [{ name: 'a', field: 'size.widht', is: 1 }] },
        /^policy\.rules\[0\]\.field: .*did you mean size\.width/,
      ],
      ['a list', [MP4], /^policy: must be/],
    ];
    for (const [what, policy, message] of refused)
      it(`${what} is refused with 400`, async () => {
        const { status, json } = await call('POST', '/v1/probe/file', {
          body: { url: 'https://no.test/a.mp4', policy },
        });
        assert.equal(status, 400, JSON.stringify(json));
        assert.match(String(json['error']), message);
      });

    for (const [times, message] of [
      [30, /^policy/],
      [10_000, /^body: has more than 64 levels$/],
    ] as const)
      it(`nested ${times} times inline is refused with 400`, async () => {
        const policy = `${'{"all":['.repeat(times)}${']}'.repeat(times)}`;
        const body = `{"url":"https://no.test/a.mp4","policy":${policy}}`;
        const { status, json } = await call('POST', '/v1/probe/file', { body });
        assert.equal(status, 400);
        assert.match(String(json['error']), message);
      });

    it('inline in a query is refused with 400', async () => {
      const { status, json } = await call('GET', '/v1/probe/file?url=https://no.test/a.mp4&policy[rules]=x');
      assert.deepEqual(
        [status, json['error']],
        [400, 'policy: must be the name of a policy; send a policy itself with POST'],
      );
    });

    it('at the mediastreamvalidator endpoint: the response is an envelope', async () => {
      const hls = tool('msv', JSON.stringify(HLS), { version: '1' });
      const judged = verdict({ outcome: 'pass', rules: [] });
      const result = { tools: [hls], ioUsage: 1, policy: judged };
      const { told } = await probe('hls.test', { policy: 'web' }, result, '/v1/probe/mediastreamvalidator');
      assert.deepEqual([told.json['policy'], told.headers.get('x-policy-outcome')], [judged, 'pass']);
      assert.ok('metadata' in told.json);
    });
  });

  describe('verdict of a request', () => {
    let id: string;
    before(async () => {
      await put('web', MP4);
      const answer = call('POST', '/v1/probe/file', { body: { url: 'https://verdict.test/a.mkv', policy: 'web' } });
      id = (await api.job('verdict.test')).metadata.name;
      await api.end(id, { result: { ...printed, policy: verdict() }, close: { policy: 'fail' } });
      await answer;
    });

    for (const [format, type, has] of [
      ['json', 'application/json', '"outcome":"fail"'],
      ['junit', 'application/xml', '<failure'],
      ['sarif', 'application/sarif+json', '"2.1.0"'],
    ] as const)
      it(`is returned as ${format}`, async () => {
        const { status, headers, text } = await call('GET', `/v1/probe/${id}/policy?format=${format}`);
        assert.equal(status, 200);
        assert.equal(headers.get('content-type')?.split(';')[0], type);
        assert.ok(text.includes(has), text);
      });

    it('is not found by another account', async () => {
      assert.equal((await call('GET', `/v1/probe/${id}/policy`, { token: stranger })).status, 404);
    });

    it('is in the log, and the log is filtered by it', async () => {
      const list = async (query: string) =>
        (
          (await call('GET', `/frontend/api/v1/media/log?pagination[limit]=1000&${query}`)).json['log'] as Record<
            string,
            unknown
          >[]
        ).map((row) => row['id']);
      const all = (await call('GET', '/frontend/api/v1/media/log?pagination[limit]=1000')).json['log'] as Record<
        string,
        unknown
      >[];
      const row = all.find((one) => one['id'] === id);
      assert.deepEqual([row?.['status-policy'], row?.['policy'], row?.['policy-revision']], ['fail', 'web', 1]);
      assert.ok((await list('status-policy=fail')).includes(id));
      assert.ok(!(await list('status-policy=pass&status-policy=skipped')).includes(id));
      assert.ok((await list('policy=web')).includes(id));
      assert.deepEqual(await list('policy=no-such-policy'), []);
      assert.equal((await list('sort[field]=status-policy')).length, all.length);
    });
  });

  describe('evaluating stored results', () => {
    async function stored(host: string, result: TextBody, body: object = {}): Promise<string> {
      const answer = call('POST', '/v1/probe/file', { body: { url: `https://${host}/a.mkv`, ...body } });
      const { name } = (await api.job(host)).metadata;
      await api.end(name, { result });
      await answer;
      return name;
    }
    const evaluate = (name: string, ids: string[], token = api.token) =>
      call('POST', `/v1/policy/${name}/evaluate`, { token, body: { request_ids: ids } });
    const outcomesOf = ({ json }: Told): Record<string, [string, string]> =>
      Object.fromEntries(
        (json['results'] as { request_id: string; policy: PolicyResult }[]).map(({ request_id: id, policy }) => [
          id,
          [policy.outcome, policy.rules[0]?.message ?? ''],
        ]),
      );

    before(async () => {
      await put('is-mkv', MKV);
      await put('is-mp4', MP4);
    });

    it("evaluates a result without a report by the tools' output", async () => {
      const id = await stored('anew.test', printed);
      assert.equal(outcomesOf(await evaluate('is-mkv', [id]))[id]?.[0], 'pass');
      const failed = await evaluate('is-mp4', [id]);
      assert.equal(outcomesOf(failed)[id]?.[0], 'fail');
      assert.deepEqual(failed.json['summary'], { pass: 0, fail: 1, warn: 0, 'not-applicable': 0, unknown: 0 });
      const shared = await call('POST', '/v1/policy/shared/web-mp4/evaluate', { body: { request_ids: [id] } });
      assert.deepEqual([shared.json['name'], outcomesOf(shared)[id]?.[0]], ['shared/web-mp4', 'fail']);
    });

    it('evaluates by a policy that is not saved', async () => {
      const id = await stored('draft.test', printed);
      const draft = (policy: string) =>
        call('POST', '/v1/policy/no-such-policy/evaluate', { body: { request_ids: [id], policy } });
      const judged = await draft('rules:\n  - { name: wrapper, field: container.format, is: matroska }\n');
      const { name, revision } = judged.json;
      assert.deepEqual([name, revision, outcomesOf(judged)[id]?.[0]], ['no-such-policy', null, 'pass']);
      const wrong = await draft('rules:\n  - { name: wrapper, field: container.formt, is: mov }\n');
      assert.deepEqual([wrong.status, String(wrong.json['error']).startsWith('rules[0].field: ')], [400, true]);
      assert.equal((await call('GET', '/v1/policy/no-such-policy')).status, 404);
    });

    it('reports what cannot be evaluated as unknown, with the reason', async () => {
      const expired = await stored('expired.test', printed);
      await api.stored.sql('delete from envelopes where id = $1', [expired]);
      const foreign = await stored('foreign.test', printed);
      const none = crypto.randomUUID();
      const told = outcomesOf(await evaluate('is-mkv', [expired, none]));
      assert.deepEqual(told[expired], ['unknown', 'the request has a result that has expired']);
      assert.deepEqual(told[none], ['unknown', 'the request does not exist']);
      // The same as for one that does not exist.
      await put('is-mkv', MKV, { token: stranger });
      assert.deepEqual(outcomesOf(await evaluate('is-mkv', [foreign], stranger))[foreign], told[none]);
    });

    it('leaves the rules on an output that is too large unknown, and evaluates the others', async () => {
      const large = JSON.stringify({ ...(outputs['ffprobe 9.0'] as object), filler: 'x'.repeat(1_200_000) });
      const report = {
        ...tool('ffprobe', JSON.stringify(REPORT)),
        name: 'probe_report' as const,
      };
      const id = await stored('large.test', { ...printed, tools: [tool('ffprobe', large)], report });
      await put('raw', {
        rules: [...MKV.rules, { name: 'raw', tool: 'ffprobe', path: 'format.format_name', is: 'x' }],
      });
      const { json } = await evaluate('raw', [id]);
      const { rules } = (json['results'] as { policy: PolicyResult }[])[0]!.policy;
      assert.deepEqual(
        rules.map(({ outcome }) => outcome),
        ['pass', 'unknown'],
      );
      assert.match(rules[1]!.message, /too large/);
    });

    it('counts as a request of the token, with rate limit headers', async () => {
      const { token } = await api.newToken({ requestsPerMinute: 1 });
      const first = await evaluate('is-mkv', [crypto.randomUUID()], token);
      assert.deepEqual([first.status, first.headers.get('ratelimit-policy')], [200, '"default";q=1;w=60']);
      assert.equal((await evaluate('is-mkv', [crypto.randomUUID()], token)).status, 429);
    });

    for (const [what, ids, message] of [
      ['no request', [], /^request_ids/],
      ['more than 100 requests', Array.from({ length: 101 }, () => crypto.randomUUID()), /^request_ids/],
      ['a request twice', Array.from({ length: 2 }, () => '019a0000-0000-7000-8000-000000000000'), /more than once/],
      ['no id', ['x'], /^request_ids/],
    ] as const)
      it(`with ${what} is refused with 400`, async () => {
        const { status, json } = await evaluate('is-mkv', [...ids]);
        assert.equal(status, 400);
        assert.match(String(json['error']), message);
      });
  });

  describe('with the CRD of a version without policies', () => {
    const crd = (policy: boolean) => {
      const file = new URL('../../crds/probeyard.dev_probejobs.yaml', import.meta.url);
      const object = parse(readFileSync(file, 'utf8')) as KubeObject & {
        spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: { properties: object } } } } }[] };
      };
      if (!policy)
        for (const { schema } of object.spec.versions) {
          const { spec } = schema.openAPIV3Schema.properties;
          // Its rules name each field.
          Object.assign(spec, { 'x-kubernetes-validations': undefined });
          Object.assign(spec.properties, { policy: undefined });
        }
      return JSON.parse(JSON.stringify(object)) as KubeObject;
    };
    /** Applied to the API server, and followed by it. */
    const install = async (policy: boolean) => {
      await api.kube.apply(CRDS, crd(policy), { fieldManager: 'test', force: true });
      await until('the API server follows the CRD', async () => {
        const metadata = { name: crypto.randomUUID(), namespace: api.namespace };
        const source = { url: 'https://crd.test/a.mp4' };
        await api.kube.create(PROBE_JOBS, { metadata, spec: { kind: 'file', source, policy: { name: 'shared/x' } } });
        const { spec } = await api.kube.get(PROBE_JOBS, metadata.name, { namespace: api.namespace });
        await api.kube.delete(PROBE_JOBS, metadata.name, { namespace: api.namespace });
        return (spec.policy !== undefined) === policy;
      });
    };
    before(async () => {
      await put('web', MP4);
      await install(false);
    });
    after(() => install(true));

    it('the job runs without its policy, and the verdict is unknown with the reason', async () => {
      const answer = call('POST', '/v1/probe/file', { body: { url: 'https://old-crd.test/a.mkv', policy: 'web' } });
      const job = await api.job('old-crd.test');
      assert.equal(job.spec.policy, undefined);
      await api.end(job.metadata.name, { result: printed });
      const told = await answer;
      const policy = told.json['policy'] as PolicyResult;
      assert.deepEqual(
        [told.status, told.headers.get('x-policy-outcome'), policy.outcome, policy.rules[0]?.message],
        [200, 'unknown', 'unknown', 'the result was not judged'],
      );
    });
  });
});
