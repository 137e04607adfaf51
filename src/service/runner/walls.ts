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

/** Whether a TCP connection is made. A refused one counts as closed: some networks refuse what a policy denies. */
export function reaches(place: { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(place);
    const end = (open: boolean): void => {
      socket.destroy();
      resolve(open);
    };
    socket.setTimeout(CONNECT_MS, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
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
        void reaches({ host, port: Number(port) }).then((open) => {
          walls.NetworkEnforced = !open;
        }),
      settleMs,
    ).unref();
  return () => {
    const tools = toolWall();
    return { ...walls, ...(tools ? { SyscallFilter: tools === 'watched' } : {}) };
  };
}
