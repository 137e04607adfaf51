import assert from 'node:assert/strict';
import { loadConfig } from '../../src/config.ts';
import { generationOf, type PodTool } from '../../src/controller/pools/pod.ts';
import type { ProbePoolSpec } from '../../src/kube/probe_pool.ts';

const config = (env: Record<string, string> = {}) =>
  loadConfig('controller', {
    PY_POSTGRES_URL: 'postgres://one',
    PY_NATS_URL: 'tls://nats:4222',
    PY_NATS_NKEY_FILE: '/controller.nk',
    PY_NATS_ISSUER_FILE: '/issuer.nk',
    PY_SEAL_PRIVATE_FILE: '/private.jwks',
    PY_RUNNER_IMAGE: 'localhost/probeyard@sha256:1',
    PY_POD_NAME: 'controller-a',
    ...env,
  });
const spec: ProbePoolSpec = {
  serves: { kinds: ['file'] },
  minReady: 2,
  maxPods: 20,
  reuse: { scope: 'account', maxJobs: 200, maxAgeSeconds: 3600, idleSeconds: 120 },
};
const tool = (version: string, image = `localhost/ffprobe:${version}`): PodTool => ({
  tool: 'ffprobe',
  version,
  image,
  command: ['{root}/bin/ffprobe'],
});
const tools = [tool('9.0'), tool('4.3')];
const plain = generationOf(config(), spec, tools);

describe('the generation of a pool', () => {
  const same: [string, string][] = [
    ['another controller leads', generationOf(config({ PY_POD_NAME: 'controller-b' }), spec, tools)],
    ['controllers log more', generationOf(config({ PY_LOG_LEVEL: 'debug' }), spec, tools)],
    ['Postgres is elsewhere', generationOf(config({ PY_POSTGRES_URL: 'postgres://two' }), spec, tools)],
    ['finished jobs stay longer', generationOf(config({ PY_FINISHED_SECONDS: '900' }), spec, tools)],
    ['the tools come in another order', generationOf(config(), spec, tools.toReversed())],
    ['the pool is larger', generationOf(config(), { ...spec, minReady: 5, maxPods: 50, maxPodsPerTenant: 3 }, tools)],
    [
      'pods may idle longer',
      generationOf(
        config(),
        { ...spec, reuse: { scope: 'account', maxJobs: 200, maxAgeSeconds: 7200, idleSeconds: 600 } },
        tools,
      ),
    ],
  ];
  for (const [title, generation] of same) it(`stays when ${title}`, () => assert.equal(generation, plain));

  const other: [string, string][] = [
    [
      'there is another runner image',
      generationOf(config({ PY_RUNNER_IMAGE: 'localhost/probeyard@sha256:2' }), spec, tools),
    ],
    ['a tool comes', generationOf(config(), spec, [...tools, tool('5.1')])],
    ['a tool goes', generationOf(config(), spec, [tool('9.0')])],
    ['a tool has another image', generationOf(config(), spec, [tool('9.0'), tool('4.3', 'localhost/ffprobe:other')])],
    ['other sources are allowed', generationOf(config({ PY_ALLOW_SOURCES: '[{"cidr":"10.0.0.1/32"}]' }), spec, tools)],
    [
      'tools come bundled',
      generationOf(config({ PY_TOOLS_DELIVERY: 'bundled', PY_BUNDLED_IMAGE: 'localhost/bundled:1' }), spec, tools),
    ],
    ['there are trust anchors for C2PA', generationOf(config({ PY_C2PA_CONFIGMAP: 'anchors' }), spec, tools)],
    [
      'pods get other resources',
      generationOf(config(), { ...spec, resources: { tools: { limits: { memory: '2Gi' } } } }, tools),
    ],
    ['pods do without user namespaces', generationOf(config(), { ...spec, userNamespaces: 'Disabled' }, tools)],
    [
      'pods are shared otherwise',
      generationOf(
        config(),
        { ...spec, reuse: { scope: 'any', maxJobs: 200, maxAgeSeconds: 3600, idleSeconds: 120 } },
        tools,
      ),
    ],
    [
      'pods serve more jobs',
      generationOf(
        config(),
        { ...spec, reuse: { scope: 'account', maxJobs: 20, maxAgeSeconds: 3600, idleSeconds: 120 } },
        tools,
      ),
    ],
  ];
  for (const [title, generation] of other) it(`is another one when ${title}`, () => assert.notEqual(generation, plain));
  it('is another one for each of these', () =>
    assert.equal(new Set(other.map(([, generation]) => generation)).size, other.length));
});
