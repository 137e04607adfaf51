/** The fields of a token that callers set. */
import Type, { type Static } from 'typebox';
import { latestEnd, type Caller } from '../../../accounts/caller.ts';
import { NAMED_ONLY } from '../../../../platform/store/permissions.ts';
import { PLAIN } from '../../http/fields.ts';
import { ApiError, invalid } from '../../errors.ts';
import { Permissions } from '../fields.ts';
import { AskedLimits } from '../limits.ts';

const MAX_TTL_MS = 3_155_760_000_000;

export const TokenFields = {
  name: Type.Optional(Type.String({ maxLength: 100, pattern: PLAIN, description: 'A name for the token.' })),
  ttl: Type.Optional(
    Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 1000,
      maximum: MAX_TTL_MS,
      description: 'Validity in milliseconds from now; null: until it is revoked.',
    }),
  ),
  permissions: Type.Optional(
    Type.Unsafe<Static<typeof Permissions> | null>({
      ...Permissions,
      type: ['array', 'null'],
      description:
        'The subset of the permissions of its user; null: all of them. A new token without this field gets all but ' +
        `\`${NAMED_ONLY}\`.`,
    }),
  ),
  limits: Type.Optional(
    Type.Object(AskedLimits, {
      additionalProperties: false,
      description: "Limits below the user's; higher values have no effect.",
    }),
  ),
};

/** A new token cannot have more permissions than the credential that creates it. */
export function checkGiven(
  caller: Pick<Caller, 'permissions'>,
  permissions: readonly string[] | null | undefined,
): void {
  const beyond = permissions?.find((name) => !caller.permissions.includes(name));
  if (beyond !== undefined)
    throw new ApiError('beyond-caller', {
      text: `permissions: you cannot grant ${beyond}, which the calling credential lacks`,
    });
}

/** The token's expiry: no later than that of the credential that creates it, except for the JWT of a sign-in. */
export function expiryOf(
  caller: Pick<Caller, 'signedIn' | 'expiresAt'>,
  ttl: number | null | undefined,
  now: number,
): Date | null | undefined {
  if (ttl === undefined) return undefined;
  const end = ttl === null ? null : new Date(now + ttl);
  const latest = latestEnd(caller);
  if (latest !== null && (end === null || end > latest))
    throw invalid('ttl', `must end no later than the calling credential, ${latest.toISOString()}`);
  return end;
}
