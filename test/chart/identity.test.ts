/** Credentials that are an identity of the controllers: a token for each, and the way to the token services. */
import assert from 'node:assert/strict';
import { container, only, podsOf, refusal, render, type Rendered } from './render.ts';

const role = 'arn:aws:iam::123456789012:role/probeyard';
const provider = '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/a/providers/b';
const rest = { accounts: [1], buckets: ['films'] };
const of = (...credentials: object[]) => ({ sources: { credentials }, networkPolicy: { enabled: true } });

interface Token {
  path: string;
  audience: string;
}
function tokensOf(objects: Rendered[]): Token[] {
  const pod = podsOf(objects).find(({ owner }) => /Deployment.*controller/.test(owner)) ?? assert.fail('no controller');
  const volumes = (pod.spec['volumes'] ?? []) as { name: string; projected?: { sources: object[] } }[];
  const sources = volumes.find(({ name }) => name === 'identity')?.projected?.sources ?? [];
  return (sources as { serviceAccountToken: Token }[]).map(({ serviceAccountToken: { path, audience } }) => ({
    path,
    audience,
  }));
}
const egressOf = (objects: Rendered[]): string =>
  JSON.stringify((only(objects, 'NetworkPolicy', 'probeyard-controller')['spec'] as { egress: object[] }).egress);

describe('chart: identities in place of Secrets', function () {
  this.timeout(60_000);

  it('each has a token of the controllers, for the audience of its cloud or the one given', () => {
    const objects = render(
      of(
        { name: 'amazon', kind: 's3', identity: { role }, ...rest },
        { name: 'google', kind: 'gs', identity: { provider }, ...rest },
        { name: 'azure', kind: 'az', identity: { tenant: 't', client: 'c' }, ...rest },
        { name: 'own', kind: 's3', identity: { role, audience: 'minio', endpoint: 'https://minio.test' }, ...rest },
        { name: 'keys', kind: 's3', secret: 'keys', ...rest },
      ),
    );
    assert.deepEqual(tokensOf(objects), [
      { path: 'amazon/token', audience: 'sts.amazonaws.com' },
      { path: 'google/token', audience: `https:${provider}` },
      { path: 'azure/token', audience: 'api://AzureADTokenExchange' },
      { path: 'own/token', audience: 'minio' },
    ]);
    const mount = container(objects, 'controller').volumeMounts?.find(({ name }) => name === 'identity');
    assert.equal(mount?.mountPath, '/var/run/secrets/probeyard.dev/identity');
    assert.match(egressOf(objects), /100\.64\.0\.0\/10/);
  });

  it('without one there is neither a token nor a way out', () => {
    const objects = render(of({ name: 'keys', kind: 's3', secret: 'keys', ...rest }));
    assert.deepEqual(tokensOf(objects), []);
    assert.doesNotMatch(egressOf(objects), /100\.64\.0\.0\/10/);
  });

  for (const [what, credential] of [
    ['neither Secret nor identity', { kind: 's3' }],
    ['both', { kind: 's3', secret: 'keys', identity: { role } }],
    ['an identity of another cloud', { kind: 'az', identity: { role } }],
    ['a role that is none', { kind: 's3', identity: { role: 'probeyard' } }],
    ['a provider without its place', { kind: 'gs', identity: { provider: 'pool' } }],
    ['an endpoint with a password', { kind: 's3', identity: { role, endpoint: 'https://a:b@sts.test' } }],
    ['a tenant with a path', { kind: 'az', identity: { tenant: 'a/../b', client: 'c' } }],
  ] as const)
    it(`one with ${what} is refused`, () => {
      assert.match(refusal(of({ name: 'one', ...credential, ...rest })), /sources\/credentials\/0/);
    });
});
