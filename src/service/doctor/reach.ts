import { connect } from 'node:net';
import type { Target } from './settings.ts';

const CONNECT_MS = 3_000;

/** Whether a TCP connection is made. A refused one counts as closed: some networks refuse what a policy denies. */
export function reaches({ host, port }: Target, ms = CONNECT_MS): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (open: boolean): void => {
      socket.destroy();
      resolve(open);
    };
    socket.setTimeout(ms, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
