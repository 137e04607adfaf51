import assert from 'node:assert/strict';
import { customResourceDefinition } from '../../charts/crds.ts';
import {
  CRDS,
  isKubeError,
  PROBE_BATCHES,
  PROBE_JOBS,
  PROBE_POLICIES,
  PROBE_POOLS,
  PROBE_SOURCES,
  PROBE_TOOLS,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { DEFINITIONS } from '../../charts/crds.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { testApiServer } from '../kube/apiserver.ts';

type Json = Record<string, unknown>;

const job = (changes: Json = {}): Json => ({
  kind: 'file',
  source: { url: 'https://origin.example/a.mp4' },
  ...changes,
});
const fullJob: Json = {
  kind: 'file',
  source: { display: 'https://origin.example/a.mp4', sealed: 'x'.repeat(24_576) },
  token: { id: 17, user: 3 },
  submittedAt: '2026-11-21T08:00:00.123Z',
  queueTimeoutMs: 60_000,
  timeoutMs: 650_000,
  tools: [
    {
      name: 'ffprobe',
      version: '7.1',
      timeoutMs: 1000,
      options: Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`option_${n}`, 'v'])),
    },
    { name: 'mediainfo', version: 'latest' },
  ],
  report: { enabled: true, diff: true, prefer: 'ffprobe' },
};
const comparison = (...versions: string[]): Json =>
  job({ kind: 'compare', tools: versions.map((version) => ({ name: 'ffprobe', version })) });
const tool = (changes: Json = {}): Json => ({
  tool: 'ffprobe',
  version: '7.1',
  image: 'example/ffprobe:7.1',
  command: ['{root}/bin/ffprobe'],
  ...changes,
});
const pool = (changes: Json = {}): Json => ({ serves: { kinds: ['file', 'c2pa'] }, ...changes });

const source = (request: Json = {}, changes: Json = {}): Json => ({
  request: { bucket: { url: 's3://films/incoming/' }, ...request },
  ...changes,
});
const batch = (request: Json = {}, changes: Json = {}): Json => ({
  request: { items: [{ url: 'https://media.example.org/a.mp4' }], ...request },
  ...changes,
});

const expression = { key: 'example.com/gpu', operator: 'NotIn', values: ['a100'] };
const podTerm = { labelSelector: { matchLabels: { app: 'cache' } }, namespaces: ['media'], topologyKey: 'zone' };
const affinity: Json = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [expression] }] },
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: { matchExpressions: [expression] } }],
  },
  podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 2, podAffinityTerm: podTerm }] },
  podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [podTerm] },
};
const resourcesOf = (requests: Json, limits: Json = {}): Json => pool({ resources: { tools: { requests, limits } } });
const nodeTerm = (change: Json): Json =>
  pool({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ ...expression, ...change }] }],
        },
      },
    },
  });

const policy = (changes: Json = {}): Json => ({
  rules: [{ name: 'wrapper', field: 'container.format', in: ['mp4'], when: { field: 'duration', above: 1 } }],
  ...changes,
});

