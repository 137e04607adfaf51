import assert from 'node:assert/strict';
import ipaddr from 'ipaddr.js';
import { only, podsOf, render, type Rendered } from './render.ts';

interface Peer {
  ipBlock?: { cidr: string; except?: string[] };
  podSelector?: Selector;
  namespaceSelector?: Selector;
}
interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: 'In'; values: string[] }[];
}
interface Rule {
  to?: Peer[];
  from?: Peer[];
  ports?: { port: number; protocol?: string }[];
}

const within = (address: string, cidr: string): boolean => {
  const ip = ipaddr.parse(address);
  const [range, bits] = ipaddr.parseCIDR(cidr);
  return ip.kind() === range.kind() && ip.match(range, bits);
};

/** Whether a rule allows egress to this address and port, by ranges alone. */
const reaches = (policy: Rendered, address: string, port: number, protocol = 'TCP'): boolean =>
  (policy['spec'].egress as Rule[]).some(
    ({ to, ports }) =>
      (!ports || ports.some((one) => one.port === port && (one.protocol ?? 'TCP') === protocol)) &&
      (!to ||
        to.some(
          ({ ipBlock }) =>
            ipBlock && within(address, ipBlock.cidr) && !ipBlock.except?.some((range) => within(address, range)),
        )),
  );

const selects = ({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Record<string, string>): boolean =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? ''));

