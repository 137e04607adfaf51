/** `/healthz` and `/readyz` for the API's callers. */
import { healthOf, type Checks } from '../health.ts';
import type { Handler } from './http/context.ts';
import { methods, noCache } from './http/middleware.ts';

const answerHealth = (member: 'ok' | 'ready', checks: Checks): Handler[] => [
  methods('GET', 'HEAD'),
  noCache,
  async function health(ctx) {
    const { status, body } = await healthOf(member, checks);
    ctx.status = status;
    ctx.body = body;
  },
];

export const healthz = answerHealth('ok', {});
export const readyz = (checks: Checks): Handler[] => answerHealth('ready', checks);
