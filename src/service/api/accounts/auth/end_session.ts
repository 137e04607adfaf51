/** `DELETE auth/session/{id}`: ends one of the caller's sessions. */
import { callerOf, type Context, uuidOf } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Uuid } from '../fields.ts';

async function endOne({ store }: Deps, ctx: Context): Promise<void> {
  if (!(await store.endSession(callerOf(ctx).userId, uuidOf(ctx)))) throw notFound();
  ctx.status = 204;
}

export const endSession = endpoint(
  'DELETE auth/session/:id',
  {
    id: 'endSession',
    tag: 'auth',
    summary: 'End a session',
    params: { id: Uuid },
    answer: { description: 'The session has ended.' },
  },
  endOne,
);
