/** What an error looks like on the management side. */
import { STATUS_CODES } from 'node:http';
import Type from 'typebox';
import type { GatewayError } from '../errors.ts';

export const BASE = '/frontend/api/v1';
export const isManagement = (path: string): boolean => path === BASE || path.startsWith(`${BASE}/`);

export const ErrorBody = Type.Object(
  {
    code: Type.Integer({ description: '40000 invalid, 40100 no credential, 40101 a bad or expired one, 40300 no permission, 40301 account suspended or pending, 40302 over quota, 40400, 40500, 40900, 42900, 50000.' }),
    context: Type.Object({ field: Type.Optional(Type.String()), 'request-id': Type.Optional(Type.String()) }, { additionalProperties: false }),
    error: Type.String({ description: 'For people.' }),
    status: Type.String({ description: 'The reason phrase of the status.' }),
  },
  { additionalProperties: false },
);

/** Beside the status times 100. */
const SECOND: Record<string, number> = { 'bad-credential': 1, 'account-inactive': 1, quota: 2 };

export function errorBody(error: Pick<GatewayError, 'status' | 'code' | 'message' | 'field'>, requestId: string) {
  const context = error.status >= 500 ? { 'request-id': requestId } : error.field === undefined ? {} : { field: error.field };
  return { code: error.status * 100 + (SECOND[error.code] ?? 0), context, error: error.message, status: STATUS_CODES[error.status] ?? '' };
}
