/**
 * NATS restarts under many runners: the time until all are back, and the longest time that the single controller that
 * authenticates them blocks its event loop (it must renew its lease meanwhile). Run: npm exec -- node
 * bench/bus/reconnect.ts [runners]
 */
import { randomUUID } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { serveCallout } from '../../src/platform/bus/callout.ts';
import { startBus } from '../../test/bus/fixture.ts';
import { until } from '../../test/until.ts';

const count = Number(process.argv[2] ?? 100);
const fixture = await startBus();
try {
  const controller = await fixture.controller();
  let decisions = 0;
  serveCallout(controller, {
    issuerSeed: fixture.issuerSeed,
    account: 'PROBEYARD',
    authorise: async (token) => ({ uid: token, pod: 'p' }),
    isOurPod: () => true,
    onDecision: () => {
      decisions++;
    },
  });
  await controller.flush();
  const start = performance.now();
  const runners = await Promise.all(
    Array.from({ length: count }, () => {
      const uid = randomUUID();
      return fixture.runner(uid, uid);
    }),
  );
  console.log(`${count} runners connected in ${Math.round(performance.now() - start)} ms, ${decisions} decisions`);
  decisions = 0;
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await fixture.server.restart();
  const up = performance.now();
  await until('all are back', () => runners.every((runner) => runner.connected()), 60_000);
  delay.disable();
  console.log(
    `after a restart all were back in ${Math.round(performance.now() - up)} ms, ${decisions} decisions, ` +
      `longest stretch ${Math.round(delay.max / 1e6)} ms (runners and controller share this process)`,
  );
} finally {
  await fixture.close();
}