const good: [ResourceType, string, Json][] = [
  [PROBE_JOBS, 'with an address', job()],
  [PROBE_JOBS, 'with two sources', job({ kind: 'compare', other: { sealed: 'x'.repeat(24_576) } })],
  [PROBE_JOBS, 'with a Secret', job({ source: { secretRef: { name: 's' } } })],
  [PROBE_JOBS, 'with a sealed source and every field', fullJob],
  [PROBE_JOBS, 'with three versions of one tool, to compare them', comparison('4.4', '7.1', '9.0')],
  [PROBE_JOBS, 'with eight runs', comparison('1', '2', '3', '4', '5', '6', '7', '8')],
  [PROBE_JOBS, 'with an rtmp address', job({ source: { url: 'rtmp://origin.example/live/stream' } })],
  [
    PROBE_JOBS,
    'with letters of any script in what is shown',
    job({ source: { sealed: 'x', display: 'https://a/ü 中文😀' } }),
  ],
  [PROBE_POLICIES, 'with a description of two lines', { description: 'first\n\tsecond', rules: [{ name: 'a' }] }],
  [PROBE_JOBS, 'with an at sign in the path', job({ source: { url: 'https://origin.example/@user/a.mp4' } })],
  [PROBE_JOBS, 'with a shared policy', job({ policy: { name: 'shared/web-mp4', revision: 3 } })],
  [PROBE_JOBS, 'that waits', job({ suspend: true, ttlSecondsAfterFinished: 0, managedBy: 'example.com/a-b' })],
  [PROBE_JOBS, 'with a policy of the API', job({ policy: { digest: 'a'.repeat(64) } })],
  [PROBE_POLICIES, 'with the minimum', policy()],
  [PROBE_POLICIES, 'with pins', policy({ description: 'for the web', uses: { ffprobe: '7.1', mediainfo: '24.06' } })],
  [PROBE_TOOLS, 'with the minimum', tool()],
  [
    PROBE_TOOLS,
    'by digest, latest',
    tool({
      image: `registry.example/a/b@sha256:${'0'.repeat(64)}`,
      latest: true,
      command: ['{root}/lib/ld.so', '--library-path', '{root}/lib', '{root}/bin/ffprobe'],
    }),
  ],
  [PROBE_POOLS, 'with the minimum', pool()],
  [
    PROBE_POOLS,
    'with every field',
    pool({
      priority: -1,
      serves: { kinds: ['file'], accounts: [1, 2], labels: { 'example.com/team': 'news' } },
      minReady: 0,
      maxPods: 5000,
      maxPodsPerTenant: 3,
      reuse: { scope: 'any', maxJobs: 1, maxAgeSeconds: 10, idleSeconds: 1 },
      resources: {
        agent: { requests: { cpu: '10m', memory: '64Mi' }, limits: { cpu: '1', memory: '0.5Gi' } },
        tools: { requests: { cpu: 2, 'ephemeral-storage': '1G' }, limits: { cpu: 2, memory: '1Ti' } },
      },
      runtimeClassName: 'gvisor',
      userNamespaces: 'Required',
      drainSeconds: 0,
      priorityClassName: 'low',
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'DoNotSchedule',
          minDomains: 2,
          nodeAffinityPolicy: 'Honor',
          nodeTaintsPolicy: 'Ignore',
        },
      ],
      nodeSelector: { 'kubernetes.io/arch': 'amd64' },
      tolerations: [{ key: 'media', operator: 'Equal', value: 'yes', effect: 'NoExecute', tolerationSeconds: 5 }],
      affinity,
    }),
  ],
];

/** `kubectl get` prints them. */
const HIDDEN = ['\u202e', '\u2066', '\u200b', '\u001b[31m', '\n', '\u0085', '\u2028', '\ue000'];

