import assert from 'node:assert/strict';
import { container, environmentOf, refusal, render } from './render.ts';

const ISSUER = { name: 'corp', issuer: 'https://id.example', clientId: 'probeyard', groups: { staff: 'user' } };
const PUBLIC = { publicUrl: 'https://probe.example' };

describe('chart: refused values and clusters', function () {
  this.timeout(60_000);

  for (const [title, values, message] of [
    ['an unknown name', { replicas: 2 }, /'replicas' not allowed/],
    ['an unknown nested name', { api: { service: { prot: 80 } } }, /'prot' not allowed/],
    ['an unknown name of a pool', { pools: { short: { minRedy: 1 } } }, /minRedy/],
    ['a pool that serves nothing', { pools: { other: { minReady: 1 } } }, /serves/],
    [
      'values of an older chart, without limits of an account (helm upgrade --reuse-values)',
      { accounts: { maxSubUsers: null, maxTokens: null } },
      /maxSubUsers(?:.|\n)*maxTokens/,
    ],
    ['an architecture that the tools are not built for', { arch: 's390x' }, /\/arch/],
    [
      'runners on an architecture without any tool',
      { runners: { nodeSelector: { 'kubernetes.io/arch': 's390x' } } },
      /no tool is built for "s390x"/,
    ],
    ['an installation without a controller', { controller: { replicas: 0 } }, /\/controller\/replicas/],
    [
      'a pool that shall keep more ready than it may have',
      { pools: { short: { minReady: 30 } } },
      /pools\.short\.minReady: 30 is above maxPods, 20/,
    ],
    ['a wrong type', { api: { replicas: 'two' } }, /\/api\/replicas/],
    ['an invalid digest', { image: { digest: 'latest' } }, /\/image\/digest/],
    ['an allowed source without an address', { sources: { allow: [{ port: 80 }] } }, /\/sources\/allow\/0/],
    ...['nats://user:password@events.example', 'nats://a.example,nats://b.example', 'ws://events.example'].map(
      (url) =>
        [
          `the address ${url} of an events server`,
          { sources: { events: { nats: { url, subject: 'events' } } } },
          /\/sources\/events\/nats/,
        ] as const,
    ),
    ...['gs', 'az'].map(
      (kind) =>
        [
          `a credential of ${kind} that may write tags`,
          { sources: { credentials: [{ name: 'a', kind, secret: 'a', accounts: ['*'], buckets: ['b'], tags: true }] } },
          new RegExp(`"a": tags: true has no effect with kind ${kind}`),
        ] as const,
    ),
    [
      'an events server without the service of its buckets',
      { sources: { events: { nats: { url: 'nats://events.example', subject: 'events' } } } },
      /needs sources\.s3\.endpoint/,
    ],
    ['an allowed receiver of webhooks without one', { webhooks: { allow: [{ port: 80 }] } }, /\/webhooks\/allow\/0/],
    ['an invalid denied range', { sources: { deny: ['10.0.0.1'] } }, /\/sources\/deny\/0/],
    [
      'an egress proxy with a password in it',
      { sources: { egressProxy: 'http://a:b@proxy:3128' } },
      /\/sources\/egressProxy/,
    ],
    ['a tool without a command', { tools: { catalog: [{ tool: 'ffprobe', version: '9.0' }] } }, /command/],
    ['an unknown delivery', { tools: { delivery: 'copy' } }, /\/tools\/delivery/],
    [
      'runners beside the Secrets',
      { runners: { namespace: 'probeyard' } },
      /runners\.namespace: must differ from the namespace of the release/,
    ],
    ['a tenant without an account', { tenants: { namespaces: [{ name: 'team-a' }] } }, /account/],
    [
      'tenants without the policies that hold them apart',
      { admissionPolicy: { enabled: false }, tenants: { namespaces: [{ name: 'team-a', account: 7 }] } },
      /tenants\.namespaces: requires admissionPolicy\.enabled/,
    ],
    ...['probeyard', 'probeyard-runners', 'team-a'].map((name): [string, object, RegExp] => [
      `a tenant in the namespace ${name}, which is taken`,
      {
        tenants: {
          namespaces: [
            { name: 'team-a', account: 7 },
            { name, account: 8 },
          ],
        },
      },
      new RegExp(`tenants\\.namespaces: "${name}" is the namespace of the release or of its runners, or named twice`),
    ]),
    ['two kinds of CA', { sources: { ca: { pem: 'x', configMap: 'y' } } }, /pem or configMap, not both/],
    [
      'a pull secret that is not JSON',
      { pullSecret: { dockerConfigJson: 'me:secret' } },
      /pullSecret\.dockerConfigJson: not a docker config\.json(?!.*secret)/,
    ],
    [
      'a pull secret without credentials',
      { pullSecret: { dockerConfigJson: '{"credsStore":"desktop"}' } },
      /credsStore/,
    ],
    [
      'an optional tool that the catalog lacks',
      { tools: { include: ['ffprobe-1.0'] } },
      /tools\.include: "ffprobe-1\.0" is not in the chart's catalog; available: /,
    ],
    ['a route without a Gateway', { gateway: { enabled: true } }, /gateway\.parentRefs/],
    ['an Ingress without a host', { ingress: { enabled: true } }, /ingress\.hosts/],
    [
      'an Ingress that hides the addresses of callers',
      { ingress: { enabled: true, hosts: ['a.example'] }, api: { trustedProxies: 0 } },
      /api\.trustedProxies: must be at least 1/,
    ],
    [
      'a Gateway that hides the addresses of callers',
      { gateway: { enabled: true, parentRefs: [{ name: 'g' }] }, api: { trustedProxies: 0 } },
      /api\.trustedProxies: must be at least 1/,
    ],
    [
      'two monitors',
      { metrics: { podMonitor: { enabled: true }, serviceMonitor: { enabled: true } } },
      /enable podMonitor or serviceMonitor, not both/,
    ],
    [
      'issuers without the address that they send people back to',
      { accounts: { oidc: [ISSUER] } },
      /api\.publicUrl: required with accounts\.oidc/,
    ],
    ['no way to sign in', { accounts: { passwords: false } }, /accounts\.passwords: false needs accounts\.oidc/],
    ['two issuers of one name', { api: PUBLIC, accounts: { oidc: [ISSUER, ISSUER] } }, /"corp" has a name or an /],
    [
      'an audience that ID tokens have',
      { api: PUBLIC, accounts: { oidc: [{ ...ISSUER, audience: 'probeyard' }] } },
      /audience must differ from clientId/,
    ],
    ['an issuer without TLS', { accounts: { oidc: [{ ...ISSUER, issuer: 'http://id.example' }] } }, /oidc\/0\/issuer/],
    ['a group that gives an unknown role', { accounts: { oidc: [{ ...ISSUER, groups: { a: 'root' } }] } }, /groups/],
    ['an issuer from which nobody has access', { accounts: { oidc: [{ ...ISSUER, groups: {} }] } }, /groups/],
  ] as const) {
    it(title, () => {
      assert.match(refusal(values), message);
    });
  }

  it('a cluster that is too old', () => {
    assert.match(refusal({}, { kubeVersion: '1.32.9' }), /incompatible with Kubernetes v1\.32\.9/);
  });

  it('image volumes on a cluster that disables them, with the alternative', () => {
    assert.match(
      refusal({}, { kubeVersion: '1.34.2' }),
      /tools\.delivery: .*does not mount images as volumes by default.*use bundled/,
    );
  });

  for (const [title, tools] of [
    ['bundled tools', { delivery: 'bundled' }],
    ['image volumes that the operator forces', { forceImageVolume: true }],
  ] as const) {
    it(`accepts ${title} on the same cluster`, () => {
      assert.ok(render({ tools }, { kubeVersion: '1.34.2' }).length > 20);
    });
  }

  it('accepts a cluster whose version has a vendor suffix', () => {
    assert.ok(render({}, { kubeVersion: '1.35.1-gke.100' }).length > 20);
  });
});

describe('api.trustedProxies', function () {
  this.timeout(60_000);
  const ingress = { enabled: true, hosts: ['a.example'] };
  const gateway = { enabled: true, parentRefs: [{ name: 'g' }] };
  for (const [title, values, hops] of [
    ['is 0 without a proxy in front', {}, '0'],
    ['is 1 behind an Ingress', { ingress }, '1'],
    ['is 1 behind a Gateway', { gateway }, '1'],
    ['is the value that the operator sets, with an Ingress', { ingress, api: { trustedProxies: 3 } }, '3'],
    ['is the value that the operator sets, without an Ingress or Gateway', { api: { trustedProxies: 2 } }, '2'],
  ] as const) {
    it(title, () => assert.equal(environmentOf(container(render(values), 'api'))['PY_TRUSTED_HOPS'], hops));
  }
});
