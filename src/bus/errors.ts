import { NatsError } from 'nats';

/** Everything that can go wrong on the road, by a stable code. A lost message is no error: it is sent again. */
export class BusError extends Error {
  readonly code:
    'no-responders' | 'timeout' | 'disconnected' | 'refused' | 'no-stream' | 'bad-message' | 'bad-result' | 'failed';
  constructor(code: BusError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'BusError';
    this.code = code;
  }
}

const CODES: Record<string, BusError['code']> = {
  503: 'no-responders',
  TIMEOUT: 'timeout',
  CONNECTION_CLOSED: 'disconnected',
  CONNECTION_DRAINING: 'disconnected',
  CONNECTION_REFUSED: 'disconnected',
  CONNECTION_TIMEOUT: 'disconnected',
  DISCONNECT: 'disconnected',
  PERMISSIONS_VIOLATION: 'refused',
  AUTHORIZATION_VIOLATION: 'refused',
};

export function asBusError(error: unknown, what: string): BusError {
  if (error instanceof BusError) return error;
  const { api_error: said } = error instanceof NatsError ? error : {};
  // JetStream's own words: the client's message is a bare number, and 503 means "no responders" only where JetStream
  // did not answer.
  const message = said?.description ?? (error instanceof Error ? error.message : String(error));
  const code = error instanceof NatsError && !said ? CODES[error.code] : undefined;
  return new BusError(code ?? 'failed', `${what}: ${message}`, { cause: error });
}

/** Errors of JetStream's API that say that the stream or the consumer is not (or no longer) there. */
export function isMissing(error: unknown): boolean {
  if (!(error instanceof NatsError)) return false;
  // A full stream is there: it answers 503, too, but in JetStream's own words.
  return error.api_error ? error.api_error.code === 404 : error.code === '503' || error.code === '404';
}
