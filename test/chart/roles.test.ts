import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { EVERYTHING } from './everything.ts';
import { isHook, render, type Rendered } from './render.ts';

interface Rule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

/** `resource[names]: verbs`, one line each. */
const lines = (role: Rendered): string[] =>
  (role['rules'] as Rule[]).flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.map((resource) => {
        const names = resourceNames ? ` [${resourceNames.join(' ')}]` : '';
        return `${resource}${group ? `.${group}` : ''}${names}: ${verbs.join(' ')}`;
      }),
    ),
  );

const rolesOf = (objects: Rendered[]) =>
  Object.fromEntries(
    objects
      .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')
      .map((role) => [
        `${role.metadata.namespace ?? ''}${role.metadata.namespace ? '/' : ''}${role.kind}/${role.metadata.name}`,
        lines(role),
      ]),
  );

/** The verbs that a call of our client needs. */
const VERBS: Record<string, string[]> = {
  get: ['get'],
  list: ['list'],
  listAll: ['list'],
  create: ['create'],
  replace: ['update'],
  mergePatch: ['patch'],
  delete: ['delete'],
  deleteAll: ['deletecollection'],
  apply: ['create', 'patch'],
  logs: ['get'],
  mergePatchStatus: ['patch'],
};

function callsOf(role: string): Set<string> {
  const text = globSync(`src/service/${role}/**/*.ts`, { cwd: new URL('../../', import.meta.url).pathname })
    .map((file) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'))
    .join('\n');
  const resourceOf = (type: string) => type.toLowerCase().replaceAll('_', '');
  const calls = new Set<string>();
  for (const [, call, type] of text.matchAll(/\bkube\.(\w+)(?:<[^>]*>)?\(\(?([A-Z_]+)?/g)) {
    const resource =
      call === 'logs'
        ? 'pods/log'
        : `${resourceOf(type ?? '')}${call === 'mergePatchStatus' && type !== 'PROBE_JOBS' ? '/status' : ''}`;
    if (call === 'logs' || type)
      for (const verb of VERBS[call!] ?? [`unknown call ${call}`]) calls.add(`${verb} ${resource}`);
  }
  for (const [, type] of text.matchAll(/\bfound\(kube, ([A-Z_]+)/g)) calls.add(`get ${resourceOf(type!)}`);
  // Of a kind that followed_objects.ts follows.
  for (const [, type] of text.matchAll(/readonly type = (PROBE_[A-Z]+);/g))
    for (const call of ['get ', 'list ', 'watch ', 'patch /status']) {
      const [verb, part] = call.split(' ');
      calls.add(`${verb} ${resourceOf(type!)}${part}`);
    }
  for (const [, type] of text.matchAll(/startReflector(?:<\w+>)?\(\{\s*client: \w+, type: ([A-Z_]+)/g))
    for (const verb of ['list', 'watch']) calls.add(`${verb} ${resourceOf(type!)}`);
  return calls;
}

const BATCHES = [
  'probebatches.probeyard.dev: get list watch delete',
  'probesources.probeyard.dev: get list watch',
  'probebatches/status.probeyard.dev: patch',
  'probesources/status.probeyard.dev: patch',
];
const SUBMITTER = [
  'probejobs.probeyard.dev: create get list watch delete',
  'probebatches.probeyard.dev: create get list watch update patch delete',
  'probesources.probeyard.dev: create get list watch update patch delete',
];
const EXPECTED = {
  'Role/probeyard-api': [
    'probejobs.probeyard.dev: create get list delete',
    'probetools.probeyard.dev: get list watch',
    ...BATCHES,
  ],
  'Role/probeyard-controller': [
    'probejobs.probeyard.dev: get list watch create patch deletecollection',
    'probetools.probeyard.dev: get list watch create patch delete',
    'probepools.probeyard.dev: get list watch create patch delete',
    'probepolicies.probeyard.dev: get list watch create patch delete',
    'probetools/status.probeyard.dev: patch',
    'probepools/status.probeyard.dev: patch',
    'probepolicies/status.probeyard.dev: patch',
    'leases.coordination.k8s.io: create',
    'leases.coordination.k8s.io [probeyard-controller]: get list watch patch',
    'events: create patch',
    'configmaps [probeyard-catalog probeyard-pools probeyard-policies]: get',
  ],
  'probeyard-runners/Role/probeyard-controller': [
    'pods: get list watch create patch delete',
    'events: list',
    'pods/log: get',
    'configmaps: create',
    'configmaps [probeyard-ca]: get update patch',
    'configmaps [probeyard-runners]: get',
  ],
  'Role/probeyard-setup': [
    'secrets: create',
    'secrets [probeyard-admin probeyard-box probeyard-nats-auth probeyard-nats-tls probeyard-postgres ' +
      'probeyard-postgres-api probeyard-postgres-controller probeyard-seal-private probeyard-seal-public]: get ' +
      'patch',
    'persistentvolumeclaims [data-probeyard-postgres-0]: get',
  ],
  'Role/probeyard-renewal': ['secrets [probeyard-nats-tls]: get patch'],
  'Role/probeyard-rotation': [
    'secrets [probeyard-box probeyard-nats-tls probeyard-postgres probeyard-postgres-api ' +
      'probeyard-postgres-controller probeyard-seal-private probeyard-seal-public]: get patch',
  ],
  'ClusterRole/probeyard-operator': [
    'probetools.probeyard.dev: get create update patch delete',
    'probepools.probeyard.dev: get create update patch delete',
    'probepools/scale.probeyard.dev: get create update patch delete',
    'probepolicies.probeyard.dev: get create update patch delete',
  ],
  'Role/probeyard-submitter': SUBMITTER,
  'Role/probeyard-served': [
    'probejobs',
    'probebatches',
    'probesources',
    'probetools',
    'probepools',
    'probepolicies',
  ].map((resource) => `${resource}.probeyard.dev: serve`),
};
const AGGREGATED = {
  'ClusterRole/probeyard-view': [
    'probejobs.probeyard.dev: get list watch',
    'probebatches.probeyard.dev: get list watch',
    'probesources.probeyard.dev: get list watch',
    'probetools.probeyard.dev: get list watch',
    'probepools.probeyard.dev: get list watch',
    'probepolicies.probeyard.dev: get list watch',
  ],
  'ClusterRole/probeyard-edit': [
    'probejobs.probeyard.dev: create delete',
    'probebatches.probeyard.dev: create update patch delete',
    'probesources.probeyard.dev: create update patch delete',
  ],
};
const TENANTS = { tenants: { namespaces: [{ name: 'team-a', account: 7 }] } };
const WITH_TENANTS = {
  'ClusterRole/probeyard-tenants': [
    'probejobs.probeyard.dev: get list watch patch deletecollection',
    'events: create patch',
  ],
  'ClusterRole/probeyard-tenant-batches': BATCHES,
  'ClusterRole/probeyard-submitter': SUBMITTER,
  'ClusterRole/probeyard-served': ['probejobs', 'probebatches', 'probesources'].map(
    (resource) => `${resource}.probeyard.dev: serve`,
  ),
};

describe('chart: roles', function () {
  this.timeout(60_000);

  it('grant exactly the expected rights', () => {
    assert.deepEqual(rolesOf(render()), EXPECTED);
    assert.deepEqual(rolesOf(render({ rbac: { aggregate: true } })), { ...EXPECTED, ...AGGREGATED });
    assert.deepEqual(rolesOf(render(TENANTS)), { ...EXPECTED, ...WITH_TENANTS });
  });

  it('let the API make the Workloads of Kueue only where ProbeBatches may be in its queues', () => {
    const workloads = [
      'workloads.kueue.x-k8s.io: create list watch patch delete',
      'workloads/status.kueue.x-k8s.io: patch',
    ];
    assert.deepEqual(rolesOf(render({ batches: { kueue: true }, ...TENANTS })), {
      ...EXPECTED,
      ...WITH_TENANTS,
      'Role/probeyard-api': [...EXPECTED['Role/probeyard-api'], ...workloads, 'probepools.probeyard.dev: list'],
      'ClusterRole/probeyard-tenant-batches': [...BATCHES, ...workloads],
      'ClusterRole/probeyard-kueue': ['workloadpriorityclasses.kueue.x-k8s.io: get'],
    });
  });

  for (const role of ['api', 'controller', 'setup'] as const) {
    it(`grant every call in the sources of the ${role}`, () => {
      const calls = callsOf(role);
      assert.ok(calls.size >= 3, [...calls].join(', '));
      const allowed = new Set(
        [
          `Role/probeyard-${role}`,
          `probeyard-runners/Role/probeyard-${role}`,
          ...(role === 'api' ? ['ClusterRole/probeyard-kueue'] : []),
        ].flatMap((name) =>
          (rolesOf(render({ jobs: { secretRefs: { enabled: true } }, batches: { kueue: true } }))[name] ?? []).flatMap(
            (line) => {
              const [resource, verbs] = line.split(': ') as [string, string];
              return verbs.split(' ').map((verb) => `${verb} ${resource.split(/[. ]/)[0]}`);
            },
          ),
        ),
      );
      assert.deepEqual(
        [...calls].filter((call) => !allowed.has(call)),
        [],
      );
    });
  }

  it('grant the renewal its calls, on one Secret', () => {
    const text = readFileSync(new URL('../../src/service/setup/renew.ts', import.meta.url), 'utf8');
    const calls = [...text.matchAll(/\bkube\.(get|list|create|mergePatch|delete|apply)\b/g)].flatMap(
      ([, call]) => VERBS[call ?? ''] ?? [],
    );
    assert.deepEqual(calls.toSorted(), ['get', 'patch']);
    assert.deepEqual(
      rolesOf(render({ nats: { external: { url: 'tls://nats:4222' } } }))['Role/probeyard-renewal'],
      undefined,
    );
  });

  it('let the controller read Secrets only if jobs may name them', () => {
    const allowed = rolesOf(render({ jobs: { secretRefs: { enabled: true } } }))['Role/probeyard-controller'];
    assert.deepEqual(allowed, [...EXPECTED['Role/probeyard-controller'], 'secrets: get']);
  });

  it('are bound to accounts of this release, and to no runner', () => {
    const objects = render(EVERYTHING);
    const accounts = new Set(
      objects
        .filter(({ kind }) => kind === 'ServiceAccount')
        .map(({ metadata }) => `${metadata.namespace ?? 'probeyard'}/${metadata.name}`),
    );
    assert.deepEqual([...accounts].sort(), [
      'probeyard-runners/probeyard-runner',
      'probeyard-runners/probeyard-verify',
      'probeyard/probeyard-api',
      'probeyard/probeyard-controller',
      'probeyard/probeyard-renewal',
      'probeyard/probeyard-rotation',
      'probeyard/probeyard-setup',
    ]);
    for (const binding of objects.filter(({ kind }) => kind.endsWith('RoleBinding'))) {
      for (const { kind, namespace, name } of binding['subjects'] as {
        kind: string;
        namespace: string;
        name: string;
      }[]) {
        if (kind === 'Group') {
          assert.equal(binding.metadata.name, 'probeyard-served');
          const served = binding.kind === 'RoleBinding' ? 'probeyard' : 'team-a';
          assert.equal(name, `system:serviceaccounts:${served}`);
          continue;
        }
        assert.ok(accounts.has(`${namespace}/${name}`), `${namespace}/${name}`);
        assert.equal(namespace, 'probeyard');
      }
    }
  });

  it('let submitters create ProbeJobs, and are bound to nobody else', () => {
    const bindings = (values: object) =>
      render(values).filter(({ kind, metadata }) => kind === 'RoleBinding' && metadata.name === 'probeyard-submitter');
    assert.deepEqual(bindings({}), []);
    const submitters = [
      { kind: 'Group', name: 'media' },
      { kind: 'ServiceAccount', name: 'ci' },
      { kind: 'ServiceAccount', name: 'ci', namespace: 'builds' },
    ];
    assert.deepEqual(bindings({ rbac: { submitters } })[0]?.['subjects'], [
      { kind: 'Group', name: 'media', apiGroup: 'rbac.authorization.k8s.io' },
      { kind: 'ServiceAccount', name: 'ci', namespace: 'probeyard' },
      { kind: 'ServiceAccount', name: 'ci', namespace: 'builds' },
    ]);
  });

  it("for tools and pools are not part of the cluster's own roles", () => {
    const joined = render({ rbac: { aggregate: true } })
      .filter(({ kind }) => kind === 'ClusterRole')
      .map(({ metadata }) => [
        metadata.name,
        ...Object.keys(metadata.labels ?? {}).filter((label) => label.includes('aggregate-to-')),
      ]);
    assert.deepEqual(joined.sort(), [
      ['probeyard-edit', 'rbac.authorization.k8s.io/aggregate-to-edit'],
      ['probeyard-operator'],
      ['probeyard-view', 'rbac.authorization.k8s.io/aggregate-to-view'],
    ]);
  });

  it('are omitted if the operator creates them', () => {
    assert.deepEqual(
      render({ rbac: { create: false }, ...TENANTS }).filter(({ kind }) => kind.includes('Role')),
      [],
    );
  });

  it('of the setup are deleted with it', () => {
    for (const object of render().filter(({ metadata }) => metadata.name === 'probeyard-setup')) {
      assert.ok(isHook(object));
      assert.equal(object.metadata.annotations?.['helm.sh/hook-delete-policy'], 'before-hook-creation,hook-succeeded');
    }
    const weights = render()
      .filter(({ metadata }) => metadata.name === 'probeyard-setup')
      .sort(
        (a, b) =>
          Number(a.metadata.annotations?.['helm.sh/hook-weight']) -
          Number(b.metadata.annotations?.['helm.sh/hook-weight']),
      );
    assert.equal(weights.at(-1)?.kind, 'Job');
  });
});