const bad: [ResourceType, string, Json, RegExp][] = [
  ...HIDDEN.map((hidden): [ResourceType, string, Json, RegExp] => [
    PROBE_JOBS,
    `${JSON.stringify(hidden)} in what is shown of the source`,
    job({ source: { sealed: 'x', display: `https://a.example/${hidden}gnp.exe` } }),
    /spec\.source\.display.*should match/,
  ]),
  ...HIDDEN.filter((hidden) => !['\n', '\u2028'].includes(hidden)).map(
    (hidden): [ResourceType, string, Json, RegExp] => [
      PROBE_POLICIES,
      `${JSON.stringify(hidden)} in a description`,
      { description: `a${hidden}b`, rules: [{ name: 'a' }] },
      /spec\.description.*should match/,
    ],
  ),
  [PROBE_JOBS, 'no source', { kind: 'file' }, /spec\.source/],
  [PROBE_JOBS, 'an empty source', job({ source: {} }), /exactly one of url, secretRef and sealed/],
  [PROBE_JOBS, 'two sources', job({ source: { url: 'https://a.example/b', sealed: 'x' } }), /exactly one of/],
  [PROBE_JOBS, 'an address with user info', job({ source: { url: 'https://me:secret@a.example/b' } }), /no user info/],
  [PROBE_JOBS, 'an address with a user only', job({ source: { url: 'ftp://me@a.example/b' } }), /no user info/],
  [PROBE_JOBS, 'an address with a query', job({ source: { url: 'https://a.example/b?sig=1' } }), /no user info, query/],
  [PROBE_JOBS, 'an address with a fragment', job({ source: { url: 'https://a.example/b#c' } }), /fragment/],
  [PROBE_JOBS, 'an empty address', job({ source: { url: '' } }), /url/],
  [
    PROBE_JOBS,
    'a sealed source over its limit',
    job({ source: { sealed: 'x'.repeat(24_577) } }),
    /sealed.*(Too long|may not be)/s,
  ],
  [PROBE_JOBS, 'an unknown kind', job({ kind: 'audio' }), /Unsupported value: "audio"/],
  [PROBE_JOBS, 'an unknown tool', job({ tools: [{ name: 'vlc' }] }), /Unsupported value: "vlc"/],
  [PROBE_JOBS, 'one tool twice', job({ tools: [{ name: 'ffprobe' }, { name: 'ffprobe' }] }), /Duplicate value/],
  [
    PROBE_JOBS,
    'two versions of one tool in a job that is not a comparison',
    { ...comparison('4.4', '7.1'), kind: 'file' },
    /only possible with the kind compare/,
  ],
  [PROBE_JOBS, 'one version twice', comparison('7.1', '7.1'), /Duplicate value/],
  [PROBE_JOBS, 'nine runs', comparison('1', '2', '3', '4', '5', '6', '7', '8', '9'), /at most 8 items/],
  [PROBE_JOBS, 'an empty list of tools', job({ tools: [] }), /at least 1 item/],
  [
    PROBE_JOBS,
    'an option over its limit',
    job({ tools: [{ name: 'ffprobe', options: { a: 'x'.repeat(1025) } }] }),
    /options/,
  ],
  [PROBE_JOBS, 'an option that is not text', job({ tools: [{ name: 'ffprobe', options: { a: 1 } }] }), /options/],
  [
    PROBE_JOBS,
    '65 options',
    job({
      tools: [{ name: 'ffprobe', options: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`o${n}`, ''])) }],
    }),
    /at most 64 items/,
  ],
  [PROBE_JOBS, 'a queue timeout over a minute', job({ queueTimeoutMs: 60_001 }), /queueTimeoutMs/],
  [PROBE_JOBS, 'a timeout of 0', job({ timeoutMs: 0 }), /timeoutMs/],
  [PROBE_JOBS, 'an invalid time', job({ submittedAt: 'yesterday' }), /submittedAt/],
  [PROBE_JOBS, 'a token with id 0', job({ token: { id: 0, user: 1 } }), /token\.id/],
  [PROBE_JOBS, 'a policy without a name', job({ policy: {} }), /a policy needs a name: shared\/NAME/],
  [PROBE_JOBS, 'a policy with an invalid name', job({ policy: { name: '../etc' } }), /policy\.name/],
  [PROBE_JOBS, 'a policy with a path as its name', job({ policy: { name: 'other/web-mp4' } }), /policy\.name/],
  [PROBE_JOBS, 'an invalid digest', job({ policy: { digest: 'xyz' } }), /policy\.digest/],
  [PROBE_JOBS, 'revision 0 of a policy', job({ policy: { name: 'shared/a', revision: 0 } }), /policy\.revision/],
  [PROBE_BATCHES, 'no request', { suspend: true }, /request/],
  [PROBE_BATCHES, 'an address alone', batch({ items: ['https://media.example.org/a.mp4'] }), /items\[0\]/],
  ...['https://me:secret@a.example/b', 'https://a.example/b?key=1', 'https://a.example/b#c', 'a.mp4'].map(
    (url): [ResourceType, string, Json, RegExp] => [
      PROBE_BATCHES,
      `the address ${url}`,
      batch({ items: [{ url }] }),
      /items\[0\]\.url/,
    ],
  ),
  [PROBE_BATCHES, 'a list with a signature', batch({ items_url: 'https://a.example/l?sig=1' }), /items_url/],
  [PROBE_BATCHES, 'an unknown tool', batch({ probe: { only: 'exiftool' } }), /probe\.only/],
  [PROBE_BATCHES, 'no tries', batch({ tries: 0 }), /tries/],
  [PROBE_SOURCES, 'no bucket', { request: {} }, /bucket/],
  [PROBE_SOURCES, 'a key in its address', source({ bucket: { url: 's3://a:b@films/' } }), /bucket\.url/],
  [PROBE_SOURCES, 'a listing each second', source({ every: 1 }), /every/],
  [PROBE_POLICIES, 'no rules', policy({ rules: [] }), /at least 1 item/],
  [
    PROBE_POLICIES,
    '201 rules',
    policy({ rules: Array.from({ length: 201 }, (_, n) => ({ name: `${n}` })) }),
    /at most 200 items/,
  ],
  [PROBE_POLICIES, 'a rule that is a string', policy({ rules: ['mp4'] }), /rules\[0\]/],
  [PROBE_POLICIES, 'a version with a slash', policy({ uses: { ffprobe: '../7' } }), /uses\.ffprobe/],
  [PROBE_TOOLS, 'no command', tool({ command: [] }), /at least 1 item/],
  [PROBE_TOOLS, 'a version with a slash', tool({ version: '../7' }), /version/],
  [PROBE_TOOLS, 'no image', tool({ image: '' }), /image/],
  [PROBE_POOLS, 'no kinds', pool({ serves: { kinds: [] } }), /at least 1 item/],
  [PROBE_POOLS, 'a kind twice', pool({ serves: { kinds: ['file', 'file'] } }), /Duplicate value/],
  [PROBE_POOLS, 'an unknown scope', pool({ reuse: { scope: 'planet' } }), /Unsupported value: "planet"/],
  [PROBE_POOLS, 'a negative number of pods', pool({ minReady: -1 }), /minReady/],
  [PROBE_POOLS, 'more ready pods than pods', pool({ minReady: 50, maxPods: 5 }), /minReady must be at most maxPods/],
  [PROBE_POOLS, 'memory in thousandths', resourcesOf({ memory: '500m' }), /requests\.memory/],
  [PROBE_POOLS, 'CPU in bytes', resourcesOf({ cpu: '1Gi' }), /requests\.cpu/],
  [
    PROBE_POOLS,
    'more memory than its limit',
    resourcesOf({ memory: '2Gi' }, { memory: '1Gi' }),
    /at most limits\.memory/,
  ],
  [PROBE_POOLS, 'more CPU than its limit', resourcesOf({ cpu: 2 }, { cpu: '1500m' }), /at most limits\.cpu/],
  [
    PROBE_POOLS,
    'more storage than its limit',
    resourcesOf({ 'ephemeral-storage': '1Ti' }, { 'ephemeral-storage': '1G' }),
    /at most limits\.ephemeral-storage/,
  ],
  [PROBE_POOLS, 'a name that no label has', pool({ nodeSelector: { 'a b/c d': 'x' } }), /name is not that of a label/],
  [PROBE_POOLS, 'a value that no label has', pool({ nodeSelector: { arch: '!' } }), /nodeSelector/],
  [
    PROBE_POOLS,
    'a label of jobs that is none',
    pool({ serves: { kinds: ['file'], labels: { '-': 'x' } } }),
    /not that of a label/,
  ],
  [PROBE_POOLS, 'account 0', pool({ serves: { kinds: ['file'], accounts: [0] } }), /accounts/],
  [PROBE_POOLS, 'an invalid runtime class', pool({ runtimeClassName: 'Not A Name!' }), /runtimeClassName/],
  [PROBE_POOLS, 'an invalid priority class', pool({ priorityClassName: 'Not A Name!' }), /priorityClassName/],
  [
    PROBE_POOLS,
    'a toleration of all with a value',
    pool({ tolerations: [{ operator: 'Exists', value: 'x' }] }),
    /no value/,
  ],
  [PROBE_POOLS, 'a toleration without a key', pool({ tolerations: [{ value: 'x' }] }), /needs the operator Exists/],
  [
    PROBE_POOLS,
    'a toleration that ends nothing',
    pool({ tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 5 }] }),
    /needs the effect NoExecute/,
  ],
  [PROBE_POOLS, 'an affinity to no value', nodeTerm({ values: [] }), /need values/],
  [PROBE_POOLS, 'an affinity to the values of none', nodeTerm({ operator: 'Exists' }), /have none/],
  [PROBE_POLICIES, 'a rule without a name', policy({ rules: [{ hello: 'world' }] }), /rules\[0\]\.name/],
  [PROBE_POLICIES, 'an unknown level', policy({ rules: [{ name: 'a', level: 'fatal' }] }), /level/],
  [PROBE_JOBS, 'a time of more than a week', job({ ttlSecondsAfterFinished: 604_801 }), /ttlSecondsAfterFinished/],
  [PROBE_JOBS, 'a controller without a domain', job({ managedBy: 'me' }), /managedBy/],
  [
    PROBE_POOLS,
    'memory that is not a quantity',
    pool({ resources: { agent: { limits: { memory: 'much' } } } }),
    /memory/,
  ],
];

