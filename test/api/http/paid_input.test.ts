/** Who pays for reading an input, and what is looked at before a body is read. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import type { Payer } from '../../../src/service/result/pace.ts';
import { until } from '../../until.ts';
import { startManagement, type Management } from '../accounts/fixture.ts';

const SIGN_IN = 'auth/sign-in';

describe('the input of a call', function () {
  this.timeout(60_000);
  let m: Management;
  let charges: { payer: Payer; busyMs: number }[];
  before(async () => {
    m = await startManagement({ trustedHops: 1, publicUrl: 'https://probe.example.com' });
    const { deps } = m.replicas[0];
    const { paceOf } = deps;
    const noted = (payer: Payer) => (busyMs: number) => {
      if (busyMs > 0) charges.push({ payer, busyMs });
      return paceOf(payer)(busyMs);
    };
    deps.paceOf = Object.assign(noted, { debtOf: paceOf.debtOf });
  });
  beforeEach(() => {
    charges = [];
  });
  after(() => m.stop());

  const cases: [what: string, path: string, call: Parameters<Management['call']>[2], status: number][] = [
    ['a query', 'user/current', {}, 200],
    ['an unknown field of a query', 'user/current?x=1', {}, 400],
    ['a body', 'user/current', { body: { 'first-name': 'a' } }, 200],
    ['an unknown field of a body', 'user/current', { body: { x: 1 } }, 400],
    ['a body that is not JSON', 'user/current', { form: '{', headers: { 'Content-Type': 'application/json' } }, 400],
    ['a body that is too deep', 'user/current', { body: JSON.parse('['.repeat(70) + ']'.repeat(70)) as unknown }, 400],
    ['a form', 'user/current', { form: 'x=1' }, 400],
  ];
  for (const [what, path, call, status] of cases)
    it(`${what}: the account of the user is charged once, with status ${status}`, async () => {
      const ann = await m.person(what.replaceAll(' ', '.'));
      const sam = await m.person(`sub.${what.replaceAll(' ', '.')}`, { parent: ann });
      const method = call?.body || call?.form ? 'PUT' : 'GET';
      assert.equal((await m.call(method, path, { token: sam.token, ...call })).status, status);
      assert.deepEqual(
        charges.map(({ payer }) => payer),
        [ann.id],
      );
    });

  it('without a credential, the address is charged, for a refused body too', async () => {
    for (const [from, body, status] of [
      ['192.0.2.1', { email: 'nobody@example.org', password: 'x' }, 401],
      ['192.0.2.2', { x: 1 }, 400],
      ['2001:db8::1:2', [], 400],
    ] as const)
      assert.equal((await m.call('POST', SIGN_IN, { body, headers: { 'X-Forwarded-For': from } })).status, status);
    assert.deepEqual(
      charges.map(({ payer }) => payer),
      ['192.0.2.1/32', '192.0.2.2/32', '2001:db8::/64'],
    );
  });

  it('waits until the account has paid for earlier calls, before its body is read', async () => {
    const { id, token } = await m.person('debtor');
    const { deps } = m.replicas[0];
    // A debt of a second, beyond the burst.
    void deps.paceOf(id)(3_200);
    const began = performance.now();
    assert.equal((await m.call('PUT', 'user/current', { token, body: {} })).status, 200);
    assert.ok(performance.now() - began > 500, `${performance.now() - began} ms`);
  });

  for (const [what, body, headers, error] of [
    ['more than 16 kB', { email: 'x'.repeat(17_000) }, {}, 'body: must be at most 16 kB'],
    [
      'a Content-Encoding',
      {},
      { 'Content-Encoding': 'gzip' },
      'Content-Encoding: is not accepted here; send the body without one',
    ],
  ] as const)
    it(`without a credential, ${what} is refused`, async () => {
      const { status, json } = await m.call('POST', SIGN_IN, { body, headers });
      assert.deepEqual([status, json['error']], [400, error]);
    });

  /** Its status, or undefined if it is not answered soon. */
  const withoutBody = (headers: Record<string, string>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const sent = request(`${m.replicas[0].url}/frontend/api/v1/auth/verify`, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': 1_000 },
      });
      const end = (status?: number): void => {
        resolve(status);
        sent.destroy();
      };
      sent.setTimeout(2_000, () => end());
      sent.on('response', ({ statusCode }) => end(statusCode));
      sent.on('error', reject);
      sent.flushHeaders();
    });

  it('without a credential, calls from one address are limited before their bodies are read', async () => {
    const from = { 'X-Forwarded-For': '192.0.2.77' };
    const call = async () => (await m.call('POST', 'auth/verify', { body: { x: 1 }, headers: from })).status;
    const statuses = await Promise.all(Array.from({ length: 300 }, call));
    assert.ok(statuses.filter((status) => status === 400).length >= 200, 'two hundred at once');
    assert.ok(statuses.includes(429), 'refused bodies count');
    // On a busy machine a call was earned back since then. One that has its place waits for its body.
    await until('a call is refused although no byte of its body was sent', async () => {
      charges = [];
      return (await call()) === 429 && (await withoutBody(from)) === 429;
    });
    assert.deepEqual(charges, []);
    const elsewhere = { 'X-Forwarded-For': '192.0.2.78' };
    assert.equal((await m.call('POST', 'auth/verify', { body: { x: 1 }, headers: elsewhere })).status, 400);
    assert.equal((await m.call('POST', SIGN_IN, { body: { x: 1 }, headers: from })).status, 400, 'another endpoint');
  });

  it('every answer demands TLS of browsers if the public address has it', async () => {
    for (const path of ['/openapi.json', '/frontend/api/v1/user/current', '/none'])
      assert.equal(
        (await fetch(`${m.replicas[0].url}${path}`)).headers.get('strict-transport-security'),
        'max-age=15552000',
        path,
      );
  });
});

describe('without a public address with TLS', function () {
  this.timeout(60_000);
  it('no answer demands TLS', async () => {
    const m = await startManagement({ publicUrl: 'http://probe.example.com' });
    try {
      assert.equal((await m.call('GET', 'user/current')).headers.get('strict-transport-security'), null);
    } finally {
      await m.stop();
    }
  });
});
