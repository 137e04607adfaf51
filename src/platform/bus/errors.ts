import { NatsError } from 'nats';
import { CodedError } from '../../base/coded_error.ts';

/** All failures of the transport, each with a stable code. A lost message is not an error: it is sent again. */
export class BusError extends CodedError<
  'no-responders' | 'timeout' | 'disconnected' | 'refused' | 'no-stream' | 'bad-message' | 'bad-result' | 'failed'
> {}

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
  // Uses JetStream's description: the client's message is a bare number, and 503 means "no responders" only if
  // JetStream did not answer.
  const message = said?.description ?? (error instanceof Error ? error.message : String(error));
  const code = error instanceof NatsError && !said ? CODES[error.code] : undefined;
  return new BusError(code ?? 'failed', `${what}: ${message}`, { cause: error });
}

/** JetStream API errors for a stream or consumer that does not exist. */
export function isMissing(error: unknown): boolean {
  if (!(error instanceof NatsError)) return false;
  // A full stream also answers 503, but with JetStream's own error.
  return error.api_error ? error.api_error.code === 404 : error.code === '503' || error.code === '404';
}
