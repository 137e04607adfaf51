/**
 * The API as a separate process, for tests of its memory: on a real Postgres, without NATS and an API server, which
 * reading back an ended request does not need.
 */
import type { Accounts } from '../../src/accounts/accounts.ts';
import { DEFAULTS, type Deps } from '../../src/api/deps.ts';
import { makeDrain } from '../../src/api/http/drain.ts';
import { listen } from '../../src/api/http/http_server.ts';
import { makeMetrics } from '../../src/api/metrics.ts';
import { makeApp } from '../../src/api/server.ts';
import { makeTokenCache } from '../../src/api/http/token_cache.ts';
import { makeAccountRates } from '../../src/api/http/rate.ts';
import { makeOverload } from '../../src/api/http/overload.ts';
import { makeWorkPool } from '../../src/api/work/pool.ts';
import { makePaces } from '../../src/result/pace.ts';
import { makeMemoryBudget } from '../../src/result/memory_budget.ts';
import { WHOLE } from '../../src/result/unpack.ts';
import { makeLog } from '../../src/log.ts';
import { openStore } from '../../src/store/store.ts';

const [, , url, budgetBytes] = process.argv as [string, string, string, string];
const store = await openStore({ url });
const metrics = makeMetrics(() => 0);
const deps: Partial<Deps> = {
  store,
  metrics,
  drain: makeDrain(),
  log: makeLog('api', { logLevel: 'warn', podName: 'test' } as Parameters<typeof makeLog>[1]),
  tokens: makeTokenCache({ find: store.findToken, listening: () => false, onLookup: metrics.tokenLookup }),
  accounts: {
    ownHosts: [],
    settings: { trustedHops: 0, publicUrl: '', boxKeys: () => ({ keys: [] }) },
  } as unknown as Accounts,
  memory: makeMemoryBudget({ totalBytes: Number(budgetBytes), wholeBytes: WHOLE }),
  paceOf: makePaces(),
  accountRates: makeAccountRates(),
  work: makeWorkPool({ paceOf: makePaces() }),
  overload: makeOverload({ paceOf: makePaces(), onRefused: () => {} }),
  settings: { ...DEFAULTS, namespace: 'test', replica: 'test', allowSources: [], denyCidrs: [] },
};
const server = await listen(
  makeApp(deps as Deps, {} as never).callback(),
  { host: '127.0.0.1', port: 0 },
  () => store.newRequest().id,
);
process.send?.({ port: server.port });
process.once('disconnect', () => process.exit(0));
