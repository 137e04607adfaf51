import type { ClientRequest } from 'node:http';
import { endlessInterim } from '../failures.ts';

/** Usually one or two precede a response. */
const MOST = 16;

/** Aborts a request whose host floods it with 1xx responses: reading them would occupy the event loop. */
export function boundInterim(request: ClientRequest): void {
  let count = 0;
  request.on('information', () => {
    count += 1;
    if (count > MOST) request.destroy(endlessInterim());
  });
}
