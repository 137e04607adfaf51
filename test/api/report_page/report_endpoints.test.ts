/** The report of a request by HTTP, and links to it: who may make, read and end them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { body, good } from '../../result/result_samples.ts';
import { FILM_TIMELINE, REPORT, VERDICT } from '../../console/sample_answers.ts';
import { storeAnswer } from '../../console/stored_answer.ts';
import { until } from '../../until.ts';
import { startManagement, type Management, type Person } from '../accounts/fixture.ts';

describe('reports to hand on', function () {
  this.timeout(120_000);
  let m: Management;
  let ann: Person;
  let sam: Person;
  let bob: Person;
  let id: string;
  before(async () => {
    m = await startManagement();
    ann = await m.person('ann');
    sam = await m.person('sam', { parent: ann });
    bob = await m.person('bob');
    id = await record(ann);
  });
  after(() => m.stop());

  const report = { ...good('ffprobe', JSON.stringify(REPORT)), name: 'probe_report' as const };
  const timeline = { success: true, durationMs: 8, usageMs: 8, output: JSON.stringify(FILM_TIMELINE) };
  const record = (who: Person, ffprobe = '{"format":{}}') =>
    storeAnswer(
      m.replicas[0].deps.store,
      who,
      'file',
      body([good('ffprobe', ffprobe)], { report, timeline, policy: VERDICT }),
      { timeline: { enabled: true }, policy: { name: VERDICT.name, revision: VERDICT.revision } },
    );
  const page = async (path: string, token?: string, method = 'GET') => {
    const response = await fetch(`${m.replicas[0].url}${path}`, {
      method,
      headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const reportOf = (request: string, who: Person) => page(`/frontend/api/v1/media/log/${request}/report`, who.token);
  const link = async (request: string, token: string, fields: object = {}) => {
    const { status, json } = await m.call('POST', `media/log/${request}/link`, { token, body: fields });
    return { status, json, path: new URL(String(json['url'] ?? ''), 'http://none.test').pathname };
  };
  const read = async (path: string) => (await page(path)).status;

  it('report: the page, as a file that no browser runs anything of', async () => {
    const { status, headers, text } = await reportOf(id, ann);
    assert.equal(status, 200);
    assert.match(text, /^<!doctype html>.*1 timeline gap.*streams\[1\]\.channels.*<\/html>\n$/s);
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(headers.get('content-disposition'), `attachment; filename="report-${id}.html"`);
    const policy = headers.get('content-security-policy')!;
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; img-src data:; sandbox ;/);
    assert.doesNotMatch(policy, /script|unsafe/);
    for (const [name, value] of Object.entries({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex, nofollow',
    }))
      assert.equal(headers.get(name), value, name);
  });

  it('report: of the caller, their sub-users, and for an administrator of everyone', async () => {
    const ofSam = await record(sam);
    for (const [request, who, status] of [
      [ofSam, ann, 200],
      [id, m.root, 200],
      [id, sam, 404],
      [id, bob, 404],
      [randomUUID(), ann, 404],
    ] as const)
      assert.equal((await reportOf(request, who)).status, status);
  });

  it('report: an output that is too long is named, and the rest is there', async () => {
    const { text } = await reportOf(await record(ann, JSON.stringify({ long: 'x'.repeat(3_000_000) })), ann);
    assert.match(text, /1 timeline gap/);
    const long = { ...report, output: JSON.stringify({ ...REPORT, long: 'x'.repeat(4_200_000) }) };
    const [request] = [
      await storeAnswer(
        m.replicas[0].deps.store,
        ann,
        'file',
        body([good('ffprobe', '{}')], { report: long, timeline }),
      ),
    ];
    const shown = (await reportOf(request, ann)).text;
    assert.match(shown, /The report of the file is too long for this page.*1 timeline gap|1 timeline gap.*too long/s);
  });

  it('report: of a result that has expired, or was erased, says so and keeps the verdict', async () => {
    const request = await record(ann);
    await m.stored.sql('delete from envelopes where id = $1', [request]);
    assert.match(
      (await reportOf(request, ann)).text,
      /fails the policy house-delivery revision 3<\/bdi>.*the result is no longer kept/s,
    );
    assert.equal((await m.call('DELETE', `media/log/${request}`, { token: ann.token })).status, 204);
    assert.match((await reportOf(request, ann)).text, /what was kept of this request is deleted/);
  });

  it('link: whoever has it reads the page, which says by whom and until when; the secret is not kept', async () => {
    const { status, json, path } = await link(id, ann.token, { hours: 2 });
    assert.equal(status, 201);
    assert.match(path, /^\/r\/[\w-]{43}$/);
    const hours = (Date.parse(json['expires'] as string) - Date.parse(json['created'] as string)) / 3_600_000;
    assert.ok(Math.abs(hours - 2) < 0.01, String(hours));
    const { status: found, text, headers } = await page(path);
    assert.equal(found, 200);
    assert.match(text, /Shared by <bdi>ann<\/bdi> until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    assert.equal(headers.get('content-disposition'), null);
    assert.deepEqual(await page(path, undefined, 'HEAD').then((head) => [head.status, head.text]), [200, '']);
    assert.equal((await page(path, undefined, 'POST')).status, 405);
    const secret = path.slice(3);
    const rows = await m.stored.sql('select l::text as row from report_links l');
    assert.ok(!JSON.stringify(rows).includes(secret), 'the table');
    assert.ok(!m.replicas.some(({ log }) => log.join('').includes(secret)), 'the log');
    assert.match(m.replicas[0].log.join(''), /"audit":true,.*"action":"makeReportLink"/);
  });

  it('link: only of the own requests and those of sub-users, administrators too', async () => {
    const ofSam = await record(sam);
    for (const [request, who, status] of [
      [ofSam, ann, 201],
      [id, sam, 404],
      [id, bob, 404],
      [id, m.root, 404],
      [randomUUID(), ann, 404],
    ] as const)
      assert.equal((await link(request, who.token)).status, status);
    for (const hours of [0, 721, 1.5, '5 days'])
      assert.equal((await link(id, ann.token, { hours })).status, 400, String(hours));
  });

  it('link: what does not work looks the same, whatever became of it', async () => {
    const [ended, expired, erased] = [await link(id, ann.token), await link(id, ann.token), await record(ann)];
    const ofErased = await link(erased, ann.token);
    assert.equal((await m.call('DELETE', `media/link/${ended.json['id']}`, { token: bob.token })).status, 404);
    assert.equal(await read(ended.path), 200);
    assert.equal((await m.call('DELETE', `media/link/${ended.json['id']}`, { token: ann.token })).status, 204);
    assert.equal((await m.call('DELETE', `media/link/${ended.json['id']}`, { token: ann.token })).status, 404);
    await m.stored.sql(`update report_links set expires_at = now() where id = $1`, [expired.json['id']]);
    await m.call('DELETE', `media/log/${erased}`, { token: ann.token });
    const invented = `/r/${'A'.repeat(43)}`;
    const pages = await Promise.all(
      [ended.path, expired.path, ofErased.path, invented, '/r/x'].map((path) => page(path)),
    );
    for (const { status, text } of pages) {
      assert.equal(status, 404);
      assert.equal(text, pages[0]!.text);
    }
    assert.match(pages[0]!.text, /This link does not work/);
  });

  it('link: its maker must still be able to read the request', async () => {
    const eve = await m.person('eve');
    const { path } = await link(await record(eve), eve.token);
    const with_ = (set: string) => m.stored.sql(`update users set ${set} where id = $1`, [eve.id]);
    for (const [set, status] of [
      [`status = 'suspended'`, 404],
      [`status = 'active'`, 200],
      [`restrictions = '{read:media}'`, 404],
      [`restrictions = '{}'`, 200],
    ] as const) {
      await with_(set);
      assert.equal(await read(path), status, set);
    }
    await m.call('DELETE', `user/${eve.id}`, { token: m.root.token });
    assert.equal(await read(path), 404);
    assert.deepEqual(await m.stored.sql('select from report_links where user_id = $1', [eve.id]), []);
  });

  it('link: ends with the token, or the JWT of a token, that made it; that of a sign-in outlives it', async () => {
    const token = async (fields: object) =>
      (await m.call('POST', 'auth/api-token', { token: ann.token, body: { name: 'x', ...fields } })).json as {
        id: number;
        token: string;
        expires: string;
      };
    const short = await token({ ttl: 60_000 });
    assert.equal((await link(id, short.token)).json['expires'], short.expires);
    for (const end of ['DELETE', 'PUT']) {
      const one = await token({});
      const made = await link(id, one.token);
      const jwt = (await m.call('POST', 'auth/jwt', { token: one.token })).json['token'] as string;
      const byJwt = await link(id, jwt);
      assert.deepEqual([await read(made.path), await read(byJwt.path)], [200, 200]);
      const [caller, change] = end === 'PUT' ? [one.token, { rotate: true }] : [ann.token, undefined];
      const { status, text } = await m.call(end, `auth/api-token/${one.id}`, { token: caller, body: change });
      assert.ok(status < 300, text);
      assert.deepEqual([await read(made.path), await read(byJwt.path)], [404, 404], end);
    }
    const signIn = await m.call('POST', 'auth/sign-in', { body: { email: ann.email, password: 'correct horse' } });
    const jwt = (signIn.json['jwt-token'] as { token: string }).token;
    const { path } = await link(id, jwt);
    assert.equal((await m.call('DELETE', 'auth/sign-out', { token: jwt })).status, 200);
    assert.equal(await read(path), 200);
  });

  it('link: of a credential that ends while it is made, it is refused as that of one that has ended', async () => {
    const { json: maker } = await m.call('POST', 'auth/api-token', { token: ann.token, body: {} });
    const isWaiting = async () => {
      const waits = `wait_event_type = 'Lock' and datname = current_database() and query like '%into report_links%'`;
      return (await m.stored.sql(`select from pg_stat_activity where ${waits}`)).length === 1;
    };
    const { making } = await m.replicas[0].deps.store.together('end_maker', async (calls) => {
      assert.ok(await calls.revokeToken(maker['id'] as number));
      const answer = link(id, maker['token'] as string);
      await until('the link waits for the end of its maker', isWaiting);
      return { making: answer };
    });
    const { status, json } = await making;
    assert.deepEqual([status, json['error']], [401, 'the credential has ended']);
  });

  it('link: listed for its maker and those above, without its secret', async () => {
    const ofSam = await record(sam);
    const made = await link(ofSam, sam.token);
    const list = async (who: Person, query = '') =>
      (await m.call('GET', `media/link?${query}`, { token: who.token })).json['links'] as object[];
    const shown = { ...made.json };
    delete shown['url'];
    assert.deepEqual(await list(sam, `request=${ofSam}`), [shown]);
    assert.deepEqual(await list(ann, `request=${ofSam}`), [shown]);
    assert.deepEqual(await list(bob), []);
    assert.ok((await list(ann)).length > 1);
  });

  it('link: an account has at most 100, over all its users, also when they are made at once', async () => {
    const max = await m.person('max');
    const below = await m.person('below', { parent: max });
    const request = await record(below);
    const made = await Promise.all(
      Array.from({ length: 104 }, (_, at) => link(request, (at % 2 === 0 ? max : below).token)),
    );
    const statuses = made.map(({ status }) => status).toSorted();
    assert.deepEqual([statuses.indexOf(409), statuses.at(-1)], [100, 409]);
    const refused = made.find(({ status }) => status === 409)!;
    assert.equal(refused.json['error'], 'the account has reached its limit of links to reports');
  });

  it('link: readers share a rate of the account', async () => {
    const una = await m.person('una');
    const { path } = await link(await record(una), una.token);
    assert.equal(await read(path), 200);
    await m.stored.sql(`update rate_limits set tat = now() + interval '2 minutes' where scope = 'link' and id = $1`, [
      una.id,
    ]);
    const { status, headers, text } = await page(path);
    assert.deepEqual([status, text], [429, '{"error":"rate limit exceeded; try again later"}']);
    assert.ok(Number(headers.get('retry-after')) > 50);
    assert.equal((await reportOf(id, ann)).status, 200);
  });
});
