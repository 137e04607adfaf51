/**
 * The cost of calls to the API server: client-node unmodified, and our own calls, over HTTP/1.1 and HTTP/2. Then the
 * two writes on the path of a job, the first list of the cache, and the delay of its events under load. Run:
 * npm exec -- node --expose-gc bench/kube/calls.ts [jobs in the cache]
 *
 * Measured on 2 cores that other builds shared (load 6 to 13), three runs: create 3.3 to 4.2 ms, status patch 5.2 to
 * 6.1 (HTTP/2) and 6.5 to 8.8 (HTTP/1.1), delete 3.9 to 4.9 (p50, one at a time); event seen 3.8 to 4.3 ms after its
 * POST was sent; 4 KB of memory per cached job.
 */
import { CustomObjectsApi, KubeConfig } from '@kubernetes/client-node';
import { PROBE_JOBS, type KubeClient } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../../test/kube/kubeconfig.ts';
import { startReflector } from '../../src/platform/kube/reflector.ts';
import { slimJob } from '../../src/platform/kube/slim.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { stopApiServers, testApiServer } from '../../test/kube/apiserver.ts';
import { startRelay } from '../../test/kube/relay.ts';

const server = await testApiServer({ own: true, fsync: true });
const namespace = await server.namespace('bench');
const spec: ProbeJob['spec'] = {
  kind: 'file',
  source: { display: 'https://origin.example/a.mp4', sealed: 'x'.repeat(1200) },
  token: { id: 17, user: 3 },
  submittedAt: new Date().toISOString(),
  queueTimeoutMs: 60_000,
  timeoutMs: 60_000,
  tools: [
    { name: 'ffprobe', version: '7.1' },
    { name: 'mediainfo', version: '24.06' },
  ],
  report: { enabled: true },
};

const quantile = (sorted: number[], q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? NaN;
function summary(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  return [0.5, 0.9, 0.99].map((q) => quantile(sorted, q).toFixed(1)).join(' / ');
}

async function run(
  total: number,
  atOnce: number,
  call: (n: number) => Promise<unknown>,
): Promise<{ times: number[]; rate: number }> {
  const times: number[] = [];
  let next = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < total) {
        const n = next++;
        const sentAt = performance.now();
        await call(n);
        times.push(performance.now() - sentAt);
      }
    }),
  );
  return { times, rate: total / ((performance.now() - startedAt) / 1000) };
}

async function compareClients(): Promise<void> {
  await server.client.create(PROBE_JOBS, { metadata: { name: 'read', namespace }, spec });
  const object = { group: 'probeyard.dev', version: 'v1alpha1', namespace, plural: 'probejobs', name: 'read' };
  const ways: [
    string,
    () => Promise<{ call: () => Promise<unknown>; connections: () => number; close(): Promise<void> }>,
  ][] = [
    [
      'client-node as it comes',
      async () => {
        const relay = await startRelay(server.host, server.port);
        const config = new KubeConfig();
        config.loadFromFile(server.kubeconfigAt(relay.port));
        const api = config.makeApiClient(CustomObjectsApi);
        return {
          call: () => api.getNamespacedCustomObject(object),
          connections: () => relay.opened,
          close: () => relay.close(),
        };
      },
    ],
    ...([false, true] as const).map((http2): (typeof ways)[number] => [
      `own calls, HTTP/${http2 ? '2' : '1.1'}`,
      async () => {
        const relay = await startRelay(server.host, server.port);
        const client = await kubeClient({ kubeconfig: server.kubeconfigAt(relay.port), namespace, http2 });
        return {
          call: () => client.get(PROBE_JOBS, 'read'),
          connections: () => relay.opened,
          close: async () => {
            await client.close();
            await relay.close();
          },
        };
      },
    ]),
  ];
  console.log('GET of one job, calls/s, ms p50 / p90 / p99, connections opened');
  for (const atOnce of [1, 40]) {
    let first: number | undefined;
    for (const [what, open] of ways) {
      const way = await open();
      await run(50, atOnce, way.call);
      const { times, rate } = await run(600, atOnce, way.call);
      first ??= rate;
      console.log(
        `  ${String(atOnce).padStart(2)} at once  ${what.padEnd(32)} ` +
          `${rate.toFixed(0).padStart(5)}/s  x${(rate / first).toFixed(1)}  ${summary(times)}  ` +
          `${way.connections()}`,
      );
      await way.close();
    }
  }
}

