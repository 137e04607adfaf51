/** Finds a token by its id or its text, among those that the caller may see. */
import { endsNoLater, reachesNoFurther } from '../../../accounts/authority.ts';
import { seesEveryone, type Caller } from '../../../accounts/caller.ts';
import type { ApiTokenRecord } from '../../../../platform/store/api_tokens.ts';
import { isToken, tokenSha256 } from '../../../../platform/store/token_text.ts';
import type { UserRecord } from '../../../../platform/store/users.ts';
import { type Context, paramOf } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';

const ID = /^[1-9][0-9]{0,14}$/;

export interface FoundToken {
  token: ApiTokenRecord;
  owner: UserRecord;
  own: boolean;
  /**
   * True for the caller's own token without permissions that the caller lacks, and without a later expiry. It may be
   * shown, rotated and extended.
   */
  reachable: boolean;
}

export async function findToken({ store }: Pick<Deps, 'store'>, ctx: Context, caller: Caller): Promise<FoundToken> {
  const given = paramOf(ctx);
  if (!isToken(given) && !ID.test(given)) throw notFound();
  const token = await store.readToken(isToken(given) ? { sha256: tokenSha256(given) } : { id: Number(given) });
  const owner = token && (await store.findUser(token.userId, seesEveryone(caller) ? null : caller.userId));
  if (!token || !owner) throw notFound();
  const own = owner.id === caller.userId;
  return {
    token,
    owner,
    own,
    reachable: own && reachesNoFurther(caller, owner, token.permissions) && endsNoLater(caller, token.expiresAt),
  };
}
