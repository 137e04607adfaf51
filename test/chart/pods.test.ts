import assert from 'node:assert/strict';
import { BACKUPS, EVERYTHING, OTHERS_CRDS, SAMPLES } from './everything.ts';
import { container, containersOf, only, podsOf, render } from './render.ts';

interface Apart {
  topologyKey: string;
  matchLabelKeys: string[];
}
interface Spread {
  topologySpreadConstraints: Apart[];
  affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: { podAffinityTerm: Apart }[] } };
}

describe('chart: pods', function () {
  this.timeout(60_000);
  const renderings = {
    'by default': {},
    'with everything on': { ...EVERYTHING, ...OTHERS_CRDS },
    'with backups': BACKUPS,
    'with samples': SAMPLES,
  };
  /** Without the hash of what the job is. */
  const unhashed = (owner: string) => owner.replace(/-[0-9a-f]{8}$/, '');
  const pod = (owner: string, values: object) => podsOf(render(values)).find((one) => unhashed(one.owner) === owner)!;

  const PODS = {
    'CronJob/probeyard-renewal': 'calls the API server',
    'CronJob/probeyard-rotation': 'calls the API server',
    'Deployment/probeyard-api': 'calls the API server',
    'Deployment/probeyard-controller': 'calls the API server',
    'Job/probeyard-migrate': 'holds no token',
    'Job/probeyard-setup': 'calls the API server',
    'Pod/probeyard-test-api': 'holds no token',
    'Pod/probeyard-test-image-volume': 'holds no token',
    'Pod/probeyard-test-network': 'holds no token',
    'StatefulSet/probeyard-nats': 'holds no token',
    'StatefulSet/probeyard-postgres': 'holds no token',
  } as const;
  const WITH_BACKUPS = {
    ...PODS,
    'CronJob/probeyard-backup': 'holds no token',
    'CronJob/probeyard-erasures': 'holds no token',
    'Job/probeyard-restore': 'holds no token',
    'Job/probeyard-backup-check': 'holds no token',
  } as const;

  const WITH_SAMPLES = {
    ...PODS,
    'Deployment/probeyard-samples': 'holds no token',
    'Pod/probeyard-test-sample': 'holds no token',
  } as const;
  const OTHERS = new Map<object, Record<string, string>>([
    [BACKUPS, WITH_BACKUPS],
    [SAMPLES, WITH_SAMPLES],
  ]);

  // The old pods count otherwise: with two nodes, both new ones go where fewer of the old ones are.
  it('new pods of a rollout are spread among themselves', () => {
    for (const owner of ['Deployment/probeyard-api', 'Deployment/probeyard-controller']) {
      const { topologySpreadConstraints: zones, affinity } = pod(owner, {}).spec as unknown as Spread;
      const nodes = affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution;
      // One constraint alone: with a second one, nodes without a zone would be in neither.
      assert.deepEqual(
        [...zones, ...nodes.map(({ podAffinityTerm }) => podAffinityTerm)].map((one) => [
          one.topologyKey,
          one.matchLabelKeys,
        ]),
        [
          ['topology.kubernetes.io/zone', ['pod-template-hash']],
          ['kubernetes.io/hostname', ['pod-template-hash']],
        ],
        owner,
      );
    }
  });

  it('a given affinity is kept, and given constraints replace all of it', () => {
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } };
    const given = { affinity: { nodeAffinity } };
    const { affinity } = pod('Deployment/probeyard-api', { api: given }).spec as unknown as Spread;
    assert.deepEqual(Object.keys(affinity), ['nodeAffinity', 'podAntiAffinity']);
    const topologySpreadConstraints = [{ maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }];
    const { spec } = pod('Deployment/probeyard-api', { api: { ...given, topologySpreadConstraints } });
    assert.deepEqual(
      [spec['affinity'], spec['topologySpreadConstraints']],
      [given.affinity, topologySpreadConstraints],
    );
  });

  for (const [title, values] of Object.entries(renderings)) {
    const pods = OTHERS.get(values) ?? PODS;
    it(`are exactly the listed ones, ${title}`, () => {
      assert.deepEqual(
        podsOf(render(values))
          .map(({ owner }) => unhashed(owner))
          .sort(),
        Object.keys(pods).sort(),
      );
    });

    for (const [owner, token] of Object.entries(pods)) {
      it(`${owner} meets Pod Security "restricted" with a read-only root, ${title}`, () => {
        const one = pod(owner, values);
        const { securityContext, volumes = [] } = one.spec as unknown as {
          securityContext: Record<string, unknown>;
          volumes?: Record<string, unknown>[];
        };
        assert.deepEqual(
          {
            user: securityContext['runAsUser'],
            nonRoot: securityContext['runAsNonRoot'],
            seccomp: securityContext['seccompProfile'],
          },
          { user: 65532, nonRoot: true, seccomp: { type: 'RuntimeDefault' } },
        );
        for (const member of ['hostNetwork', 'hostPID', 'hostIPC']) assert.equal(one.spec[member], undefined);
        for (const volume of volumes) assert.equal(volume['hostPath'], undefined);
        for (const { name, securityContext: held, resources } of containersOf(one)) {
          assert.deepEqual(held, {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            runAsNonRoot: true,
            capabilities: { drop: ['ALL'] },
          });
          assert.ok(
            resources.requests.cpu && resources.requests.memory && resources.limits.memory,
            `${name} has no resources`,
          );
        }
      });

      it(`${owner} ${token}, ${title}`, () => {
        assert.equal(pod(owner, values).spec['automountServiceAccountToken'], token === 'calls the API server');
      });

      it(`${owner} mounts exactly the volumes that it declares, ${title}`, () => {
        const one = pod(owner, values);
        const named = ((one.spec['volumes'] as { name: string }[] | undefined) ?? []).map(({ name }) => name);
        const claims = (render(values).find(({ kind, metadata }) => unhashed(`${kind}/${metadata.name}`) === owner)?.[
          'spec'
        ]?.volumeClaimTemplates ?? []) as { metadata: { name: string } }[];
        const mounted = new Set(
          containersOf(one).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)),
        );
        assert.deepEqual([...mounted].sort(), [...named, ...claims.map(({ metadata }) => metadata.name)].sort());
      });
    }
  }

  it('of a default installation request less than one core', () => {
    const milli = (cpu: string) => (cpu.endsWith('m') ? Number(cpu.slice(0, -1)) : Number(cpu) * 1000);
    const total = podsOf(render())
      .map(
        ({ owner, spec }) =>
          (spec['containers'] as { resources: { requests: { cpu: string } } }[]).reduce(
            (sum, { resources }) => sum + milli(resources.requests.cpu),
            0,
          ) * (owner.startsWith('Deployment') ? 2 : 1),
      )
      .reduce((sum, cpu) => sum + cpu, 0);
    assert.ok(total < 1000, `${total}m`);
  });

  it('of servers have probes', () => {
    for (const name of ['api', 'controller', 'nats', 'postgres']) {
      const one = container(render(), name) as unknown as {
        ports: { name: string }[];
        startupProbe: Probe;
        readinessProbe: Probe;
      };
      interface Probe {
        httpGet?: { port: string };
        tcpSocket?: { port: string };
      }
      for (const probe of [one.startupProbe, one.readinessProbe])
        assert.ok(
          one.ports.some(({ name: port }) => port === (probe.httpGet ?? probe.tcpSocket)?.port),
          name,
        );
    }
  });

  it('of API and controller are asked for their life at a port of a thread, as often as set', () => {
    const readinessProbe = { periodSeconds: 7, timeoutSeconds: 8, failureThreshold: 9 };
    const livenessProbe = { periodSeconds: 17, timeoutSeconds: 18, failureThreshold: 19 };
    for (const name of ['api', 'controller']) {
      const one = container(render({ [name]: { readinessProbe, livenessProbe } }), name) as unknown as object;
      const { readinessProbe: ready, livenessProbe: live } = one as Record<string, object>;
      assert.deepEqual(ready, { httpGet: { path: '/readyz', port: 'metrics' }, ...readinessProbe }, name);
      assert.deepEqual(live, { httpGet: { path: '/healthz', port: 'liveness' }, ...livenessProbe }, name);
    }
  });

  it('of the API have time to drain, with a longer grace period', () => {
    const spec = only(render({ api: { drainSeconds: 660 } }), 'Deployment', 'probeyard-api')['spec'].template.spec;
    assert.equal(spec.terminationGracePeriodSeconds, 675);
    assert.equal(spec.containers[0].env.find(({ name }: { name: string }) => name === 'PY_DRAIN_MS').value, '660000');
  });

  it('of NATS restart with a new product version, whose permissions they need, and those of PostgreSQL do not', () => {
    const template = (name: string, tag: string) =>
      only(render({ image: { tag } }), 'StatefulSet', name)['spec'].template as unknown;
    assert.deepEqual(template('probeyard-postgres', 'one'), template('probeyard-postgres', 'two'));
    assert.notDeepEqual(template('probeyard-nats', 'one'), template('probeyard-nats', 'two'));
    for (const { owner, labels } of podsOf(render()).filter(({ owner: name }) => name.startsWith('StatefulSet')))
      assert.equal(labels['app.kubernetes.io/version'], undefined, owner);
  });

  it('have no fixed number of replicas if an autoscaler owns it', () => {
    assert.equal('replicas' in only(render({ api: { replicas: null } }), 'Deployment', 'probeyard-api')['spec'], false);
  });

  it('run on the given architecture, including runners', () => {
    const objects = render(renderings['with everything on']);
    for (const { owner, spec } of podsOf(objects))
      assert.equal(spec['nodeSelector']['kubernetes.io/arch'], 'amd64', owner);
    const defaults = container(objects, 'controller').env?.find(({ name }) => name === 'PY_POD_DEFAULTS')?.value;
    assert.deepEqual(JSON.parse(defaults!), {
      nodeSelector: { pool: 'media', 'kubernetes.io/arch': 'amd64' },
      tolerations: [{ key: 'media', operator: 'Exists' }],
      labels: { x: 'z' },
      annotations: { g: 'h' },
      priorityClassName: 'low',
    });
  });

  it('mount only the secrets of their role', () => {
    const sources = (name: string) => {
      const mounted = new Set(container(render(), name).volumeMounts?.map((mount) => mount.name));
      const deployment = only(render(), 'Deployment', `probeyard-${name}`);
      return (
        deployment['spec'].template.spec.volumes as {
          name: string;
          projected?: { sources: { secret?: { name: string; items: { key: string }[] } }[] };
        }[]
      )
        .filter((volume) => mounted.has(volume.name))
        .flatMap(({ projected }) => projected?.sources ?? [])
        .flatMap(({ secret }) => (secret ? secret.items.map(({ key }) => `${secret.name}/${key}`) : []))
        .sort();
    };
    assert.deepEqual(sources('api'), [
      'probeyard-box/box.jwks',
      'probeyard-nats-auth/api.nk',
      'probeyard-nats-tls/ca.crt',
      'probeyard-postgres-api/direct-url',
      'probeyard-postgres-api/other-password',
      'probeyard-postgres-api/url',
      'probeyard-seal-public/public.jwks',
    ]);
    assert.deepEqual(sources('controller'), [
      'probeyard-nats-auth/controller.nk',
      'probeyard-nats-auth/issuer.nk',
      'probeyard-nats-tls/ca.crt',
      'probeyard-nats-tls/rotation',
      'probeyard-postgres-controller/direct-url',
      'probeyard-postgres-controller/other-password',
      'probeyard-postgres-controller/url',
      'probeyard-seal-private/private.jwks',
    ]);
    for (const name of ['api', 'controller'])
      assert.doesNotMatch(
        JSON.stringify(only(render(), 'Deployment', `probeyard-${name}`)),
        /probeyard-admin|"probeyard-postgres"/,
        "the first administrator and the owner of the tables are the migration's alone",
      );
  });
});