async function writes(): Promise<void> {
  console.log('create, then status patch guarded by resourceVersion, then delete: ms p50 / p90 / p99');
  for (const http2 of [false, true]) {
    const client = await kubeClient({ kubeconfig: server.kubeconfig, namespace, http2 });
    for (const atOnce of [1, 10]) {
      const [create, patch, remove]: [number[], number[], number[]] = [[], [], []];
      const timed = async <T>(into: number[], call: Promise<T>): Promise<T> => {
        const at = performance.now();
        const result = await call;
        into.push(performance.now() - at);
        return result;
      };
      const { rate } = await run(300, atOnce, async (n) => {
        const name = `write-${http2}-${atOnce}-${n}`;
        const { metadata } = await timed(create, client.create(PROBE_JOBS, { metadata: { name }, spec }));
        const status = {
          conditions: [
            {
              type: 'Admitted',
              status: 'True',
              reason: 'Admitted',
              message: '',
              lastTransitionTime: new Date().toISOString(),
            },
            {
              type: 'Succeeded',
              status: 'Unknown',
              reason: 'Running',
              message: '',
              lastTransitionTime: new Date().toISOString(),
            },
          ],
          admittedBy: { holder: 'controller-0', epoch: 1 },
          startedAt: new Date().toISOString(),
          queueTimeMs: 3,
          attempts: 1,
          runner: { pod: 'runner-1', uid: 'u' },
        };
        await timed(
          patch,
          client.mergePatchStatus(PROBE_JOBS, name, status, {
            resourceVersion: metadata.resourceVersion,
            serverTimeoutMs: 1000,
          }),
        );
        await timed(remove, client.delete(PROBE_JOBS, name));
      });
      console.log(
        `  HTTP/${http2 ? '2  ' : '1.1'} ${String(atOnce).padStart(2)} at once  create ${summary(create)} ` +
          ` patch ${summary(patch)}  delete ${summary(remove)}  ${rate.toFixed(0)} jobs/s`,
      );
    }
    await client.close();
  }
}

async function cache(jobs: number): Promise<void> {
  const client: KubeClient = await kubeClient({
    kubeconfig: server.kubeconfig,
    namespace: await server.namespace('cache'),
  });
  await run(jobs, 40, (n) => client.create(PROBE_JOBS, { metadata: { name: `job-${n}` }, spec }));
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const startedAt = performance.now();
  const created = new Map<string, number>();
  const late: number[] = [];
  const reflector = startReflector({
    client,
    type: PROBE_JOBS,
    transform: slimJob,
    handlers: {
      add: ({ metadata }) => {
        const at = created.get(metadata.name);
        if (at !== undefined) late.push(performance.now() - at);
      },
    },
  });
  await reflector.synced;
  const listedMs = performance.now() - startedAt;
  globalThis.gc?.();
  console.log(
    `cache of ${jobs} queued jobs: first list ${listedMs.toFixed(0)} ms, ` +
      `${((process.memoryUsage().rss - before) / 1e6).toFixed(0)} MB more ` +
      `(RSS${globalThis.gc === undefined ? ', no gc' : ''})`,
  );
  const again = performance.now();
  await reflector.relist();
  console.log(`  relist ${(performance.now() - again).toFixed(0)} ms`);
  for (const atOnce of [1, 40]) {
    late.length = 0;
    await run(300, atOnce, async (n) => {
      const name = `event-${atOnce}-${n}`;
      created.set(name, performance.now());
      await client.create(PROBE_JOBS, { metadata: { name }, spec });
    });
    console.log(`  from POST sent to event seen, ${atOnce} writing: ${summary(late)} ms`);
  }
  await reflector.stop();
  await client.close();
}

try {
  await compareClients();
  await writes();
  await cache(Number(process.argv[2] ?? 2000));
} finally {
  await stopApiServers();
}