describe('chart: NetworkPolicy of runners', function () {
  this.timeout(60_000);
  const runner = (values: object = {}) =>
    only(render(values), 'NetworkPolicy', 'probeyard-runner', 'probeyard-runners');

  for (const [address, open] of [
    ['93.184.216.34', true],
    ['8.8.8.8', true],
    ['2606:2800:220:1::1', true],
    ['172.32.0.1', true],
    ['100.128.0.1', true],
    ['10.0.0.1', false],
    ['10.96.0.1', false],
    ['172.16.5.4', false],
    ['192.168.1.1', false],
    ['127.0.0.1', false],
    ['169.254.169.254', false],
    ['100.64.0.1', false],
    ['0.0.0.0', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    ['198.18.0.1', false],
    ['::1', false],
    ['fd00:ec2::254', false],
    ['fe80::1', false],
    ['64:ff9b::a00:1', false],
    ['2002:a00:1::1', false],
    ['ff02::1', false],
  ] as const) {
    it(`${open ? 'allows' : 'denies'} ${address}`, () => {
      assert.equal(reaches(runner(), address, 443), open);
    });
  }

  it('allows the listed address, and a listed port', () => {
    const policy = runner({ sources: { allow: [{ cidr: '10.88.0.1/32' }, { cidr: '10.99.0.0/24', port: 8080 }] } });
    assert.equal(reaches(policy, '10.88.0.1', 80), true);
    assert.equal(reaches(policy, '10.88.0.2', 80), false);
    assert.equal(reaches(policy, '10.99.0.7', 8080), true);
    assert.equal(reaches(policy, '10.99.0.7', 8080, 'UDP'), true, 'SRT is UDP');
    assert.equal(reaches(policy, '10.99.0.7', 80), false);
  });

  it('denies a listed range, even a whole address family', () => {
    assert.equal(reaches(runner({ sources: { deny: ['93.184.216.0/24'] } }), '93.184.216.34', 443), false);
    const policy = runner({ sources: { deny: ['::/0'] } });
    assert.equal(reaches(policy, '2606:2800:220:1::1', 443), false);
    assert.equal(reaches(policy, '93.184.216.34', 443), true);
  });

  it('denies all ingress, and egress of any other pod', () => {
    const policies = render().filter(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.namespace === 'probeyard-runners',
    );
    assert.equal(policies.length, 2);
    for (const { spec } of policies as unknown as { spec: { ingress?: unknown } }[])
      assert.equal(spec.ingress, undefined);
    assert.deepEqual(only(policies, 'NetworkPolicy', 'probeyard-nothing')['spec'], {
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    });
    const selector = runner()['spec'].podSelector as Selector;
    assert.ok(selects(selector, { 'app.kubernetes.io/component': 'runner' }));
    assert.ok(!selects(selector, { 'app.kubernetes.io/component': 'verify' }));
  });

  it('is in a namespace that enforces Pod Security "restricted"', () => {
    const labels = only(render(), 'Namespace', 'probeyard-runners').metadata.labels ?? {};
    for (const mode of ['enforce', 'audit', 'warn'])
      assert.equal(labels[`pod-security.kubernetes.io/${mode}`], 'restricted', mode);
  });

  it('lets runners read uploaded files, and nobody else', () => {
    const toApi = (objects: ReturnType<typeof render>) => {
      const api = podsOf(objects).find(({ owner }) => owner === 'Deployment/probeyard-api')!;
      return (only(objects, 'NetworkPolicy', 'probeyard-runner')['spec'].egress as Rule[]).filter(({ to }) =>
        to?.some(({ podSelector }) => podSelector && selects(podSelector, api.labels)),
      );
    };
    assert.deepEqual(
      toApi(render()).map(({ ports }) => ports),
      [[{ protocol: 'TCP', port: 8081 }]],
    );
    const ingress = only(render(), 'NetworkPolicy', 'probeyard-api')['spec'].ingress as {
      ports: { port: number }[];
      from?: { podSelector?: Selector; namespaceSelector?: Selector }[];
    }[];
    const uploads = ingress.filter(({ ports }) => ports.some(({ port }) => port === 8081));
    assert.equal(uploads.length, 1);
    assert.equal(uploads[0]!.from?.length, 1);
    assert.ok(selects(uploads[0]!.from![0]!.podSelector!, { 'app.kubernetes.io/component': 'runner' }));
    assert.deepEqual(toApi(render({ upload: { enabled: false } })), []);
  });

  it('denies the API to runners and to the pod of `helm test` that tries it', () => {
    const objects = render();
    const pods = podsOf(objects);
    const api = pods.find(({ owner }) => owner === 'Deployment/probeyard-api')!;
    const trial = pods.find(({ owner }) => owner === 'Pod/probeyard-test-network')!;
    const policy = only(objects, 'NetworkPolicy', 'probeyard-test-network');
    assert.ok(selects(policy['spec'].podSelector as Selector, trial.labels));
    for (const one of [runner(), policy]) {
      const peers = (one['spec'].egress as Rule[])
        .filter(({ ports }) => !ports?.some(({ port }) => port === 8081))
        .flatMap(({ to }) => to ?? assert.fail('an open rule'))
        .filter(({ podSelector }) => podSelector);
      assert.ok(peers.length >= 1);
      for (const { podSelector } of peers) assert.ok(!selects(podSelector!, api.labels));
    }
  });

  it('is omitted only if disabled in the values', () => {
    assert.deepEqual(
      render({ networkPolicy: { enabled: false } }).filter(({ kind }) => kind === 'NetworkPolicy'),
      [],
    );
  });
});

describe('chart: NetworkPolicies of the servers', function () {
  this.timeout(60_000);
  const labelsOf = (owner: string) =>
    podsOf(render()).find((pod) => pod.owner.replace(/-[0-9a-f]{8}$/, '') === owner)!.labels;

  for (const [server, clients] of [
    ['nats', ['api', 'controller']],
    ['postgres', ['api', 'controller', 'migrate']],
  ] as const) {
    it(`let ${clients.join(' and ')} reach ${server}, on both sides`, () => {
      const { spec } = only(render(), 'NetworkPolicy', `probeyard-${server}`) as unknown as {
        spec: { podSelector: Selector; ingress: Rule[] };
      };
      assert.ok(selects(spec.podSelector, labelsOf(`StatefulSet/probeyard-${server}`)));
      for (const client of clients) {
        const labels = labelsOf(`${client === 'migrate' ? 'Job' : 'Deployment'}/probeyard-${client}`);
        assert.ok(
          spec.ingress[0]!.from!.some(
            ({ podSelector, namespaceSelector }) => !namespaceSelector && selects(podSelector!, labels),
          ),
        );
        const own = only(render(), 'NetworkPolicy', `probeyard-${client}`) as unknown as {
          spec: { podSelector: Selector; egress: Rule[] };
        };
        assert.ok(selects(own.spec.podSelector, labels));
        assert.ok(
          own.spec.egress.some(({ to = [] }) =>
            to.some(
              ({ podSelector }) => podSelector && selects(podSelector, labelsOf(`StatefulSet/probeyard-${server}`)),
            ),
          ),
        );
      }
    });
  }

  it('allow the ports of external servers instead', () => {
    const outside = render({
      nats: { external: { url: 'tls://nats.example:4222' } },
      postgres: { external: { existingSecret: 'pg' } },
    });
    for (const name of ['probeyard-api', 'probeyard-controller']) {
      const policy = only(outside, 'NetworkPolicy', name);
      assert.equal(reaches(policy, '10.1.2.3', 4222), true);
      assert.equal(reaches(policy, '10.1.2.3', 5432), true);
      assert.equal(reaches(policy, '10.1.2.3', 3306), false);
    }
  });
});

describe('chart: access to the API server', function () {
  this.timeout(60_000);
  const POLICIES = ['probeyard-api', 'probeyard-controller', 'probeyard-setup', 'probeyard-renewal'];

  for (const name of POLICIES) {
    it(`${name} reaches any possible address of it, and no cloud metadata service`, () => {
      const policy = only(render(), 'NetworkPolicy', name);
      for (const address of ['10.0.0.1', '192.168.1.2', '172.16.0.2', '34.1.2.3', 'fd12::1', '2a00:1::1'])
        assert.equal(reaches(policy, address, 6443), true, address);
      for (const address of ['169.254.169.254', 'fd00:ec2::254', 'fe80::1', '127.0.0.1', '::1', '224.0.0.1', '0.0.0.0'])
        assert.equal(reaches(policy, address, 443), false, address);
    });

    it(`${name} reaches only the given ranges and ports`, () => {
      const policy = only(
        render({ networkPolicy: { kubeApi: { cidrs: ['10.7.0.0/28'], ports: [6443] } } }),
        'NetworkPolicy',
        name,
      );
      assert.deepEqual(
        [reaches(policy, '10.7.0.2', 6443), reaches(policy, '10.7.0.2', 443), reaches(policy, '10.8.0.2', 6443)],
        [true, false, false],
      );
    });
  }

  it('is allowed to the setup job and the certificate renewal even if the namespace denies all by default', () => {
    const objects = render();
    const order = (kind: string) =>
      Number(only(objects, kind, 'probeyard-setup').metadata.annotations?.['helm.sh/hook-weight']);
    assert.ok(order('NetworkPolicy') < order('Job'));
    for (const [owner, name] of [
      ['Job/probeyard-setup', 'probeyard-setup'],
      ['CronJob/probeyard-renewal', 'probeyard-renewal'],
    ] as const) {
      const pod = podsOf(objects).find((one) => one.owner === owner)!;
      const { spec } = only(objects, 'NetworkPolicy', name) as unknown as {
        spec: { podSelector: Selector; ingress?: Rule[] };
      };
      assert.ok(selects(spec.podSelector, pod.labels), owner);
      assert.equal(spec.ingress, undefined);
    }
  });

  it('is limited by a policy for every pod of the release', () => {
    const objects = render();
    const policies = objects.filter(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.namespace !== 'probeyard-runners',
    );
    const bare = podsOf(objects).filter(
      ({ labels }) => !policies.some((policy) => selects(policy['spec'].podSelector as Selector, labels)),
    );
    // It calls the API as a caller from anywhere would.
    assert.deepEqual(
      bare.map(({ owner }) => owner),
      ['Pod/probeyard-test-api'],
    );
  });
});

describe('chart: metrics', function () {
  this.timeout(60_000);
  const from = (name: string, values: object = {}) =>
    (only(render(values), 'NetworkPolicy', name)['spec'].ingress as Rule[]).find(({ ports }) =>
      ports?.some(({ port }) => port === 9090),
    )?.from;

  for (const name of ['probeyard-api', 'probeyard-controller']) {
    it(`of ${name} are readable from every namespace except the runners'`, () => {
      const others = { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['strangers'] };
      assert.deepEqual(from(name, { runners: { namespace: 'strangers' } }), [
        { namespaceSelector: { matchExpressions: [others] } },
      ]);
    });

    it(`of ${name} are readable by the given peers only`, () => {
      const peers = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }];
      assert.deepEqual(from(name, { networkPolicy: { metricsFrom: peers } }), peers);
    });
  }
});

