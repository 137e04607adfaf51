/** The error bodies of both kinds of endpoints, and the errors that all operations share. */
import Type, { type TSchema } from 'typebox';
import { ERRORS } from '../errors.ts';
import { isManagement } from '../http/side.ts';
import type { Operation, Response } from './operation.ts';

/** 49900 only occurs in the log, because its caller has disconnected. */
const NUMBERS = [...new Set(Object.values(ERRORS).map(({ number }) => number))].filter((number) => number !== 49900);

const GatewayErrorSchema = Type.Object(
  { error: Type.String({ description: 'A human-readable message.' }) },
  { title: 'GatewayError', additionalProperties: false },
);

const ManagementErrorSchema = Type.Object(
  {
    code: Type.Integer({
      description: `The status and two digits that distinguish errors with the same status: ${NUMBERS.join(', ')}.`,
    }),
    context: Type.Object(
      {
        field: Type.Optional(Type.String({ description: 'The invalid field.' })),
        'request-id': Type.Optional(Type.String({ description: 'The id to report to the operator.' })),
      },
      { additionalProperties: false },
    ),
    error: Type.String({ description: 'A human-readable message.' }),
    status: Type.String({ description: 'The reason phrase of the status.' }),
  },
  { title: 'ManagementError', additionalProperties: false },
);

const seconds = Type.String({ description: 'Seconds.', pattern: '^[0-9]+$' });

const TEXTS: Record<number, string> = {
  400: 'A field is invalid, unknown or missing; the error names it.',
  401: 'The credential is missing, malformed, expired or revoked.',
  403: 'The credential lacks the permission, its account is not active, or its quota is used up.',
  404: 'Not found, or not visible to the caller.',
  409: 'The request conflicts with the current state.',
  429: 'Too many requests, or too many unknown tokens from this address.',
  500: 'Internal error.',
  503:
    'The service is not available: a dependency is unreachable, the memory budget of answers is used up, or this ' +
    'server is overloaded.',
};

/** The error response of a status, with the body for the path's kind of endpoint. */
export function errorResponse(
  path: string,
  status: number,
  description = TEXTS[status] ?? 'An error.',
  headers: Response['headers'] = {},
): Response {
  const schema: TSchema = isManagement(path) ? ManagementErrorSchema : GatewayErrorSchema;
  const own: NonNullable<Response['headers']> =
    status === 401
      ? { 'WWW-Authenticate': { description: 'Bearer', schema: Type.String() } }
      : status === 429 || status === 503
        ? { 'Retry-After': { description: 'Seconds to wait before a retry.', schema: seconds } }
        : {};
  return { description, schema, headers: { ...own, ...headers } };
}

/** The errors that are added to every operation. */
export function commonErrors({ path, security, query, body, params }: Operation): Record<number, Response> {
  const statuses = [
    ...(query || body ? [400] : []),
    ...(security === 'none' ? [] : [401, 403, 429]),
    ...(params ? [404] : []),
    500,
    503,
  ];
  return Object.fromEntries(statuses.map((status) => [status, errorResponse(path, status)]));
}
