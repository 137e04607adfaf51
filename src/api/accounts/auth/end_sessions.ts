/** `DELETE auth/session`: logs out everywhere. */
import { callerOf, type Handler } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { endpoint } from '../../http/endpoint.ts';

const endAll =
  ({ store }: Deps): Handler =>
  async (ctx) => {
    await store.endSessions(callerOf(ctx).userId);
    ctx.status = 204;
  };

export const endSessions = endpoint(
  'DELETE auth/session',
  {
    id: 'endSessions',
    tag: 'auth',
    summary: 'Log out everywhere',
    answer: { description: 'All sessions have ended, including the calling one.' },
  },
  (deps) => [endAll(deps)],
);
