/** `DELETE auth/api-token/{id}`: ends the token on every replica at once, with all credentials created with it. */
import { mayChange } from '../../../accounts/authority.ts';
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { ApiError, notFound } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { findToken } from './find.ts';
import { TokenParam } from './read.ts';

async function revoke(deps: Deps, ctx: Context): Promise<void> {
  const caller = callerOf(ctx);
  const { token, owner, own } = await findToken(deps, ctx, caller);
  if (!own && !mayChange(caller, owner)) throw new ApiError('not-yours', { text: 'you cannot revoke this token' });
  if (token.isDefault) throw new ApiError('default-token');
  if (!(await deps.store.revokeToken(token.id))) throw notFound();
  ctx.status = 204;
}

export const revokeToken = endpoint(
  'DELETE auth/api-token/:id',
  {
    id: 'revokeApiToken',
    tag: 'auth',
    summary: 'Revoke an API token',
    params: { id: TokenParam },
    also: [409],
    answer: { description: 'The token is revoked, with the JWTs and tokens created with it.' },
  },
  revoke,
);
