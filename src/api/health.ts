/** `/healthz`: this process answers. `/readyz`: it can do its work now; where not, the reasons. */
import type { Drain } from './http/drain.ts';
import { methods, noCache } from './http/middleware.ts';
import type { Handler } from './http/context.ts';

/** Each gives what is wrong, or null. */
export type Checks = Record<string, () => Promise<string | null> | string | null>;

const DEADLINE_MS = 1_500;

async function judge(check: Checks[string]): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, DEADLINE_MS, `no answer within ${DEADLINE_MS} ms`);
  });
  try {
    return await Promise.race([Promise.resolve(check()), late]);
  } catch (error) {
    return (error as { code?: string }).code ?? 'failed';
  } finally {
    clearTimeout(timer);
  }
}

export const healthz: Handler[] = [
  methods('GET', 'HEAD'),
  noCache,
  (ctx) => {
    ctx.body = { ok: true };
  },
];

export const readyz = (checks: Checks, drain: Pick<Drain, 'started'>): Handler[] => [
  methods('GET', 'HEAD'),
  noCache,
  async (ctx) => {
    const found = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await judge(check)] as const),
    );
    const reasons: Record<string, string> = Object.fromEntries(
      found.filter((one): one is [string, string] => one[1] !== null),
    );
    if (drain.started) reasons['drain'] = 'this replica is shutting down';
    const ready = Object.keys(reasons).length === 0;
    ctx.status = ready ? 200 : 503;
    ctx.body = { ready, ...(ready ? {} : { reasons }) };
  },
];
