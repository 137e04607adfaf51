/** `DELETE auth/session`: logs out everywhere. */
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { endpoint } from '../../http/endpoint.ts';

async function endAll({ store }: Deps, ctx: Context): Promise<void> {
  await store.endSessions(callerOf(ctx).userId);
  ctx.status = 204;
}

export const endSessions = endpoint(
  'DELETE auth/session',
  {
    id: 'endSessions',
    tag: 'auth',
    summary: 'Log out everywhere',
    answer: { description: 'All sessions have ended, including the calling one.' },
  },
  endAll,
);
