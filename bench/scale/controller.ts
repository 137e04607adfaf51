/**
 * The measured process of queue.ts, which is a controller replica that leads and collects, and reports its cost on
 * request.
 */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { JSONWebKeySet } from 'jose';
import { connectBus } from '../../src/platform/bus/connect.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { startController } from '../../test/controller/controller_part.ts';
import { kubeClient } from '../../test/kube/kubeconfig.ts';

export interface Given {
  kubeconfig: string;
  namespace: string;
  runnerNamespace: string;
  natsUrl: string;
  postgresUrl: string;
  keys: JSONWebKeySet;
  env: Record<string, string>;
}
export interface Cost {
  cpuMs: number;
  rssMb: number;
  peakMb: number;
  waiting: number;
  running: number;
  /** Longest that the event loop was late since the last request, and its 99th percentile. */
  lateMs: { p99: number; most: number };
}

const status = (name: string): number =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) / 1024;

const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();

// The process that requested the measurement has exited.
process.once('disconnect', () => process.exit(0));
process.once('message', (given: Given) => {
  void (async () => {
    const kube = await kubeClient({ kubeconfig: given.kubeconfig, namespace: given.namespace });
    const store = await openStore({ url: given.postgresUrl });
    const bus = await connectBus({ url: given.natsUrl, name: 'controller', inboxPrefix: '_INBOX_controller' });
    const { term } = await startController({ kube, bus, store, ...given, quiet: true });
    process.on('message', () => {
      const { user, system } = process.cpuUsage();
      const { waiting, held: running } = term.leader.ledger;
      process.send?.({
        cpuMs: (user + system) / 1000,
        rssMb: status('VmRSS'),
        peakMb: status('VmHWM'),
        waiting,
        running,
        lateMs: { p99: delay.percentile(99) / 1e6, most: delay.max / 1e6 },
      } satisfies Cost);
      delay.reset();
    });
    process.send?.(store.clock.now() - term.since);
  })();
});
