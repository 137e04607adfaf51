/** The error body of the management endpoints. */
import { STATUS_CODES } from 'node:http';
import type { ApiError } from '../errors.ts';

export function errorBody(error: Pick<ApiError, 'status' | 'number' | 'message' | 'field'>, requestId: string) {
  const context =
    error.status === 500 ? { 'request-id': requestId } : error.field === undefined ? {} : { field: error.field };
  return {
    code: error.number,
    context,
    error: error.message,
    status: STATUS_CODES[error.status] ?? '',
  };
}
