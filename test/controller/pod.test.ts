import assert from 'node:assert/strict';
import { loadConfig } from '../../src/base/config.ts';
import { generationOf, type PodTool } from '../../src/service/controller/pools/pod.ts';
import type { ProbePoolSpec } from '../../src/platform/kube/probe_pool.ts';

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

describe('generation of a pool', () => {
  const same: [string, string][] = [
    ['another controller leads', generationOf(config({ PY_POD_NAME: 'controller-b' }), spec, tools)],
    ['the log level of controllers changes', generationOf(config({ PY_LOG_LEVEL: 'debug' }), spec, tools)],
    ['the address of Postgres changes', generationOf(config({ PY_POSTGRES_URL: 'postgres://two' }), spec, tools)],
    ['the retention of finished jobs changes', generationOf(config({ PY_FINISHED_SECONDS: '900' }), spec, tools)],
    ['the order of the tools changes', generationOf(config(), spec, tools.toReversed())],
    [
      'the size of the pool changes',
      generationOf(config(), { ...spec, minReady: 5, maxPods: 50, maxPodsPerTenant: 3 }, tools),
    ],
    [
      'the idle time, age and jobs of pods change',
      generationOf(
        config(),
        { ...spec, reuse: { scope: 'account', maxJobs: 20, maxAgeSeconds: 7200, idleSeconds: 600 } },
        tools,
      ),
    ],
  ];
  for (const [title, generation] of same) it(`stays when ${title}`, () => assert.equal(generation, plain));

  const other: [string, string][] = [
    [
      'the runner image changes',
      generationOf(config({ PY_RUNNER_IMAGE: 'localhost/probeyard@sha256:2' }), spec, tools),
    ],
    ['a tool is added', generationOf(config(), spec, [...tools, tool('5.1')])],
    ['a tool is removed', generationOf(config(), spec, [tool('9.0')])],
    [
      'the image of a tool changes',
      generationOf(config(), spec, [tool('9.0'), tool('4.3', 'localhost/ffprobe:other')]),
    ],
    ['the allowed sources change', generationOf(config({ PY_ALLOW_SOURCES: '[{"cidr":"10.0.0.1/32"}]' }), spec, tools)],
    [
      'tools come bundled',
      generationOf(config({ PY_TOOLS_DELIVERY: 'bundled', PY_BUNDLED_IMAGE: 'localhost/bundled:1' }), spec, tools),
    ],
    ['the C2PA trust anchors change', generationOf(config({ PY_C2PA_CONFIGMAP: 'anchors' }), spec, tools)],
    [
      'the resources of pods change',
      generationOf(config(), { ...spec, resources: { tools: { limits: { memory: '2Gi' } } } }, tools),
    ],
    ['pods run without user namespaces', generationOf(config(), { ...spec, userNamespaces: 'Disabled' }, tools)],
    [
      'the reuse scope changes',
      generationOf(
        config(),
        { ...spec, reuse: { scope: 'any', maxJobs: 200, maxAgeSeconds: 3600, idleSeconds: 120 } },
        tools,
      ),
    ],
  ];
  for (const [title, generation] of other) it(`changes when ${title}`, () => assert.notEqual(generation, plain));
  it('is different after each of these changes', () =>
    assert.equal(new Set(other.map(([, generation]) => generation)).size, other.length));
});