/** What the API server notes of the owners of spec and status: their members, or `{}` for an owner of all. */
function ownedFields({ metadata }: { metadata: object }): Json[] {
  const { managedFields = [] } = metadata as { managedFields?: { fieldsV1: Json }[] };
  return managedFields.flatMap(({ fieldsV1 }) =>
    ['f:spec', 'f:status'].flatMap((part) => (fieldsV1[part] === undefined ? [] : [{ [part]: fieldsV1[part] }])),
  );
}

describe('custom resource definitions', function () {
  this.timeout(60_000);
  let client: KubeClient;
  let count = 0;
  const draft = (spec: Json): KubeObject & { spec: Json } => ({ metadata: { name: `object-${++count}` }, spec });
  const create = (type: ResourceType, spec: Json) =>
    client.create(type, draft(spec)) as Promise<KubeObject & { spec: Json }>;

  before(async () => {
    const server = await testApiServer({ own: true });
    client = await kubeClient({ kubeconfig: server.kubeconfig, namespace: await server.namespace('crds') });
  });
  after(() => client.close());

  for (const definition of DEFINITIONS)
    it(`${definition.kind} is kept as it is written: a GitOps engine finds no difference`, async () => {
      const written = customResourceDefinition(definition) as unknown as KubeObject & { spec: { versions: unknown } };
      const { spec } = (await client.get(CRDS, written.metadata.name)) as typeof written;
      assert.deepEqual(spec.versions, written.spec.versions);
    });

  it('bound every string, list and map, so that validation has a bounded cost, and describe every field', () => {
    const unbounded: string[] = [];
    const undescribed: string[] = [];
    const walk = (node: Json, path: string): void => {
      if (node['type'] === 'string' && node['maxLength'] === undefined && node['enum'] === undefined)
        unbounded.push(path);
      if (node['type'] === 'array' && node['maxItems'] === undefined) unbounded.push(path);
      if (node['additionalProperties'] !== undefined && node['maxProperties'] === undefined) unbounded.push(path);
      for (const [name, child] of Object.entries((node['properties'] ?? {}) as Record<string, Json>)) {
        // Those of the request are the API's.
        const sentence = /^Probe(Batch|Source)\.spec\.request/.test(path) ? /^.{6,}[.`]$/s : /^[A-Z{`].{5,}[.`]$/s;
        if (!sentence.test(String(child['description']))) undescribed.push(`${path}.${name}`);
        walk(child, `${path}.${name}`);
      }
      for (const part of ['items', 'additionalProperties'])
        if (typeof node[part] === 'object') walk(node[part] as Json, `${path}[]`);
    };
    for (const definition of DEFINITIONS) {
      const crd = customResourceDefinition(definition) as {
        spec: { versions: { schema: { openAPIV3Schema: { properties: Record<string, Json> } } }[] };
      };
      const { spec, status } = crd.spec.versions[0]!.schema.openAPIV3Schema.properties;
      walk(spec!, `${definition.kind}.spec`);
      walk(status!, `${definition.kind}.status`);
    }
    assert.deepEqual([unbounded, undescribed], [[], []]);
  });

  it('refuse a pool whose name is longer than a label', async () => {
    const named = (length: number) =>
      client.create(PROBE_POOLS, { metadata: { name: 'p'.repeat(length) }, spec: pool() } as never);
    await named(63);
    await assert.rejects(named(64), { code: 'invalid', message: /at most 63 characters/ });
  });

  it('keep a member of a rule that does not exist, so that the leader names it', async () => {
    const rules = [{ name: 'a', field: 'duration', 'at-lest': 5, within: { value: 1, tolerance: '2 %' } }];
    assert.deepEqual((await create(PROBE_POLICIES, { rules })).spec['rules'], rules);
  });

  describe('accept', () => {
    for (const [type, what, spec] of good) {
      it(`a ${type.kind} ${what}`, async () => {
        const kept = await create(type, spec);
        const lost = Object.keys(spec).filter((member) => !(member in kept.spec));
        assert.deepEqual(lost, []);
      });
    }
  });

  describe('refuse', () => {
    for (const [type, what, spec, pattern] of bad) {
      it(`a ${type.kind} with ${what}`, async () => {
        const error: unknown = await create(type, spec).catch((caught: unknown) => caught);
        assert.ok(isKubeError(error, 'invalid'), `taken: ${JSON.stringify(error)}`);
        assert.match(error.message, pattern);
      });
    }
  });

  for (const [type, spec, cells] of [
    [PROBE_BATCHES, batch({}, { suspend: true }), ['Waiting', 0, 0, 0]],
    [PROBE_SOURCES, source(), ['Waiting', 's3://films/incoming/', 0]],
  ] as const)
    it(`show a ${type.kind} in a table before anybody looked at it`, async () => {
      const { name } = (await create(type, spec)).metadata;
      const path = `/apis/probeyard.dev/v1alpha1/namespaces/${client.namespace}/${type.plural}/${name}`;
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const { rows } = await client.request<{ rows: { cells: unknown[] }[] }>({ method: 'GET', path, accept });
      assert.deepEqual(rows[0]!.cells.slice(0, cells.length + 1), [name, ...cells]);
    });

  for (const [kind, names] of [
    ['ProbeBatch', ['probe', 'items', 'items_url', 'concurrency', 'deadline']],
    ['ProbeSource', ['probe', 'bucket', 'every', 'settle', 'bundle', 'deadline']],
  ] as const)
    it(`describe the request of a ${kind} to kubectl explain`, async () => {
      const { components } = await client.request<{
        components: { schemas: Record<string, { properties: Record<string, { properties: Record<string, Json> }> }> };
      }>({ method: 'GET', path: '/openapi/v3/apis/probeyard.dev/v1alpha1' });
      const { request } = components.schemas[`dev.probeyard.v1alpha1.${kind}`]!.properties['spec']!.properties;
      const fields = request!['properties'] as Record<string, { description: string; default?: unknown }>;
      for (const name of names) assert.match(fields[name]!.description, /\w{3}/, name);
      assert.match(fields['per_host']!.description, /Default: 4\.$/);
      assert.equal(fields['per_host']!.default, undefined);
    });

  it('keep the request of a ProbeBatch as it is, and let it be suspended', async () => {
    const { metadata } = await create(PROBE_BATCHES, batch());
    for (const spec of [{ request: { name: 'other' } }, { request: { items: [] } }, { createdBy: 'alice' }])
      await assert.rejects(client.mergePatch(PROBE_BATCHES, metadata.name, { spec }), { code: 'invalid' });
    const changed = { suspend: true, ttlSecondsAfterFinished: 60 };
    await client.mergePatch(PROBE_BATCHES, metadata.name, { spec: changed });
  });

  it('let the request of a ProbeSource be changed, but for its bucket, and keep what null says', async () => {
    const { metadata, spec } = await create(PROBE_SOURCES, source({ every: null }));
    assert.deepEqual(spec, source({ every: null }));
    const change = (request: Json) => client.mergePatch(PROBE_SOURCES, metadata.name, { spec: { request } });
    await change({ every: 60, name: 'films', bucket: { include: ['*.mp4'] } });
    await assert.rejects(change({ bucket: { url: 's3://other/' } }), {
      code: 'invalid',
      message: /spec\.request\.bucket\.url: cannot be changed/,
    });
    const creator = client.mergePatch(PROBE_SOURCES, metadata.name, { spec: { createdBy: 'alice' } });
    await assert.rejects(creator, { code: 'invalid' });
  });

  it('fill in defaults', async () => {
    const { spec } = await create(PROBE_JOBS, {
      source: { secretRef: { name: 's' } },
      tools: [{ name: 'ffprobe' }],
      report: {},
    });
    assert.deepEqual(spec, {
      kind: 'file',
      source: { secretRef: { name: 's', key: 'url' }, display: '-' },
      tools: [{ name: 'ffprobe', version: 'latest' }],
      report: { enabled: true },
    });
    const made = await create(PROBE_POOLS, pool());
    assert.deepEqual(made.spec, {
      priority: 0,
      serves: { kinds: ['file', 'c2pa'] },
      minReady: 2,
      maxPods: 20,
      userNamespaces: 'Preferred',
      reuse: { scope: 'account', renew: 'pod', maxJobs: 200, maxAgeSeconds: 3600, idleSeconds: 900 },
    });
  });

  it('keep the spec of a ProbeJob immutable, and allow changes of labels and status', async () => {
    const made = await create(PROBE_JOBS, fullJob);
    const { name } = made.metadata;
    for (const spec of [
      { kind: 'msv' },
      { timeoutMs: 1 },
      { tools: null },
      { report: { enabled: false } },
      { source: { sealed: 'y' } },
    ]) {
      await assert.rejects(
        client.mergePatch(PROBE_JOBS, name, { spec }),
        { code: 'invalid', message: /cannot be changed/ },
        JSON.stringify(spec),
      );
    }
    await client.mergePatch(PROBE_JOBS, name, { metadata: { labels: { [LABEL.token]: '17' } } });
    assert.equal((await client.mergePatchStatus(PROBE_JOBS, name, { attempts: 1 })).status?.attempts, 1);
    assert.equal((await client.list(PROBE_JOBS, { labelSelector: `${LABEL.token}=17` })).items.length, 1);
  });

  it('have one owner of a job’s spec and one of its status, of which a patch keeps the other members', async () => {
    const both = ['4.4', '7.1'].map((version) => ({ name: 'ffprobe', version, success: version === '7.1' }) as const);
    const made = await create(PROBE_JOBS, comparison('4.4', '7.1'));
    assert.deepEqual(ownedFields(made), [{ 'f:spec': {} }]);
    await client.mergePatchStatus(PROBE_JOBS, made.metadata.name, { attempts: 1, queueTimeMs: 7 });
    const ended = { attempts: 1, tools: both, summary: 'done' };
    const { metadata, spec, status } = await client.mergePatchStatus(PROBE_JOBS, made.metadata.name, ended);
    assert.deepEqual(ownedFields({ metadata }), [{ 'f:spec': {} }, { 'f:status': {} }]);
    // A change of the status is one of the object: nothing may rely on the generation.
    assert.equal(metadata.generation, 3);
    assert.deepEqual(spec, made.spec);
    assert.deepEqual(status, { ...ended, queueTimeMs: 7 });
  });

  it('take the status of a job at its creation, and know no other way to write it', async () => {
    const status = { attempts: 1, admittedBy: { holder: 'c', epoch: 4, token: 1, account: 1 } };
    const made = await client.create(PROBE_JOBS, { ...draft(job()), status } as never);
    assert.deepEqual(made.status, status);
    const { name } = made.metadata;
    const written = client.request({
      method: 'PATCH',
      path: `/apis/probeyard.dev/v1alpha1/namespaces/${client.namespace}/probejobs/${name}/status`,
      contentType: 'application/merge-patch+json',
      body: { status: { attempts: 2 } },
    });
    await assert.rejects(written, { code: 'not-found' });
    await assert.rejects(client.create(PROBE_JOBS, { ...draft(job()), status: { attempts: -1 } } as never), {
      code: 'invalid',
      message: /attempts/,
    });
  });

  it('ignore the status of a pool that is written with its spec', async () => {
    const made = await client.create(PROBE_POOLS, { ...draft(pool()), status: { epoch: 9 } } as never);
    assert.equal(made.status?.epoch, undefined);
  });

  it('refuse a status with an unknown condition value, and accept each of ours', async () => {
    const {
      metadata: { name },
    } = await create(PROBE_JOBS, job());
    const condition = {
      type: 'Succeeded',
      status: 'Unknown',
      reason: 'Queued',
      message: '',
      lastTransitionTime: '2026-11-21T08:00:00.123Z',
    };
    const status = {
      conditions: [condition, { ...condition, type: 'Admitted', status: 'True' }],
      admittedBy: { holder: 'controller-0_x', epoch: 3 },
      startedAt: '2026-11-21T08:00:00.123Z',
      completedAt: '2026-11-21T08:00:01.5Z',
      queueTimeMs: 12,
      durationMs: 340,
      attempts: 1,
      runner: { pod: 'p', uid: 'u' },
      tools: [{ name: 'ffprobe', version: '7.1', success: true, durationMs: 12 }],
      policy: { name: 'shared/web-mp4', revision: 3, outcome: 'fail', failed: ['wrapper'] },
      summary: 's',
      resultPath: '/v1/probe/x',
    };
    assert.deepEqual((await client.mergePatchStatus(PROBE_JOBS, name, status)).status, status);
    await assert.rejects(
      client.mergePatchStatus(PROBE_JOBS, name, { conditions: [{ ...condition, status: 'Maybe' }] }),
      { code: 'invalid', message: /Maybe/ },
    );
    await assert.rejects(client.mergePatchStatus(PROBE_JOBS, name, { conditions: [condition, condition] }), {
      code: 'invalid',
      message: /Duplicate/,
    });
    await assert.rejects(client.mergePatchStatus(PROBE_JOBS, name, { attempts: -1 }), {
      code: 'invalid',
      message: /attempts/,
    });
  });

  it('show State, Token and other columns in kubectl', async () => {
    const {
      metadata: { name },
    } = await create(PROBE_JOBS, fullJob);
    await client.mergePatchStatus(PROBE_JOBS, name, {
      queueTimeMs: 12,
      durationMs: 340,
      progress: 43,
      policy: { outcome: 'fail' },
      conditions: [
        {
          type: 'Succeeded',
          status: 'True',
          reason: 'Completed',
          message: '',
          lastTransitionTime: '2026-11-21T08:00:00Z',
        },
      ],
    });
    const row = await tableRow('probejobs', name);
    assert.deepEqual(
      { ...row, Age: 'any' },
      {
        Name: name,
        Kind: 'file',
        Source: 'https://origin.example/a.mp4',
        Token: 17,
        Creator: null,
        State: 'Completed',
        Queue: 12,
        Duration: 340,
        Progress: 43,
        Policy: 'fail',
        Age: 'any',
        Runner: null,
        Summary: null,
      },
    );
  });

  it('keep the rules of a policy as written', async () => {
    const made = await create(PROBE_POLICIES, policy());
    assert.deepEqual(made.spec, policy());
    const again = await client.mergePatch(PROBE_POLICIES, made.metadata.name, { spec: { rules: [{ name: 'other' }] } });
    assert.equal(again.metadata.generation, 2);
  });

  it('scale a pool by its minReady', async () => {
    const {
      metadata: { name },
    } = await create(PROBE_POOLS, pool({ minReady: 3 }));
    const path = `/apis/probeyard.dev/v1alpha1/namespaces/${client.namespace}/probepools/${name}/scale`;
    assert.equal((await client.request<{ spec: { replicas: number } }>({ method: 'GET', path })).spec.replicas, 3);
    await client.request({
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body: { spec: { replicas: 5 } },
    });
    assert.equal((await client.get(PROBE_POOLS, name)).spec.minReady, 5);
  });

  it('support field selectors', async () => {
    const {
      metadata: { name },
    } = await create(PROBE_JOBS, job({ kind: 'c2pa', token: { id: 4711, user: 1 } }));
    for (const fieldSelector of ['spec.kind=c2pa', 'spec.token.id=4711']) {
      assert.deepEqual(
        (await client.list(PROBE_JOBS, { fieldSelector })).items.map((item) => item.metadata.name),
        [name],
        fieldSelector,
      );
    }
  });

  async function tableRow(plural: string, name: string): Promise<Record<string, unknown>> {
    const access = client.config.access();
    const response = await access.calls.request({
      origin: access.origin,
      path: `${access.prefix}/apis/probeyard.dev/v1alpha1/namespaces/${client.namespace}/${plural}/${name}`,
      method: 'GET',
      headers: { ...access.headers, accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    const table = (await response.body.json()) as {
      columnDefinitions: { name: string }[];
      rows: { cells: unknown[] }[];
    };
    return Object.fromEntries(
      table.columnDefinitions.map((column, index) => [column.name, table.rows[0]?.cells[index] ?? null]),
    );
  }
});
