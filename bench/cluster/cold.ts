/**
 * Cold start: a pool without a pod, with a new account for each request. Compared with a pod of the same shape without
 * Probeyard, and a plain pod.
 */
import { PODS, type Pod } from '../../src/platform/kube/client.ts';
import { RUNNERS, eventually } from '../../test/cluster/fixture.ts';
import type { Measurement } from '../measurement.ts';
import { summary } from '../statistics.ts';
import { plainPod, startTimes, withNamespace } from './plain.ts';
import { empty, ready, runnerPods, withPool } from './pool.ts';
import { expectOk, toolMs, withCluster } from './rig.ts';
import { bareTools } from './tools.ts';

const COUNT = Number(process.env['BENCH_COLD'] ?? 8);

/** The containers and image volumes of a runner, without what makes it a runner. */
function alike({ spec }: Pod): Pod['spec'] {
  const { containers, volumes, securityContext, hostUsers } = spec ?? { containers: [] };
  const own = (volumes ?? []).filter(({ name }) => !name.startsWith('kube-api-access'));
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    containers,
    volumes: own,
    ...(securityContext ? { securityContext } : {}),
    ...(hostUsers === undefined ? {} : { hostUsers }),
    ...(spec?.serviceAccountName ? { serviceAccountName: spec.serviceAccountName } : {}),
  } as Pod['spec'];
}

export const cold: Measurement = {
  name: 'cold',
  title: 'a request that finds no pod, beside the start of a pod',
  measure: (report) =>
    withCluster(async (c) => {
      const origin = await c.origin();
      const url = `${origin.url}/tiny.mp4`;
      const { tools, remove } = await bareTools(c, ['ffprobe']);
      const ffprobe = tools['ffprobe'];
      if (!ffprobe) throw new Error('no ffprobe');
      await ready(c, 1);
      const [runner] = await runnerPods(c);
      if (!runner) throw new Error('no runner to copy');
      try {
        const added: number[] = [];
        await withPool(c, { minReady: 0 }, async () => {
          for (let index = 0; index < COUNT; index++) {
            await empty(c);
            const { token } = await c.newToken();
            const answer = expectOk(await c.probe({ url, only: 'ffprobe' }, { token }));
            added.push(answer.ms - toolMs(answer));
            report(`cold ${Math.round(answer.ms)} ms`);
          }
          await empty(c);
        });
        await ready(c, 1);
        // In the namespace of the runners, because its volumes refer to objects there. It is not a runner, because it
        // lacks the labels.
        const same = await startTimes(c, RUNNERS, COUNT, () => alike(runner));
        const plain = await withNamespace(c, (namespace) =>
          startTimes(c, namespace, COUNT, () => plainPod(ffprobe, url)),
        );
        await eventually(
          'the copies are gone',
          60,
          async () =>
            (await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: 'probeyard-bench=plain' })).items
              .length === 0,
        );
        const against = {
          what: 'a pod of the same two containers and volumes, POST to Running',
          values: summary(same),
        };
        return [
          {
            name: 'cold-added',
            what: 'cold: all that is added to the tool',
            unit: 'ms',
            values: summary(added),
            against,
          },
          {
            name: 'cold-over',
            what: 'cold: over the start of such a pod',
            unit: 'ms',
            values: summary(added.map((ms) => ms - against.values.p50)),
          },
          {
            name: 'cold-plain',
            what: 'a plain pod of the tool image, hardened, POST to Running',
            unit: 'ms',
            values: summary(plain),
          },
        ];
      } finally {
        remove();
      }
    }),
};
