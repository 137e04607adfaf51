/** What an error looks like on the management side. */
import { STATUS_CODES } from 'node:http';
import type { GatewayError } from '../errors.ts';

/** Beside the status times 100. */
const SECOND: Record<string, number> = { 'bad-credential': 1, 'account-inactive': 1, quota: 2 };

export function errorBody(error: Pick<GatewayError, 'status' | 'code' | 'message' | 'field'>, requestId: string) {
  const context =
    error.status === 500 ? { 'request-id': requestId } : error.field === undefined ? {} : { field: error.field };
  return {
    code: error.status * 100 + (SECOND[error.code] ?? 0),
    context,
    error: error.message,
    status: STATUS_CODES[error.status] ?? '',
  };
}
