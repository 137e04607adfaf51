/** `DELETE auth/sign-out`: ends the calling session, or all sessions of the user. */
import Type from 'typebox';
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { endpoint } from '../../http/endpoint.ts';
import { RetUrl, safeRetUrl } from '../fields.ts';
import { checkedBy } from '../../http/read_input.ts';
import { clearCookie } from '../../http/cookies.ts';

const Query = Type.Object(
  { 'logout-all': Type.Boolean({ default: false, description: 'End every session of the user.' }), 'ret-url': RetUrl },
  { additionalProperties: false },
);
const Answer = Type.Object(
  { success: Type.Literal(true), 'ret-url': Type.Unsafe<string | null>({ type: ['string', 'null'] }) },
  { additionalProperties: false },
);

async function endCalling(deps: Deps, ctx: Context): Promise<void> {
  const { userId, sessionId } = callerOf(ctx);
  const asked = checkedBy(Query, ctx);
  if (asked['logout-all']) await deps.store.endSessions(userId);
  else if (sessionId !== null) await deps.store.endSession(userId, sessionId);
  clearCookie(ctx, deps);
  ctx.body = { success: true, 'ret-url': safeRetUrl(asked['ret-url']) };
}

export const signOut = endpoint(
  'DELETE auth/sign-out',
  {
    id: 'signOut',
    tag: 'auth',
    summary: 'Sign out',
    query: Query,
    description: 'A call with an API token has no session to end, unless `logout-all` is set.',
    answer: { description: 'Signed out.', schema: Answer },
  },
  endCalling,
);
