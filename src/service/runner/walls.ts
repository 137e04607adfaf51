/** Detects the walls around the agent's pod. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Walls } from '../../platform/bus/messages.ts';
import type { Wall as ToolWall } from './launcher_frames.ts';

/** Some networks enforce a policy only some time after a pod has started. */
const SETTLE_MS = 5_000;
const CONNECT_MS = 3_000;

/** The initial user namespace maps every id to itself. */
export const isUserNamespace = (uidMap: string): boolean => !/^\s*0\s+0\s+4294967295\s*$/.test(uidMap);

function reaches(host: string, port: number, ms = CONNECT_MS): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port });
  socket.setTimeout(ms, () => resolve(false));
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}

export interface WallsOptions {
  toolWall: () => ToolWall | undefined;
  env?: NodeJS.ProcessEnv;
  uidMapFile?: string;
  settleMs?: number;
  /** As tested in a former life of the pod. */
  networkEnforced?: boolean | undefined;
}

/**
 * Tests the NetworkPolicy with the API server's service: every pod knows its address, and the chart's policies let no
 * runner reach it.
 */
export function watchWalls({
  toolWall,
  env = process.env,
  uidMapFile = '/proc/self/uid_map',
  settleMs = SETTLE_MS,
  networkEnforced,
}: WallsOptions): () => Walls {
  const walls: Walls = networkEnforced === undefined ? {} : { NetworkEnforced: networkEnforced };
  try {
    walls.UserNamespace = isUserNamespace(readFileSync(uidMapFile, 'utf8'));
  } catch {
    // Unknown, which counts as missing if the pool requires it.
  }
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (host && port && networkEnforced === undefined)
    setTimeout(
      () =>
        void reaches(host, Number(port)).then((open) => {
          walls.NetworkEnforced = !open;
        }),
      settleMs,
    ).unref();
  return () => {
    const tools = toolWall();
    return { ...walls, ...(tools ? { SyscallFilter: tools === 'watched' } : {}) };
  };
}
