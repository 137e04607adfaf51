/** The controller's identity in place of keys: what token services grant, how long it is kept, and where it goes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Refusal } from '../../src/service/controller/leader/job.ts';
import { resolveCredentials, readSealed } from '../../src/service/controller/leader/resolve_job.ts';
import { type Identities, keepIdentities, postBy } from '../../src/platform/identity/identities.ts';
import { displaySource, redactor } from '../../src/source/address/redact.ts';
import { targetOf } from '../../src/source/address/target.ts';
import { isSigned, accessOf } from '../../src/source/http/exchange.ts';
import { signS3 } from '../../src/source/http/sign.ts';
import { trustedContext } from '../../src/source/http/connect.ts';
import { egressRoute } from '../../src/source/http/egress.ts';
import type { NamedCredential } from '../../src/base/source_settings.ts';
import { originUrl } from '../../src/source/protocols/table.ts';
import { holdsCredentials, type Source } from '../../src/source/source.ts';
import { until } from '../until.ts';
import { makeCertificate } from '../source/certificate.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { AUDIENCE, ROLE, startTokenService, type TokenService } from './token_service.ts';

const SUBJECT = 'system:serviceaccount:probeyard:probeyard-controller';

describe('workload identity', function () {
  this.timeout(60_000);
  let folder: string;
  let service: TokenService;
  const kept: Identities[] = [];
  let refusals: string[];
  let tokenFor: (audience: string) => Promise<string>;
  const credential = (name: string, kind: NamedCredential['kind'], identity: object, bucket = 'media') =>
    ({ name, kind, accounts: [1], buckets: [bucket], identity: { ...identity, endpoint: service.url } }) as const;
  const put = (name: string, token: string): void => {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'token'), token);
  };

  before(async () => {
    const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
    const key = { ...(await exportJWK(publicKey)), kid: 'cluster', alg: 'RS256' };
    service = await startTokenService({ keys: { keys: [key] }, subject: SUBJECT });
    tokenFor = (audience) =>
      new SignJWT({})
        .setProtectedHeader({ alg: 'RS256', kid: 'cluster' })
        .setSubject(SUBJECT)
        .setAudience(audience)
        .setExpirationTime('1h')
        .sign(privateKey);
  });
  after(() => service?.close());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-identity-'));
    for (const [name, audience] of Object.entries(AUDIENCE)) put(name, await tokenFor(audience));
    refusals = [];
    service.asked.length = 0;
    Object.assign(service.granting, { word: 'granted', seconds: 3600, answer: undefined });
  });
  afterEach(() => {
    for (const one of kept.splice(0)) one.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  function keeping(credentials: readonly NamedCredential[], post = postBy(undefined)): Identities {
    const onRefused = (name: string, error: Error) => refusals.push(`${name}: ${error.message}`);
    const identities = keepIdentities({ credentials, folder, post, onRefused });
    kept.push(identities);
    return identities;
  }

  const request = async (identities: Identities, address: string, one: NamedCredential, account = 1) => {
    const sealed = readSealed(JSON.stringify({ address, credential: one.name }), []);
    return (await resolveCredentials({ credentials: [one], folder, identities }, [sealed], account))[0];
  };
  const isGranted = (identities: Identities, one: NamedCredential): boolean => {
    try {
      return identities.secretOf(one) !== undefined;
    } catch {
      return false;
    }
  };
  /** The source of a request, once the token service has answered. */
  const resolved = async (address: string, one: NamedCredential, account = 1): Promise<Source> => {
    const identities = keeping([one]);
    await until('it was granted or refused', () => refusals.length > 0 || isGranted(identities, one));
    return request(identities, address, one, account);
  };
  const s3 = () => credential('s3', 's3', { role: ROLE });

  it('of Amazon: keys with a session, which is signed, for the bucket alone', async () => {
    const source = await resolved('s3://media/a.mp4', s3());
    const { accessKey, secret, session } = source.s3 ?? {};
    assert.ok(accessKey?.startsWith('KEYgranted') && secret?.startsWith('secret/granted'));
    assert.match(session ?? '', /^session-granted-\d+==$/);
    const access = accessOf(source, originUrl(source), {});
    assert.ok(access?.keys && isSigned(access, targetOf(originUrl(source))));
    const headers = signS3(access.home, access.keys, access.region);
    assert.equal(headers['x-amz-security-token'], session);
    assert.match(
      headers['authorization'] ?? '',
      /SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,/,
    );
    assert.deepEqual(service.asked, [`s3 ${ROLE}`]);
  });

  it('of Google: a token for the bucket alone, of the identity or on behalf of a service account', async () => {
    const identity = {
      provider: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/a/providers/b',
    };
    const own = await resolved('gs://media/a.mp4', credential('gs', 'gs', identity));
    const url = originUrl(own);
    const access = accessOf(own, url, {});
    assert.match(access?.bearer?.['authorization'] ?? '', /^Bearer granted-\d+$/);
    assert.equal(isSigned(access!, targetOf(url)), true);
    assert.equal(isSigned(access!, targetOf('https://storage.googleapis.com/other/a.mp4')), false);
    assert.equal(isSigned(access!, targetOf('https://storage.googleapis.com/media/../other/a.mp4')), false);
    assert.equal(isSigned(access!, targetOf('https://evil.test/media/a.mp4')), false);

    put('other', await tokenFor(AUDIENCE.gs));
    const other = credential('other', 'gs', { ...identity, serviceAccount: 'reader@project.iam.gserviceaccount.com' });
    assert.match((await resolved('gs://media/a.mp4', other)).s3?.bearer ?? '', /^on-behalf-granted/);
    assert.deepEqual(service.asked, [
      `gs ${identity.provider} https://www.googleapis.com/auth/devstorage.read_only`,
      `gs ${identity.provider} https://www.googleapis.com/auth/cloud-platform`,
      'gs /v1/projects/-/serviceAccounts/reader@project.iam.gserviceaccount.com:generateAccessToken',
    ]);
  });

  it('of Azure: a token for the container alone', async () => {
    const one = credential('az', 'az', { tenant: 'tenant', client: 'client' }, 'account/films');
    const source = await resolved('az://account/films/dir/a.mp4?sig=mine', one);
    const url = originUrl(source);
    assert.equal(url, 'https://account.blob.core.windows.net/films/dir/a.mp4');
    const access = accessOf(source, url, {});
    assert.deepEqual(Object.keys(access?.bearer ?? {}), ['authorization', 'x-ms-version']);
    assert.equal(isSigned(access!, targetOf(url)), true);
    assert.equal(isSigned(access!, targetOf('https://account.blob.core.windows.net/other/a.mp4')), false);
    assert.deepEqual(service.asked, ['az client https://storage.azure.com/.default']);
  });

  it('is asked for once, whatever the number of requests, and again before it ends', async () => {
    const identities = keeping([s3()]);
    await until('it was granted', () => isGranted(identities, s3()));
    for (let count = 0; count < 20; count++) await request(identities, 's3://media/a.mp4', s3());
    assert.equal(service.asked.length, 1);
    identities.stop();
    service.asked.length = 0;
    service.granting.seconds = 3;
    const short = keeping([s3()]);
    const first = await until('the short one was granted', () => isGranted(short, s3()) && short.secretOf(s3()));
    await until('it was renewed', () => short.secretOf(s3())['accessKey'] !== first['accessKey']);
    assert.equal(service.asked.length, 2);
  });

  it('delays no request while the token service is silent', async () => {
    service.granting.answer = 'silence';
    const before = service.requests();
    const identities = keeping([s3()]);
    await until('it was asked', () => service.requests() > before);
    await assert.rejects(request(identities, 's3://media/a.mp4', s3()), /the token service has not answered yet$/);
    assert.deepEqual(refusals, []);
  });

  it('is used while it is valid, though the service is away, and no longer', async () => {
    service.granting.seconds = 3;
    const identities = keeping([s3()]);
    await until('it was granted', () => isGranted(identities, s3()));
    service.granting.answer = { status: 503, text: '' };
    await until('it was refused', () => refusals.length > 0);
    await request(identities, 's3://media/a.mp4', s3());
    assert.deepEqual([...new Set(refusals)], ['s3: the token service answers 503']);
    await until('it has ended', () => !isGranted(identities, s3()));
    await assert.rejects(request(identities, 's3://media/a.mp4', s3()), { status: 500, reason: 'InternalError' });
  });

  it('is asked for again with growing pauses after it was refused, and by no request', async () => {
    const wrong = credential('s3', 's3', { role: 'arn:aws:iam::123456789012:role/other' });
    const identities = keeping([wrong]);
    await until('it was refused', () => refusals.length > 0);
    for (let count = 0; count < 50; count++)
      await assert.rejects(request(identities, 's3://media/a.mp4', wrong), (error: unknown) => {
        assert.ok(error instanceof Refusal);
        assert.equal(error.message, 'credential: no access for "s3": the token service answers 403 (AccessDenied)');
        return true;
      });
    assert.ok(service.asked.length <= 2, `${service.asked.length}`);
    await until('it was asked again', () => service.asked.length > 1);
  });

  it('is refused to a token for another audience, and without one', async () => {
    put('s3', await tokenFor('another'));
    await assert.rejects(resolved('s3://media/a.mp4', s3()), /403 \(InvalidIdentityToken\)$/);
    rmSync(join(folder, 's3'), { recursive: true });
    refusals.length = 0;
    await assert.rejects(resolved('s3://media/a.mp4', s3()), /Kubernetes has given no token$/);
  });

  it('belongs to accounts and buckets as keys do', async () => {
    for (const [address, account] of [
      ['s3://other/a.mp4', 1],
      ['s3://media/a.mp4', 2],
      ['gs://media/a.mp4', 1],
    ] as const)
      await assert.rejects(resolved(address, s3(), account), { status: 403 });
  });

  it('is in no text that is shown', async () => {
    for (const source of [
      await resolved('s3://media/a.mp4', s3()),
      await resolved('gs://media/a.mp4', credential('gs', 'gs', { provider: '//iam.googleapis.com/p' })),
    ]) {
      assert.ok(holdsCredentials(source));
      const { accessKey = '', secret = '', session = '', bearer = '' } = source.s3 ?? {};
      const words = [accessKey, secret, session, bearer].filter((word) => word !== '');
      const shown = `${displaySource(source)} ${redactor(source)(words.join(' '))}`;
      for (const word of words) assert.ok(!shown.includes(word), shown);
    }
  });

  for (const [what, answer, message] of [
    ['no JSON', { status: 200, text: '<html>' }, /something else than JSON$/],
    ['no object', { status: 200, text: 'null' }, /something else than JSON$/],
    ['no token', { status: 200, text: '{}' }, /without a token$/],
    ['a token with a line break', { status: 200, text: '{"access_token":"a\\nx-evil: 1"}' }, /without a token$/],
    ['a token without an end', { status: 200, text: '{"access_token":"a"}' }, /until when$/],
    ['too much', { status: 200, text: 'a'.repeat(300_000) }, /too long an answer$/],
    ['a redirect', { status: 302, text: '' }, /answers 302$/],
    ['a reason with a secret', { status: 400, text: '{"error":"not for eyJhbGciOi.x y"}' }, /answers 400$/],
  ] as const)
    it(`is refused by an answer with ${what}`, async () => {
      service.granting.answer = answer;
      const one = credential('gs', 'gs', { provider: '//iam.googleapis.com/p' });
      await assert.rejects(resolved('gs://media/a.mp4', one), (error: unknown) => {
        assert.ok(error instanceof Refusal);
        assert.match(error.message, message);
        return error.status === 500;
      });
    });

  it("is asked for from a service with a certificate of the operator's own authority, also by a tunnel", async () => {
    const tls = await makeCertificate({ ip: ['127.0.0.1'], dns: ['sts.test'] });
    const secure = await startReceiver(tls);
    const seen: (string | undefined)[] = [];
    const proxy = createServer().on('connect', ({ url }, socket) => {
      seen.push(url);
      const through = connect(secure.port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        through.pipe(socket).pipe(through);
      });
      for (const [end, other] of [[socket, through] as const, [through, socket] as const])
        end.on('error', () => other.destroy());
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const context = trustedContext(tls.cert);
    const route = egressRoute({ url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` });
    try {
      const asked = { url: secure.url, form: {} };
      await assert.rejects(postBy(undefined)(asked), /cannot be reached/);
      assert.equal((await postBy(undefined, context)(asked)).status, 204);
      await assert.rejects(postBy(route)({ ...asked, url: 'https://sts.test/' }), /cannot be reached/);
      assert.equal((await postBy(route, context)({ ...asked, url: 'https://sts.test/' })).status, 204);
      assert.deepEqual(seen, ['sts.test:443', 'sts.test:443']);
    } finally {
      proxy.close();
      await secure.close();
    }
  });

  it('is asked for through the egress proxy', async () => {
    // Nothing listens there: that it fails shows that the proxy is tried.
    const route = egressRoute({ url: 'http://127.0.0.1:9' });
    const away = keeping([s3()], postBy(route));
    await until('it was refused', () => refusals.length > 0);
    assert.throws(() => away.secretOf(s3()), /cannot be reached$/);
    const direct = keeping([s3()], postBy(egressRoute({ url: 'http://127.0.0.1:9', noProxy: ['127.0.0.1'] })));
    await until('it was granted', () => isGranted(direct, s3()));
    assert.match(direct.secretOf(s3())['accessKey'] ?? '', /^KEYgranted/);
  });
});
