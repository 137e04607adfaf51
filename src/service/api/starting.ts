/** Answers of a replica that does not yet have its connections: alive, not ready, and 503 for callers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { uuidv7 } from '../../platform/store/uuid.ts';
import { ApiError } from './errors.ts';
import { errorBody } from './http/error_body.ts';
import { isManagement } from './http/side.ts';

const RETRY_AFTER_S = 5;

/** By this process' clock: the clock of the record is not known yet. */
export const provisionalId = (): string => uuidv7(Date.now());

const HEALTH: Readonly<Record<string, [status: number, body: object]>> = {
  '/healthz': [200, { ok: true }],
  '/readyz': [503, { ready: false, reasons: { start: 'this replica is starting' } }],
};

export const starting = () =>
  function answerWhileStarting(request: IncomingMessage, response: ServerResponse): void {
    const path = (request.url ?? '').split('?')[0] ?? '';
    const id = provisionalId();
    const error = new ApiError('unavailable', { retryAfterS: RETRY_AFTER_S });
    const health = HEALTH[path];
    const [status, body] = health ?? [
      error.status,
      isManagement(path) ? errorBody(error, id) : { error: error.message },
    ];
    response.writeHead(status, {
      'Content-Type': 'application/json; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Request-Id': id,
      ...(health ? {} : error.headers),
      // The next request of this connection should reach the started application.
      Connection: 'close',
    });
    response.end(request.method === 'HEAD' ? undefined : JSON.stringify(body));
  };
