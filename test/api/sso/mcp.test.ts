/** Access tokens of an issuer at /mcp: what clients are told, and which tokens are accepted. */
import assert from 'node:assert/strict';
import { until } from '../../until.ts';
import { type Call, startManagement, type Management } from '../accounts/fixture.ts';
import { newKey, PUBLIC, SECRET, startIssuer, toIssuers, type TestIssuer } from './issuer.ts';

const METADATA = '/.well-known/oauth-protected-resource';
const AUDIENCE = `${PUBLIC}/mcp`;

describe('single sign-on of clients of MCP', function () {
  this.timeout(60_000);
  let m: Management;
  let issuer: TestIssuer;
  let other: TestIssuer;
  let user: number;
  before(async () => {
    [issuer, other] = await Promise.all([startIssuer('corp', { audience: AUDIENCE }), startIssuer('other')]);
    const issuers = [issuer.settings, other.settings];
    m = await startManagement({ issuers, issuerSecret: () => SECRET, publicUrl: PUBLIC }, {}, await toIssuers());
    user = (await m.person('ada')).id;
    const known = 'insert into identities (issuer, subject, user_id) values ($1, $2, $3)';
    for (const one of [issuer, other]) await m.stored.sql(known, [one.url, 'ada', user]);
  });
  after(async () => {
    await m.stop();
    await Promise.all([issuer.stop(), other.stop()]);
  });

  const list = (call: Call, at = m) =>
    at.call('POST', '/mcp', {
      ...call,
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      headers: { Accept: 'application/json, text/event-stream' },
    });
  const now = () => Math.floor(Date.now() / 1_000);
  const claims = (change: object = {}) => ({ iss: issuer.url, aud: AUDIENCE, sub: 'ada', exp: now() + 300, ...change });
  const tokens = () =>
    m.stored.sql<{ id: string }>(`select id from tokens where name = 'MCP by single sign-on' and revoked_at is null`);

  it('clients are told who signs people in: those with an audience', async () => {
    const { status, headers } = await list({});
    const challenge = `Bearer resource_metadata="${PUBLIC}${METADATA}/mcp"`;
    assert.deepEqual([status, headers.get('WWW-Authenticate')], [401, challenge]);
    for (const path of [METADATA, `${METADATA}/mcp`])
      assert.deepEqual((await m.call('GET', path)).json, {
        resource: AUDIENCE,
        resource_name: 'Probeyard',
        authorization_servers: [issuer.url],
        bearer_methods_supported: ['header'],
      });
    const elsewhere = await m.call('GET', '/v1/versions');
    assert.deepEqual([elsewhere.status, elsewhere.headers.get('WWW-Authenticate')], [401, 'Bearer']);
  });

  it('an access token of somebody who is known: calls on one API token, which is made once', async () => {
    const [one, two] = [await issuer.sign(claims()), await issuer.sign(claims({ jti: 'another' }))];
    for (const jwt of [one, two, one]) assert.equal((await list({ jwt })).status, 200);
    assert.equal((await tokens()).length, 1);
    assert.equal((await m.call('GET', '/v1/versions', { jwt: one })).status, 401, 'at /mcp alone');
    assert.equal((await m.call('GET', 'user/current', { jwt: one })).status, 401, 'at /mcp alone');
  });

  const refused: Record<string, [status: number, jwt: () => Promise<string>]> = {
    'for somebody else': [401, () => issuer.sign(claims({ aud: 'https://other.example/mcp' }))],
    'that is an ID token': [401, () => issuer.sign(claims({ aud: 'probeyard' }))],
    'that has expired': [401, () => issuer.sign(claims({ exp: now() - 90 }))],
    'that never expires': [401, () => issuer.sign(claims({ exp: undefined }))],
    'without a subject': [401, () => issuer.sign(claims({ sub: undefined }))],
    'of an issuer without an audience': [401, () => other.sign(claims({ iss: other.url }))],
    'of an unknown issuer': [401, () => issuer.sign(claims({ iss: 'https://evil.example' }))],
    'signed by another key': [401, async () => issuer.sign(claims(), {}, await newKey())],
    'without a signature': [401, async () => (await issuer.sign(claims())).replace(/\.[^.]*$/, '.x')],
    'of somebody who has never signed in': [403, () => issuer.sign(claims({ sub: 'grace' }))],
  };
  for (const [title, [wanted, jwt]] of Object.entries(refused))
    it(`a token ${title}: ${wanted}`, async () => {
      const { status, text } = await list({ jwt: await jwt() });
      assert.equal(status, wanted, text);
    });

  it('an issuer that is away takes no token of another with it', async () => {
    const away = await startIssuer('away', { audience: AUDIENCE });
    await away.stop();
    const issuers = [away.settings, issuer.settings];
    const alone = await startManagement(
      { issuers, issuerSecret: () => SECRET, publicUrl: PUBLIC },
      {},
      await toIssuers(),
    );
    try {
      const { id } = await alone.person('ada');
      await alone.stored.sql('insert into identities (issuer, subject, user_id) values ($1, $2, $3)', [
        issuer.url,
        'ada',
        id,
      ]);
      const answer = await list({ jwt: await issuer.sign(claims()) }, alone);
      assert.equal(answer.status, 200, answer.text);
      const ofAway = await list({ jwt: await issuer.sign(claims({ iss: away.url })) }, alone);
      assert.equal(ofAway.status, 503, ofAway.text);
      const ofStranger = await list({ jwt: await issuer.sign(claims({ iss: 'https://evil.example' })) }, alone);
      assert.equal(ofStranger.status, 401, 'nobody is asked for it');
    } finally {
      await alone.stop();
    }
  });

  it('a suspended user is refused; a revoked token is made anew', async () => {
    const jwt = await issuer.sign(claims());
    const status = (to: string) => m.stored.sql('update users set status = $2 where id = $1', [user, to]);
    assert.equal((await list({ jwt })).status, 200);
    await status('suspended');
    await until('it is refused', async () => (await list({ jwt })).status === 403);
    await status('active');
    const [token] = await tokens();
    await m.stored.sql('update tokens set revoked_at = now() where id = $1', [token!.id]);
    await until('it works with another token', async () => {
      const { status: answered } = await list({ jwt });
      return answered === 200 && (await tokens()).some(({ id }) => id !== token!.id);
    });
  });
});
