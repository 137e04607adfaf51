import { CodedError } from '../../base/coded_error.ts';

/** All failures of the record, each with a stable code. */
export class StoreError extends CodedError<
  | 'unreachable'
  | 'timeout'
  | 'query-failed'
  | 'bad-data'
  | 'migration-changed'
  | 'migration-failed'
  | 'not-ready'
  | 'invalid'
> {}

export const isStoreError = (error: unknown, ...codes: StoreError['code'][]): error is StoreError =>
  error instanceof StoreError && (codes.length === 0 || codes.includes(error.code));

const CONNECTION_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNABORTED',
]);
/** SQLSTATE of a write on a standby, or on a primary that was made read-only. */
export const READ_ONLY = '25006';
// 57P01-57P05: the server is shutting down or starting; 53300: too many connections; 08P01: a pooler has no server.
const SERVER_CODES = new RegExp(`^(08...|57P0[1-5]|53300|${READ_ONLY})$`);
// 53100: the disk is full; 53200: no memory is left; 53000: another resource. The statement was rolled back, and it
// succeeds once there is room.
const NO_ROOM = /^53[0-2]00$/;
// 28P01, 28000: a wrong password, or a role that may not sign in; 08P01: the same, from a pooler.
export function isRefused(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  const { code, message } = error;
  return code === '28P01' || code === '28000' || (code === '08P01' && /authentication failed/i.test(message));
}

const CONNECTION_MESSAGES =
  /Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Client was closed|^timeout expired$/;

/** Whether the connection or the server failed, not the query: the statement may or may not have been executed. */
export function isConnectionFailure(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some((inner) => isConnectionFailure(inner));
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return (
    isRefused(error) ||
    CONNECTION_CODES.has(code) ||
    SERVER_CODES.test(code) ||
    NO_ROOM.test(code) ||
    CONNECTION_MESSAGES.test(error.message)
  );
}

// 22: a value that its column or function rejects; 54000: one too long for its index. Retrying cannot succeed.
const DATA_CODES = /^(22...|54000)$/;

/**
 * Queries carry sources and tokens only as parameters, which pg's error messages do not repeat. `detail` may, and stays
 * in the cause.
 */
export function asStoreError(error: unknown, what: string): StoreError {
  if (error instanceof StoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === 'string' && NO_ROOM.test(code))
    return new StoreError('unreachable', `${what}: Postgres is out of resources (${message})`, { cause: error });
  // As while a password is exchanged. The message names the role, and nothing else.
  if (isRefused(error))
    return new StoreError('unreachable', `${what}: Postgres refuses this role (${message})`, { cause: error });
  if (isConnectionFailure(error))
    return new StoreError('unreachable', `${what}: Postgres cannot be reached (${message})`, { cause: error });
  // Postgres quotes the value in these errors, and it may be a secret: message and cause are both dropped.
  if (typeof code === 'string' && DATA_CODES.test(code))
    return new StoreError('bad-data', `${what}: Postgres rejected a value (SQLSTATE ${code})`);
  if (code === '3D000')
    return new StoreError('not-ready', `${what}: Postgres does not have this database (SQLSTATE ${code})`, {
      cause: error,
    });
  const late = code === '57014' || /Query read timeout/.test(message);
  return new StoreError(late ? 'timeout' : 'query-failed', `${what}: ${message}`, { cause: error });
}
