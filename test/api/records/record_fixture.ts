/** The management endpoints on a real record alone, for endpoints that only read it. */
import { randomBytes } from 'node:crypto';
import Router from '@koa/router';
import Koa from 'koa';
import { pino } from 'pino';
import type { State } from '../../../src/service/api/http/request_context.ts';
import type { Deps } from '../../../src/service/api/deps.ts';
import { listen } from '../../../src/service/api/http/http_server.ts';
import { mount, type Endpoint } from '../../../src/service/api/http/endpoint.ts';
import { errorHandler, requestId } from '../../../src/service/api/http/middleware.ts';
import { makeAccountRates } from '../../../src/service/api/http/rate.ts';
import { makePaces } from '../../../src/service/result/pace.ts';
import { MemoryBudget } from '../../../src/service/result/memory_budget.ts';
import { WHOLE } from '../../../src/service/result/unpack.ts';
import { PERMISSIONS } from '../../../src/platform/store/permissions.ts';
import { sha256, type StoreFixture, startStore } from '../../store/fixture.ts';

export interface RecordFixture {
  stored: StoreFixture;
  /** Every log line, as text. */
  log: string[];
  /** A user, and a token with all permissions of that user. */
  newUser(change?: {
    role?: 'user' | 'sub' | 'admin';
    parent?: number;
  }): Promise<{ userId: number; tokenId: number; token: string }>;
  newToken(userId: number): Promise<{ tokenId: number; token: string }>;
  get(path: string, token: string): Promise<{ status: number; body: any }>;
  stop(): Promise<void>;
}

export async function startRecord(endpoints: readonly Endpoint[]): Promise<RecordFixture> {
  const stored = await startStore();
  const log: string[] = [];
  const logger = pino(
    { level: 'trace' },
    {
      write: (line: string) => {
        log.push(line);
      },
    },
  );
  const app = new Koa<State>();
  const router = new Router<State>();
  const deps = {
    log: logger,
    store: stored.store,
    tokens: { get: (hash: Buffer) => stored.store.findToken(hash) },
    accounts: { ownHosts: [], settings: { trustedHops: 0, publicUrl: '' } },
    memory: new MemoryBudget({ totalBytes: 160_000_000, wholeBytes: WHOLE }),
    paceOf: makePaces(),
    accountRates: makeAccountRates(),
  } as unknown as Deps;
  app.use(requestId(() => stored.store.newRequest().id));
  app.use(errorHandler(logger, { failed: () => {} }));
  mount(router, deps, endpoints);
  app.use(router.routes());
  const server = await listen(app.callback(), { host: '127.0.0.1', port: 0 }, () => stored.store.newRequest().id);
  const newToken = async (userId: number) => {
    const token = randomBytes(32).toString('hex');
    const [row] = await stored.sql<{ id: string }>(
      'insert into tokens (user_id, name, sha256) values ($1, $2, $3) returning id',
      [userId, 'test', sha256(token)],
    );
    return { token, tokenId: Number(row?.id) };
  };
  return {
    stored,
    log,
    newToken,
    async newUser({ role = 'user', parent } = {}) {
      const [row] = await stored.sql<{ id: string }>(
        'insert into users (email, status, role, parent_id, root_id, permissions, ' +
          `requests_per_minute) values ($1, 'active', $2, $3, (select coalesce(root_id, ` +
          'id) from users where id = $3), $4, 1000000) returning id',
        [
          `${randomBytes(6).toString('hex')}@example.org`,
          role,
          parent ?? null,
          role === 'admin' ? [...PERMISSIONS] : ['read:media', 'read:statistics', 'write:media'],
        ],
      );
      const userId = Number(row?.id);
      return { userId, ...(await newToken(userId)) };
    },
    async get(path, token) {
      const response = await fetch(`http://127.0.0.1:${server.port}/frontend/api/v1/${path}`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      return { status: response.status, body: await response.json() };
    },
    async stop() {
      await server.close(1_000);
      await stored.close();
    },
  };
}
