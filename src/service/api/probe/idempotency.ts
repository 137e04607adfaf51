/**
 * `Idempotency-Key`: the same key and body return the first request's result, the same key with another body is 400.
 */
import { createHash } from 'node:crypto';
import type { OpenInput } from '../../../platform/store/records.ts';
import type { Context } from '../http/context.ts';
import { ApiError } from '../errors.ts';

const KEY = /^[\x21-\x7e]{1,255}$/;

/** A canonical form of a request, independent of the order of members and of the encoding. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

export function idempotencyOf(
  ctx: Pick<Context, 'method' | 'get'>,
  endpoint: string,
  request: object,
): OpenInput['idempotency'] {
  const key = ctx.get('Idempotency-Key');
  if (key === '' || ctx.method !== 'POST') return null;
  if (!KEY.test(key)) throw new ApiError('idempotency-key');
  return {
    key,
    bodySha256: createHash('sha256')
      .update(`${endpoint}\n${canonical(request)}`)
      .digest(),
  };
}
