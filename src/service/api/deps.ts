/** Dependencies of the endpoints. They are all injected, so tests can combine real servers with their own parts. */
import type { JSONWebKeySet } from 'jose';
import type { Accounts } from '../accounts/accounts.ts';
import type { EventsServer } from '../../platform/bus/events_server.ts';
import type { ProbeJob } from '../../platform/kube/probe_job.ts';
import type { MemoryBudget } from '../result/memory_budget.ts';
import type { PaceOf } from '../result/pace.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import type { Logger } from '../../base/log.ts';
import type { Config } from '../../base/config.ts';
import type { Store } from '../../platform/store/store.ts';
import type { Tracer } from '../../platform/tracing/tracer.ts';
import type { newestSnapshot } from './cluster/cluster_endpoint.ts';
import type { Catalog } from './probe/tool_versions.ts';
import type { Drain } from './health_routes.ts';
import type { Issuers } from './sso/issuers.ts';
import type { makeAccountRates } from './http/rate.ts';
import type { makeHandOver } from './probe/job.ts';
import type { ResultCache } from './probe/result_cache.ts';
import type { makeObjectRoom, makeQueueRoom } from './probe/room.ts';
import type { Metrics } from './api_metrics.ts';
import type { TokenCache } from './http/token_cache.ts';
import type { StandingOf } from './probe/standing.ts';
import type { WorkPool } from './work/pool.ts';
import type { makeWaiting } from './probe/waiting_callers.ts';
import type { makeOverload } from './http/overload.ts';
import type { SourceException } from '../../base/source_settings.ts';
import type { Source } from '../../source/source.ts';
import type { PaceOptions } from '../../source/upload/pace.ts';
import type { Spool } from '../../source/upload/spool.ts';

type OfApi = Pick<
  Config<'api'>,
  | 'namespace'
  | 'replica'
  | 'allowSources'
  | 'allowWebhooks'
  | 'denyCidrs'
  | 's3Hosts'
  | 'onlyReturnsRaw'
  | 'maxQueued'
  | 'finishedMax'
  | 'cacheEnabled'
  | 'memoryBudgetBytes'
  | 'tenantNamespaces'
  | 'kueue'
  | 'batchMaxItems'
>;

export interface Settings extends OfApi {
  /** The folder of the console's files. Null: no console. */
  consoleFolder: string | null;
  /** The folder of the documentation. Null: it was not built, and only the API reference is served. */
  siteFolder: string | null;
  /** The command line, to be fetched (images/cli_bundle.ts). */
  clientFolder: string | null;
  /** The origin of samples. Null: there is none. */
  samplesUrl: string | null;
  /** How long a call of `/mcp` waits for the end of a request. Null: no `/mcp`. */
  mcpAnswerMs: number | null;
  /** Where buckets send their events. Undefined: nowhere. */
  eventsServer?: EventsServer | undefined;
  /** What an origin said of a file is taken for true for as long. */
  cacheSeenMs: number;
  /** Additional time to wait for a request beyond queue and analysis: lost runners, failover, collecting. */
  graceMs: number;
}

/** Where files go that are sent with a request, and where runners read them. */
export interface Uploads {
  spool: Spool;
  maxBytes: number;
  host: string;
  port: number;
  pace?: PaceOptions;
}

export interface Deps {
  store: Store;
  accounts: Accounts;
  issuers: Issuers;
  kube: Pick<KubeClient, 'create' | 'delete' | 'get'>;
  /** Describes a job to the leader. True: it has created it; false after a second at most. */
  announce(job: ProbeJob): Promise<boolean>;
  /** Has the leader end a request of a chunk. Resolves after two seconds at most, whether it has done so or not. */
  cancelItem(id: string): Promise<void>;
  catalog(): Catalog;
  tokens: Pick<TokenCache, 'get'>;
  sealKeys(): JSONWebKeySet;
  waiting: ReturnType<typeof makeWaiting>;
  /** The state of a request without an end. */
  standing: StandingOf;
  cluster: ReturnType<typeof newestSnapshot>;
  drain: Drain;
  /** Results of equal requests. */
  cache: ResultCache;
  handOver: ReturnType<typeof makeHandOver>;
  queueRoom: ReturnType<typeof makeQueueRoom>;
  objectRoom: ReturnType<typeof makeObjectRoom>;
  accountRates: ReturnType<typeof makeAccountRates>;
  /** Undefined: this installation takes no files. */
  uploads?: Uploads | undefined;
  /** A whole file, by the rules of runners. `allow`: private places that the token may reach. */
  fetchSource(
    source: Source,
    allow: readonly SourceException[],
    bounds: { most: number; signal: AbortSignal },
  ): Promise<Buffer>;
  memory: MemoryBudget;
  /** What each account, or address before authentication, may use of this replica's event loop. */
  paceOf: PaceOf;
  /** Worker threads, for whatever holds the loop for more than 5 ms. */
  work: WorkPool;
  overload: Pick<ReturnType<typeof makeOverload>, 'begin'>;
  metrics: Metrics;
  tracer?: Tracer | undefined;
  log: Logger;
  settings: Settings;
}
