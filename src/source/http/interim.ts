import type { ClientRequest } from 'node:http';
import { SourceError } from '../error.ts';

/** One or two come before an answer, as a rule. */
const MOST = 16;

/** Ends a request whose host sends 1xx answers as fast as it can: reading them takes the whole event loop. */
export function boundInterim(request: ClientRequest): void {
  let count = 0;
  request.on('information', () => {
    count += 1;
    if (count > MOST)
      request.destroy(
        new SourceError('origin-unreachable', 'the host sends interim answers without an end', { reason: 'protocol' }),
      );
  });
}
