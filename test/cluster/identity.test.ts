/** A credential that is the controllers' identity: the token that Kubernetes gives them opens an object of a bucket. */
import assert from 'node:assert/strict';
import type { JSONWebKeySet } from 'jose';
import { PODS } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { ROLE, startTokenService, type TokenService } from '../identity/token_service.ts';
import { unlessLong } from '../long.ts';
import { serveFile, startOrigin, type Origin } from '../node/origin.ts';
import { NAMESPACE, RUNNERS, cluster, eventually, fixtures, type Cluster } from './fixture.ts';
import { openRelease, type Release } from './helm.ts';

describe('the identity of the controllers', function () {
  this.timeout(420_000);
  let c: Cluster;
  let release: Release;
  let service: TokenService;
  let store: Origin;
  let token: string;
  const sessions: string[] = [];
  let changed = false;

  before(async function () {
    unlessLong(this);
    c = await cluster();
    const account = (
      await c.kubectl(
        'get',
        'deployment/probeyard-controller',
        `--namespace=${NAMESPACE}`,
        '--output=jsonpath={.spec.template.spec.serviceAccountName}',
      )
    ).trim();
    const keys = JSON.parse(await c.kubectl('get', '--raw', '/openid/v1/jwks')) as JSONWebKeySet;
    service = await startTokenService({
      keys,
      subject: `system:serviceaccount:${NAMESPACE}:${account}`,
      host: c.hostIp,
    });
    store = await startOrigin(c.hostIp, async (request, response) => {
      const session = String(request.headers['x-amz-security-token']);
      sessions.push(`${request.url} ${session}`);
      if (!request.url?.startsWith('/media/') || !session.startsWith('session-'))
        return void response.writeHead(403).end();
      await serveFile(fixtures, request, response);
    });
    release = await openRelease(c.kubeconfig);
    changed = true;
    const one = 'sources.credentials[0]';
    await release.upgrade(
      `${one}.name=cloud`,
      `${one}.kind=s3`,
      `${one}.identity.role=${ROLE}`,
      `${one}.identity.endpoint=${service.url}`,
      `${one}.accounts[0]=*`,
      `${one}.buckets[0]=media`,
      `sources.s3.endpoint=${store.url}`,
    );
    await eventually('every runner has the endpoint', 120, async () => {
      const { items } = await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.component}=runner` });
      return items.length > 0 && items.every(({ spec }) => JSON.stringify(spec).includes(store.url));
    });
    ({ token } = await c.newToken());
  });
  after(async () => {
    if (changed) await release.upgrade();
    await release?.close();
    await store?.close();
    await service?.close();
    await c?.close();
  });

  it('opens an object of its bucket, by one grant for all requests', async () => {
    for (let request = 0; request < 3; request++) {
      const { status, text } = await c.probe(
        { url: 's3://media/tiny.mp4', credential: 'cloud', only: 'ffprobe' },
        { token },
      );
      assert.equal(status, 200, text);
      assert.match(text, /"format_name":\s*"mov,mp4/);
      assert.doesNotMatch(text, /session-word|secret\/word|KEYword/);
    }
    assert.ok(sessions.length > 0);
    assert.deepEqual([...new Set(service.asked)], [`s3 ${ROLE}`]);
    // Each replica of the controller has its own, and one of them leads.
    assert.ok(service.asked.length <= 2, `${service.asked.length} grants`);
  });

  it('is of no use for another bucket, nor without its name', async () => {
    const other = await c.probe({ url: 's3://other/tiny.mp4', credential: 'cloud', only: 'ffprobe' }, { token });
    assert.equal(other.status, 403, other.text);
    const without = await c.probe({ url: 's3://media/tiny.mp4', only: 'ffprobe' }, { token });
    assert.notEqual(without.status, 200);
    assert.ok(sessions.some((session) => session === '/media/tiny.mp4 undefined'));
  });

  it('is in no log and no resource', async () => {
    const said = [
      await c.kubectl('-n', NAMESPACE, 'logs', '-l', 'app.kubernetes.io/component=controller', '--tail=-1'),
      await c.kubectl('-n', NAMESPACE, 'get', 'pj,events', '-o', 'yaml'),
    ].join('\n');
    assert.doesNotMatch(said, /session-word|secret\/word|KEYword/);
  });
});
