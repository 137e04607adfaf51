/** Wall clocks of API and controllers that a test sets, by a module that is loaded before the product. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONFIG_MAPS, PODS } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { NAMESPACE, eventually, type Cluster } from '../cluster/fixture.ts';
import { leaderPod } from './load.ts';

const CLOCK = 'test-clock';
const PARTS = ['api', 'controller'] as const;
export type Part = (typeof PARTS)[number];

export interface Clocks {
  /** Restarts both parts with these settings of clock.mjs. */
  set(env: Record<Part, Record<string, number>>): Promise<void>;
  /** Restarts both parts with their own clocks. */
  setBack(): Promise<void>;
  remove(): Promise<void>;
}

export async function makeClocks(c: Cluster): Promise<Clocks> {
  const folder = await mkdtemp(join(tmpdir(), 'probeyard-clock-'));
  const module = await readFile(join(import.meta.dirname, 'clock.mjs'), 'utf8');
  await c.kube.apply(
    CONFIG_MAPS,
    { metadata: { name: CLOCK, namespace: NAMESPACE }, data: { 'clock.mjs': module } },
    { fieldManager: 'test', force: true },
  );
  const deployment = (part: Part) => `deployment/probeyard-${part}`;
  const rolledOut = async () => {
    for (const part of PARTS)
      await c
        .kubectl('-n', NAMESPACE, 'rollout', 'status', deployment(part), '--timeout=55s')
        .catch(() => c.kubectl('-n', NAMESPACE, 'rollout', 'status', deployment(part), '--timeout=55s'));
  };
  return {
    async set(settings) {
      for (const part of PARTS) {
        const file = join(folder, `${part}.json`);
        const env = Object.entries(settings[part]).map(([name, value]) => ({ name, value: String(value) }));
        const container = {
          name: part,
          env: [{ name: 'NODE_OPTIONS', value: '--import=/clock/clock.mjs' }, ...env],
          volumeMounts: [{ name: 'clock', mountPath: '/clock', readOnly: true }],
        };
        const volumes = [{ name: 'clock', configMap: { name: CLOCK } }];
        await writeFile(file, JSON.stringify({ spec: { template: { spec: { containers: [container], volumes } } } }));
        await c.kubectl('-n', NAMESPACE, 'patch', deployment(part), '--patch-file', file);
      }
      await rolledOut();
      // An old leader that is terminating still releases the lease.
      await eventually('one of the new controllers leads, and no old one is left', 60, async () => {
        const { items } = await c.kube.listAll(PODS, {
          namespace: NAMESPACE,
          labelSelector: `${LABEL.component}=controller`,
        });
        const leader = await leaderPod(c);
        return (
          items.every(({ metadata }) => metadata.deletionTimestamp === undefined) &&
          items.some(({ metadata }) => metadata.name === leader)
        );
      });
    },
    async setBack() {
      for (const part of PARTS) await c.kubectl('-n', NAMESPACE, 'rollout', 'undo', deployment(part));
      await rolledOut();
    },
    async remove() {
      await c.kube.delete(CONFIG_MAPS, CLOCK, { namespace: NAMESPACE });
      await rm(folder, { recursive: true, force: true });
    },
  };
}
