/** What the endpoints work with. All of it is handed in, so that tests put real servers and their own ends together. */
import type { JSONWebKeySet } from 'jose';
import type { Accounts } from '../accounts/accounts.ts';
import type { Early } from '../bus/messages.ts';
import type { MemoryBudget } from '../result/memory_budget.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Logger } from '../log.ts';
import type { SourceException } from '../source_exception.ts';
import type { Store } from '../store/store.ts';
import type { NewestSnapshot } from './cluster/newest.ts';
import type { Catalog } from './probe/catalog.ts';
import type { Drain } from './http/drain.ts';
import type { HandOver } from './probe/hand_over.ts';
import type { QueueRoom } from './probe/queue_room.ts';
import type { Metrics } from './metrics.ts';
import type { TokenCache } from './http/token_cache.ts';
import type { Waiting } from './probe/waiting.ts';

export interface Settings {
  namespace: string;
  /** Whom ends are told. */
  replica: string;
  allowSources: readonly SourceException[];
  denyCidrs: readonly string[];
  /** Names that speak S3 beside Amazon's. */
  s3Hosts: readonly string[];
  /** `inject_output` where a caller does not say. */
  onlyReturnsRaw: boolean;
  /** How many may wait over all tokens. */
  maxQueued: number;
  /** What results may take in memory while they are read, answered and delivered. */
  memoryBudgetBytes: number;
  /** The folder of the console's files. Null: there is no console. */
  consoleFolder: string | null;
  /** How much longer than queue and analysis a request is waited for: lost runners, failover, collecting. */
  graceMs: number;
}

export const DEFAULTS = {
  s3Hosts: [],
  onlyReturnsRaw: false,
  maxQueued: 10_000,
  memoryBudgetBytes: 160_000_000,
  consoleFolder: null,
  graceMs: 60_000,
} as const;

export interface Deps {
  store: Store;
  accounts: Accounts;
  kube: Pick<KubeClient, 'create' | 'delete' | 'get'>;
  /** Tells the leader of a job that is being created. Lost or not: nothing depends on it. */
  tellEarly(early: Early): void;
  catalog(): Catalog;
  tokens: Pick<TokenCache, 'get'>;
  sealKeys(): JSONWebKeySet;
  waiting: Waiting;
  cluster: Pick<NewestSnapshot, 'read'>;
  drain: Drain;
  handOver: HandOver;
  queueRoom: QueueRoom;
  memory: MemoryBudget;
  metrics: Metrics;
  log: Logger;
  settings: Settings;
}
