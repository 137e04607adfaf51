/** The error bodies of both sides, and the errors that every operation shares. */
import Type, { type TSchema } from 'typebox';
import { ERRORS } from '../errors.ts';
import { isManagement } from '../http/side.ts';
import type { Operation, Response } from './operation.ts';

/** Without the one that nobody is left to receive. */
const NUMBERS = [...new Set(Object.values(ERRORS).map(({ number }) => number))].filter((number) => number !== 49900);

const GatewayErrorSchema = Type.Object(
  { error: Type.String({ description: 'What is wrong, for people.' }) },
  { title: 'GatewayError', additionalProperties: false },
);

const ManagementErrorSchema = Type.Object(
  {
    code: Type.Integer({
      description: `The status and two digits that tell apart what shares it: ${NUMBERS.join(', ')}.`,
    }),
    context: Type.Object(
      {
        field: Type.Optional(Type.String({ description: 'The field that is wrong.' })),
        'request-id': Type.Optional(Type.String({ description: 'To be named to the operator.' })),
      },
      { additionalProperties: false },
    ),
    error: Type.String({ description: 'What is wrong, for people.' }),
    status: Type.String({ description: 'The reason phrase of the status.' }),
  },
  { title: 'ManagementError', additionalProperties: false },
);

const seconds = Type.String({ description: 'Seconds.', pattern: '^[0-9]+$' });

const TEXTS: Record<number, string> = {
  400: 'A field is wrong, unknown or missing; the text names it.',
  401: 'The credential is missing, malformed, expired or revoked.',
  403: 'The credential lacks the permission, its account is not active, or its quota is used up.',
  404: "There is nothing here, or nothing of the caller's.",
  409: 'It collides with what is there.',
  429: 'Too many requests, or too many unknown tokens from this address.',
  500: 'Something went wrong on our side.',
  503: 'The service is not available right now: what it needs is away, or the memory budget of answers is used up.',
};

/** The error answer of a status, in the body of the side that the path is on. */
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
        ? { 'Retry-After': { description: 'When to come back.', schema: seconds } }
        : {};
  return { description, schema, headers: { ...own, ...headers } };
}

/** The errors that an operation can have without saying so. */
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
