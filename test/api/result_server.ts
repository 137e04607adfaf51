/**
 * The API as a separate process, for tests of its memory: on a real Postgres, without NATS and an API server, which
 * reading back an ended request does not need.
 */
import type { Accounts } from '../../src/service/accounts/accounts.ts';
import type { Deps } from '../../src/service/api/deps.ts';
import { DEFAULTS } from './default_settings.ts';
import { makeDrain } from '../../src/service/api/health_routes.ts';
import { listen } from '../../src/service/api/http/http_server.ts';
import { makeMetrics } from '../../src/service/api/api_metrics.ts';
import { makeApp } from '../../src/service/api/server.ts';
import { TokenCache } from '../../src/service/api/http/token_cache.ts';
import { makeAccountRates } from '../../src/service/api/http/rate.ts';
import { makeOverload } from '../../src/service/api/http/overload.ts';
import { makeWorkPool } from '../../src/service/api/work/pool.ts';
import { makePaces } from '../../src/service/result/pace.ts';
import { MemoryBudget } from '../../src/service/result/memory_budget.ts';
import { WHOLE } from '../../src/service/result/unpack.ts';
import { makeLog } from '../../src/base/log.ts';
import { openStore } from '../../src/platform/store/store.ts';

const [, , url, budgetBytes] = process.argv as [string, string, string, string];
const store = await openStore({ url });
const metrics = makeMetrics(() => 0);
const deps: Partial<Deps> = {
  store,
  metrics,
  drain: makeDrain(),
  log: makeLog('api', { logLevel: 'warn', podName: 'test' } as Parameters<typeof makeLog>[1]),
  tokens: new TokenCache({ find: store.findToken, listening: () => false, onLookup: metrics.tokenLookup }),
  accounts: {
    ownHosts: [],
    settings: { trustedHops: 0, publicUrl: '', boxKeys: () => ({ keys: [] }) },
  } as unknown as Accounts,
  issuers: new Map(),
  memory: new MemoryBudget({ totalBytes: Number(budgetBytes), wholeBytes: WHOLE }),
  paceOf: makePaces(),
  accountRates: makeAccountRates(),
  work: makeWorkPool({ paceOf: makePaces() }),
  overload: makeOverload(makePaces(), () => {}),
  settings: { ...DEFAULTS, namespace: 'test', replica: 'test', allowSources: [], denyCidrs: [] },
};
const server = await listen(
  makeApp(deps as Deps, {} as never).callback(),
  { host: '127.0.0.1', port: 0 },
  () => store.newRequest().id,
);
process.send?.({ port: server.port });
process.once('disconnect', () => process.exit(0));