describe('chart: egress of the API', function () {
  this.timeout(60_000);
  const policy = (values: object = {}) => only(render(values), 'NetworkPolicy', 'probeyard-api');

  for (const [url, port] of [
    ['nats://events.example', 4222],
    ['tls://events.example:4223', 4223],
    ['nats://[fd00::1]:4224', 4224],
  ] as const)
    it(`allows the port of the events server ${url}`, () => {
      const events = (nats: object | null) =>
        policy({ sources: { s3: { endpoint: 'https://minio.example' }, events: { nats } } });
      assert.equal(reaches(events({ url, subject: 'events' }), '10.0.0.1', port), true);
      // An installed NATS is reached by its pods.
      assert.equal(reaches(events(null), '10.0.0.1', port), false);
    });

  for (const [address, open] of [
    ['93.184.216.34', true],
    ['2606:2800:220:1::1', true],
    ['10.0.0.1', false],
    ['169.254.169.254', false],
    ['127.0.0.1', false],
    ['fd00:ec2::254', false],
  ] as const) {
    it(`${open ? 'allows' : 'denies'} a webhook receiver at ${address}`, () =>
      assert.equal(reaches(policy(), address, 8443), open));
  }
  it('allows the one private receiver that is listed', () => {
    const allowed = policy({ webhooks: { allow: [{ cidr: '10.88.0.1/32', port: 8080 }] } });
    assert.deepEqual(
      [reaches(allowed, '10.88.0.1', 8080), reaches(allowed, '10.88.0.1', 80), reaches(allowed, '10.88.0.2', 8080)],
      [true, false, false],
    );
  });
  it('has the origins of runners while results are cached, and that of runners no receivers', () => {
    const place = { allow: [{ cidr: '10.88.0.1/32' }] };
    for (const [name, values, open] of [
      ['probeyard-api', { sources: place, cache: { enabled: false } }, false],
      ['probeyard-api', { sources: place, cache: null }, false],
      // It asks origins whether a file has changed.
      ['probeyard-api', { sources: place }, true],
      ['probeyard-runner', { webhooks: place }, false],
      ['probeyard-runner', { sources: place }, true],
    ] as const)
      assert.equal(reaches(only(render(values), 'NetworkPolicy', name), '10.88.0.1', 80), open, name);
  });
});
