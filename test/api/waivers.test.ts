/** Waivers through the API: made, listed and revoked, and what answers and stored results show of them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { PolicyResult } from '../../src/media/policy/schema.ts';
import { MOST_REPORT_BYTES } from '../../src/media/qc/limits.ts';
import { waivedChecks } from '../../src/service/api/waivers/applied.ts';
import { CHECKS } from '../console/sample_answers.ts';
import { sha256 } from '../store/fixture.ts';
import { addTool } from './add_tool.ts';
import { startApi, tool, type ApiFixture } from './fixture.ts';

const DAY_MS = 86_400_000;
const NONE = '019a5f3e-8a00-7000-8000-000000000001';
const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();
const MP4 = { rules: [{ name: 'wrapper', field: 'container.format', is: 'mp4' }] };
const FAILED: PolicyResult = {
  name: 'web',
  revision: 1,
  outcome: 'fail',
  rules: [{ name: 'wrapper', level: 'fail', outcome: 'fail', message: 'container.format is mkv; expected mp4' }],
};

interface Told {
  status: number;
  headers: Headers;
  text: string;
  json: Record<string, any>;
}

describe('waivers', function () {
  this.timeout(120_000);
  let api: ApiFixture;
  let stranger: { id: number; token: string };
  before(async () => {
    api = await startApi();
    await addTool(api, 'qc', '7.1');
    stranger = await newUser(null);
    assert.equal((await call('PUT', '/v1/policy/web', MP4)).status, 200);
  });
  after(() => api.stop());

  async function newUser(parent: number | null): Promise<{ id: number; token: string }> {
    const token = randomBytes(32).toString('hex');
    const [row] = await api.stored.sql<{ id: string }>(
      `with made as (insert into users (email, status, role, parent_id, root_id, permissions, requests_per_minute)
          values ($1, 'active', $2, $3, $3, '{read:media,write:media,write:policy}', 1000000) returning id)
        insert into tokens (user_id, sha256) select id, $4 from made returning user_id id`,
      [`${randomBytes(6).toString('hex')}@example.org`, parent === null ? 'user' : 'sub', parent, sha256(token)],
    );
    return { id: Number(row!.id), token };
  }

  async function call(method: string, path: string, body?: unknown, token = api.token): Promise<Told> {
    const response = await fetch(`${api.url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { status, headers } = response;
    const text = await response.text();
    return { status, headers, text, json: text.startsWith('{') ? JSON.parse(text) : {} };
  }

  const common = () => ({ reason: 'Slate, as agreed', until: inDays(30) });
  const black = (source: string) => ({ source, check: 'black', stream: 0, from: 0, to: 2.6, ...common() });
  async function waive(body: object, token?: string): Promise<string> {
    const made = await call('POST', '/v1/waivers', body, token);
    assert.equal(made.status, 201, made.text);
    return made.json['id'];
  }
  const revoke = (id: string, token?: string) => call('DELETE', `/v1/waivers/${id}`, undefined, token);

  /** A probe that ends with these content checks and this verdict. */
  async function probe(host: string, fields: object, { policy = FAILED, report = CHECKS } = {}) {
    const answering = call('POST', '/v1/probe/file', { url: `https://${host}/a.mkv?sig=one`, ...fields });
    const job = await api.job(host);
    const tools = [tool('ffprobe', '{}'), tool('qc', JSON.stringify(report), { version: '7.1' })];
    const judged = 'policy' in fields ? { policy } : {};
    const close = 'policy' in fields ? { policy: policy.outcome } : {};
    await api.end(job.metadata.name, { result: { tools, ioUsage: 9, ...judged }, close });
    return { id: job.metadata.name, told: await answering };
  }

  describe('made, listed and revoked', () => {
    it('show who, why, until when and of what, without the query of the source', async () => {
      const source = 'https://made.test/film.mp4?token=secret#end';
      const { status, json } = await call('POST', '/v1/waivers', black(source));
      const { id, created_at: at, until, ...rest } = json;
      assert.equal(status, 201);
      assert.ok(Date.parse(until) > Date.parse(at));
      assert.deepEqual(rest, {
        source: 'https://made.test/film.mp4',
        check: 'black',
        stream: 0,
        from: 0,
        to: 2.6,
        policy: null,
        rule: null,
        reason: 'Slate, as agreed',
        by: rest['by'],
        user_id: api.userId,
        revoked_at: null,
      });
      assert.match(rest['by'], /@/, 'a user without a name is shown by the address');
      const { json: listed } = await call('GET', '/v1/waivers?limit=1');
      assert.deepEqual(listed['waivers'], [json]);
      assert.equal((await revoke(id)).status, 204);
      assert.equal((await revoke(id)).status, 404, 'it is over');
      assert.doesNotMatch((await call('GET', '/v1/waivers')).text, new RegExp(id));
      assert.match((await call('GET', '/v1/waivers?ended=true')).text, new RegExp(id));
    });

    it('are listed by page, the newest first', async () => {
      const ids = [];
      for (let n = 0; n < 3; n++) ids.unshift(await waive(black(`https://page.test/${n}.mp4`)));
      const first = (await call('GET', '/v1/waivers?limit=2')).json;
      assert.deepEqual(
        first['waivers'].map(({ id }: { id: string }) => id),
        ids.slice(0, 2),
      );
      const next = (await call('GET', `/v1/waivers?limit=2&before=${first['next']}`)).json;
      assert.equal(next['waivers'][0].id, ids[2]);
    });

    it('are of the account: a sub-user sees and revokes them, another account does not', async () => {
      const below = await newUser(api.userId);
      const id = await waive(black('https://mine.test/a.mp4'), below.token);
      assert.match((await call('GET', '/v1/waivers')).text, new RegExp(id));
      assert.doesNotMatch(
        (await call('GET', '/v1/waivers?ended=true', undefined, stranger.token)).text,
        new RegExp(id),
      );
      assert.equal((await revoke(id, stranger.token)).status, 404);
      assert.equal((await revoke(id)).status, 204);
    });

    it('need write:policy', async () => {
      const token = randomBytes(32).toString('hex');
      await api.stored.sql(
        `insert into tokens (user_id, sha256, permissions) values ($1, $2, '{read:media,write:media}')`,
        [api.userId, sha256(token)],
      );
      assert.equal((await call('GET', '/v1/waivers', undefined, token)).status, 200);
      assert.equal((await call('POST', '/v1/waivers', black('https://x.test/a'), token)).status, 403);
    });

    it('are at most 1,000 in force, and those that are over make room', async () => {
      const { id: user, token } = await newUser(null);
      const rows = (count: number, until: string) =>
        api.stored.sql(
          `insert into waivers (id, account_id, user_id, policy, rule, reason, created_at, until)
            select gen_random_uuid(), $1, $1, 'a', 'b', 'c', now() - interval '2 days', now() + $2::interval
            from generate_series(1, $3)`,
          [user, until, count],
        );
      await rows(1_000, '-1 day');
      await rows(999, '1 day');
      await waive(black('https://full.test/a.mp4'), token);
      const full = await call('POST', '/v1/waivers', black('https://full.test/b.mp4'), token);
      assert.deepEqual(
        [full.status, full.json['error']],
        [409, 'the account has reached its limit of live waivers; revoke some'],
      );
      const count = async () =>
        Number(
          (await api.stored.sql<{ n: string }>('select count(*) n from waivers where account_id = $1', [user]))[0]!.n,
        );
      assert.equal(await count(), 2_000);
      await rows(50, '-1 day');
      await call('POST', '/v1/waivers', black('https://full.test/b.mp4'), token);
      assert.equal(await count(), 2_050, 'a call that was refused leaves all as it was');
      await api.stored.sql('update waivers set revoked_at = now() where account_id = $1', [user]);
      await waive(black('https://full.test/b.mp4'), token);
      assert.equal(await count(), 1_001, 'the newest 1,000 that are over are kept');
      await api.stored.store.eraseUser(user);
      assert.equal(await count(), 0, 'they go with their account');
    });

    for (const [change, message] of [
      [{ check: null }, /^exactly one of check and rule is required/],
      [{ rule: 'wrapper' }, /^exactly one of check and rule is required/],
      [{ check: 'loudness' }, /^check: /],
      [{ source: null }, /^source: is required with check, or request_id/],
      [{ source: 'nonsense' }, /^source must begin with one of/],
      [{ source: 'upload:///film.mp4' }, /^source/],
      [{ stream: null }, /^stream: is required with check/],
      [{ from: null }, /^from: is required with check black/],
      [{ to: null }, /^to: is required with check black/],
      [{ from: 3 }, /^to: must not be before from/],
      [{ check: 'clipping' }, /^from: has no effect with check clipping: its findings have no times/],
      [{ policy: 'web' }, /^policy: has no effect with check/],
      [{ reason: '' }, /^reason: /],
      [{ reason: 'a\u0000b' }, /^reason: /],
      [{ until: '2020-01-01' }, /^until: must be in the future/],
      [{ until: '2027-02-30' }, /^until: is not a valid date or time/],
      [{ until: 'soon' }, /^until: /],
      [{ until: '2099-01-01' }, /^until: must be at most 400 days from now/],
      [{ request_id: NONE }, /^source: has no effect with request_id/],
      [{ source: null, request_id: NONE }, /^request_id: is not a request of the caller on record/],
    ] as const)
      it(`of a check are refused with ${JSON.stringify(change)}`, async () => {
        const { status, json } = await call('POST', '/v1/waivers', { ...black('https://bad.test/a.mp4'), ...change });
        assert.equal(status, 400);
        assert.match(json['error'], message);
      });

    for (const [change, message] of [
      [{ policy: null }, /^policy: is required with rule/],
      [{ policy: 'wep' }, /^policy: "wep" does not exist; did you mean web\?/],
      [{ rule: 'wraper' }, /^rule: "wraper" is not in the policy; did you mean wrapper\?/],
      [{ stream: 0 }, /^stream: has no effect with rule/],
    ] as const)
      it(`of a rule are refused with ${JSON.stringify(change)}`, async () => {
        const body = { policy: 'web', rule: 'wrapper', ...common(), ...change };
        const { status, json } = await call('POST', '/v1/waivers', body);
        assert.equal(status, 400);
        assert.match(json['error'], message);
      });
  });

  describe('of content checks', () => {
    const asked = { qc: { enabled: true }, mediainfo: { enabled: false } };

    it('stand beside the report in an answer, and in a result that is read back while they are in force', async () => {
      const id = await waive(black('https://qc.test/a.mkv?sig=another'));
      const { told, id: request } = await probe('qc.test', asked);
      const { response, waived } = told.json['qc'];
      assert.deepEqual(response, CHECKS, 'the report stays as it is');
      assert.deepEqual(
        waived.map(({ waived: { waiver, reason }, ...finding }: any) => ({ ...finding, waiver, reason })),
        [{ check: 'black', stream: 0, from: 0, to: 2.5, waiver: id, reason: 'Slate, as agreed' }],
      );
      const back = () => call('GET', `/v1/probe/${request}`);
      assert.deepEqual((await back()).json['qc'].waived, waived);
      const logged = () => call('GET', `/frontend/api/v1/media/log/${request}`);
      assert.deepEqual(JSON.parse((await logged()).json['qc-waived']), waived);
      const page = await call('GET', `/frontend/api/v1/media/log/${request}/report`);
      assert.match(page.text, /Waived findings/);
      assert.match(page.text, /Slate, as agreed/);
      assert.match(page.text, /waived until [0-9-]{10} by \S+@/);
      const { url } = (await call('POST', `/frontend/api/v1/media/log/${request}/link`, {})).json;
      const shared = await call('GET', url);
      assert.match(shared.text, /waived until [0-9-]{10}: Slate, as agreed/, 'strangers read no address of a user');
      assert.equal((await revoke(id)).status, 204);
      assert.equal('waived' in (await back()).json['qc'], false);
      assert.equal('qc-waived' in (await logged()).json, false);
    });

    it('by the id of a request are of its source, and of checks without times', async () => {
      const { id } = await probe('by-id.test', asked);
      await waive({ request_id: id, check: 'clipping', stream: 1, ...common() });
      const { qc } = (await call('GET', `/v1/probe/${id}`)).json;
      assert.deepEqual(
        qc.waived.map(({ check, stream, from, to }: any) => [check, stream, from, to]),
        [['clipping', 1, null, null]],
      );
    });

    it('are of the longest report, and of none that is longer than one can be', async () => {
      for (const [host, length, count] of [
        ['long.test', MOST_REPORT_BYTES - 20_000, 1],
        ['longer.test', MOST_REPORT_BYTES, 0],
      ] as const) {
        await waive(black(`https://${host}/a.mkv`));
        const why = 'x'.repeat(length);
        const report = { ...CHECKS, not_checked: [{ stream: 9, type: 'audio' as const, why }] };
        const { told, id } = await probe(host, asked, { report });
        assert.equal(told.json['qc'].waived?.length ?? 0, count, host);
        const page = await call('GET', `/frontend/api/v1/media/log/${id}/report`);
        assert.equal(page.text.includes('Waived findings'), count > 0, host);
      }
    });

    it('of what is no report there are none', () => {
      const by = { waiver: NONE, reason: 'Slate', by: null, until: inDays(1) };
      const checks = [{ check: 'black' as const, stream: 0, from: 0, to: 9, waived: by }];
      for (const text of ['', '7', '{"video":7}', '{"video":[{}],"audio":[]}'])
        assert.deepEqual(waivedChecks(text, { rules: [], checks }), []);
    });

    it('count for their account and their source alone', async () => {
      await waive(black('https://theirs.test/a.mkv'), stranger.token);
      await waive(black('https://theirs.test/b.mkv'));
      assert.equal('waived' in (await probe('theirs.test', asked)).told.json['qc'], false);
    });
  });

  describe('of a rule', () => {
    const rule = (change = {}) => ({ policy: 'web', rule: 'wrapper', ...common(), ...change });

    it('make it waived in answers, in formats of CI and where results are judged anew, not in the log', async () => {
      const { id, told: before } = await probe('rule.test', { policy: 'web' });
      assert.deepEqual([before.json['policy'], before.headers.get('x-policy-outcome')], [FAILED, 'fail']);
      const waiver = await waive(rule({ source: 'https://rule.test/a.mkv' }));
      const back = await call('GET', `/v1/probe/${id}`);
      const { outcome, rules } = back.json['policy'];
      assert.deepEqual(
        [outcome, back.headers.get('x-policy-outcome'), rules[0].outcome, rules[0].waived.waiver],
        ['pass', 'pass', 'waived', waiver],
      );
      const junit = await call('GET', `/v1/probe/${id}/policy?format=junit`);
      assert.match(junit.text, /failures="0" errors="0" skipped="1"/);
      assert.match(junit.text, /Slate, as agreed/);
      const log = (await call('GET', `/frontend/api/v1/media/log/${id}`)).json;
      assert.equal(log['status-policy'], 'fail', 'the log has the outcome of the run');
      assert.equal(JSON.parse(log['policy-response']).outcome, 'pass');
      await revoke(waiver);
      assert.deepEqual((await call('GET', `/v1/probe/${id}/policy`)).json, FAILED);
    });

    it('without a source are of all that the policy judges', async () => {
      const waiver = await waive(rule());
      const { told } = await probe('all.test', { policy: 'web' });
      assert.deepEqual([told.json['policy'].outcome, told.headers.get('x-policy-outcome')], ['pass', 'pass']);
      await revoke(waiver);
      const other = await waive(rule({ source: 'https://elsewhere.test/a.mkv' }));
      assert.equal((await probe('not-all.test', { policy: 'web' })).told.json['policy'].outcome, 'fail');
      await revoke(other);
    });

    it('count where results are judged anew', async () => {
      const dark = { rules: [{ name: 'no black', tool: 'qc', path: 'video[*].black.count', 'at-most': 0 }] };
      assert.equal((await call('PUT', '/v1/policy/dark', dark)).status, 200);
      const { id } = await probe('anew.test', { qc: { enabled: true } });
      const outcome = async () =>
        (await call('POST', '/v1/policy/dark/evaluate', { request_ids: [id] })).json['results'][0].policy.outcome;
      assert.equal(await outcome(), 'fail');
      await waive(rule({ policy: 'dark', rule: 'no black', source: 'https://anew.test/a.mkv' }));
      assert.equal(await outcome(), 'pass');
    });

    it('leave a rule that could not be judged as it is', async () => {
      const unknown = {
        ...FAILED,
        outcome: 'unknown' as const,
        rules: [{ ...FAILED.rules[0]!, outcome: 'unknown' as const }],
      };
      const waiver = await waive(rule());
      const { told } = await probe('unknown.test', { policy: 'web' }, { policy: unknown });
      assert.equal(told.json['policy'].outcome, 'unknown');
      await revoke(waiver);
    });
  });
});
