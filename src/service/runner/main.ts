/** The `agent` role: starts its parts, and stops them in order. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { connectBus } from '../../platform/bus/connect.ts';
import { RUNNER_PROTOCOL } from '../../platform/bus/messages.ts';
import { INBOX } from '../../platform/bus/permissions.ts';
import { connectionName, makeRunnerId } from '../../platform/bus/runner_id.ts';
import { loadConfig } from '../../base/config.ts';
import { makeLog } from '../../base/log.ts';
import { signals } from '../../base/signals.ts';
import { startProxy } from '../../source/proxy.ts';
import { Agent } from './agent.ts';
import { serveHealth } from '../../base/health.ts';
import { Launcher } from './launcher.ts';
import { beginLife } from './renewal.ts';
import { watchWalls } from './walls.ts';

/** Only the leader knows how long a start may take: on a node under load the other container starts minutes later. */
const LAUNCHER_WITHIN_MS = 600_000;
const OUTPUT_BYTES = 64 * 1024 * 1024;

export async function run(): Promise<void> {
  const config = loadConfig('agent');
  const { podName, podUid, podIp, namespace, sourceFd, life, settings } = config;
  const uid = makeRunnerId({ podUid, life });
  const { caFile, ...sources } = settings.sources;
  const log = makeLog('agent', { podName, logLevel: settings.logLevel });
  const stopping = signals();
  // Readiness is reported to the leader only by heartbeats.
  const health = await serveHealth({ host: podIp || undefined, port: settings.healthPort }, {});
  const launcher = new Launcher(settings.launcherSocket, {
    onConnect: () => log.info('launcher connected'),
    onLost: () => log.warn('launcher lost'),
  });
  const [bus, proxy] = await Promise.all([
    connectBus({
      ...settings.nats,
      name: connectionName(podName, life),
      inboxPrefix: INBOX.runner(uid),
      onStatus: (status) => log.info({ status }, 'NATS status'),
      onError: (error) => log.warn({ err: error }, 'NATS error'),
    }),
    startProxy({ ...sources, listenFd: sourceFd, ...(caFile ? { ca: readFileSync(caFile, 'utf8') } : {}) }),
    launcher.whenConnected(LAUNCHER_WITHIN_MS),
  ]);
  // If only the agent restarted, processes of its last job may still run.
  if (!(await launcher.killAll())) throw new Error('the tools container could not be cleaned');

  const walls = watchWalls({ toolWall: () => launcher.wall(), networkEnforced: config.networkEnforced ?? undefined });
  const agent = new Agent({
    bus,
    launcher,
    proxy,
    identity: {
      protocol: RUNNER_PROTOCOL,
      pod: podName,
      uid,
      namespace,
      pool: settings.pool,
      generation: settings.generation,
    },
    settings: {
      toolsDir: settings.toolsDir,
      // The same path as in the tools container.
      nodePath: process.execPath,
      outputBytes: OUTPUT_BYTES,
      memoryBytes: settings.toolMemoryBytes,
      jobsBefore: config.jobsBefore,
    },
    log,
    walls,
  });
  log.info({ pool: settings.pool, generation: settings.generation, life }, 'ready');

  const asked = stopping.serving();
  let isAsked = false;
  void asked.then(() => (isAsked = true));
  const ended = Promise.race([agent.ended, agent.renewed]);
  const why = await Promise.race([asked, ended.then(() => '')]);
  // A job that takes longer than the drain is retried on another runner.
  if (why) await Promise.race([agent.drain(why), delay(settings.drainMs)]);
  log.info('stopping');
  const { renewing, jobsDone } = agent.state();
  await agent.close();
  launcher.close();
  await Promise.allSettled([bus.drain(), proxy.close()]);
  health.close();
  health.closeAllConnections();
  // A pod that is being deleted begins no other life.
  if (renewing && !isAsked) beginLife({ life: life + 1, jobsDone, networkEnforced: walls().NetworkEnforced });
  process.exit(0);
}
