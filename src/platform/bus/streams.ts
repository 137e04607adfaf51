/** The two JetStream streams. They may disappear (a wiped disk); their users then recreate them. */
import {
  AckPolicy,
  type ConsumerConfig,
  DiscardPolicy,
  type JetStreamManager,
  nanos,
  NatsError,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';
import { asBusError, isMissing } from './errors.ts';
import { CHUNK_BYTES, STREAM, SUBJECT } from './messages.ts';

export interface StreamOptions {
  /** Copies of each stream. Undefined: as many as the servers allow, at most three. */
  replicas?: number | undefined;
  onReplicas?: (stream: string, replicas: number) => void;
  resultsBytes?: number;
  chunksBytes?: number;
}

const MINUTE = 60_000;
// A result that is not collected by then is sent again by its runner, or its job has ended otherwise.
const MAX_AGE_MS = 10 * MINUTE;
/**
 * Drops duplicates that a publisher sends after a lost acknowledgement. Deliberately short: a runner that missed
 * `collected` sends its result again, which must reach a collector even if the first one was taken from the stream.
 */
const DEDUPE_MS = 5_000;
/** How long a collector that died keeps a result from the others. */
export const ACK_WAIT_MS = 10_000;
/** Over all collectors; a message may have 0.7 MB, and delivered messages wait in a collector's memory. */
const MAX_ACK_PENDING = 128;
const MIB = 1024 * 1024;

/**
 * A runner has one result at a time, and its next may arrive while the last is being acknowledged. Further ones only
 * displace its own.
 */
const MOST_RESULTS_OF_ONE = 4;
/**
 * Over all runners: each message costs the server memory in addition to its bytes, and a chunked body has at least two.
 */
const MOST_CHUNKS = 4_096;
/**
 * With its headers. The share of a runner is counted in messages (shares.ts), so larger ones would fill the stream
 * before it is seen.
 */
const LARGEST_CHUNK = CHUNK_BYTES + 4_096;

/**
 * A full stream rejects new messages (`discard: new`): acknowledged ones are kept, and the runner sends a rejected one
 * again. With `discard: old`, one runner could displace the results of others.
 */
function streams({ resultsBytes = 256 * MIB, chunksBytes = 512 * MIB }: StreamOptions): Partial<StreamConfig>[] {
  const common = {
    storage: StorageType.File,
    discard: DiscardPolicy.New,
    max_age: nanos(MAX_AGE_MS),
    duplicate_window: nanos(DEDUPE_MS),
  };
  return [
    {
      ...common,
      name: STREAM.results,
      subjects: [SUBJECT.results],
      retention: RetentionPolicy.Workqueue,
      max_bytes: resultsBytes,
      max_msgs_per_subject: MOST_RESULTS_OF_ONE,
    },
    {
      ...common,
      name: STREAM.chunks,
      subjects: [SUBJECT.chunks],
      retention: RetentionPolicy.Limits,
      max_bytes: chunksBytes,
      allow_direct: true,
      max_msgs: MOST_CHUNKS,
      max_msgs_per_subject: 1,
      max_msg_size: LARGEST_CHUNK,
    },
  ];
}

const collectors: Partial<ConsumerConfig> = {
  durable_name: STREAM.consumer,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(ACK_WAIT_MS),
  max_ack_pending: MAX_ACK_PENDING,
  max_deliver: -1,
};

/** Three copies survive the loss of a server; more would only cost disk. */
const MOST_REPLICAS = 3;

/**
 * Servers without a cluster; too few that are up for so many copies; no storage for them on the servers, or in the
 * limits of the account.
 */
const NO_ROOM: ReadonlySet<number> = new Set([10_074, 10_005, 10_023, 10_047, 10_002]);
const hasNoRoom = (error: unknown): boolean =>
  error instanceof NatsError && NO_ROOM.has(error.api_error?.err_code ?? 0);

/** A stream of one copy is better than none: `raiseReplicas` adds the others when the servers are there. */
async function create(manager: JetStreamManager, config: Partial<StreamConfig>, options: StreamOptions): Promise<void> {
  const most = options.replicas ?? MOST_REPLICAS;
  try {
    await manager.streams.add({ ...config, num_replicas: most });
  } catch (error) {
    if (most === 1 || !hasNoRoom(error)) throw error;
    await manager.streams.add({ ...config, num_replicas: 1 });
  }
}

/**
 * Adds copies to streams that have fewer than wanted: one was created while a server was away, or servers were added.
 * Copies are never removed, because an operator may have chosen more. A number of servers is not asked for: only the
 * meta leader knows which of them can take a copy, and it refuses the others.
 */
export async function raiseReplicas(manager: JetStreamManager, options: StreamOptions = {}): Promise<void> {
  const wanted = options.replicas ?? MOST_REPLICAS;
  try {
    for (const { name = '' } of streams(options)) {
      const { config } = await manager.streams.info(name);
      if (config.num_replicas >= wanted) continue;
      const raised = await manager.streams.update(name, { num_replicas: wanted }).catch((error: unknown) => {
        if (hasNoRoom(error)) return null;
        throw error;
      });
      if (raised) options.onReplicas?.(name, wanted);
    }
  } catch (error) {
    throw asBusError(error, 'replicas of streams');
  }
}

/**
 * Creates missing streams and updates different ones. Every controller replica calls it at start and whenever a stream
 * was not found.
 */
export async function ensureStreams(manager: JetStreamManager, options: StreamOptions = {}): Promise<void> {
  try {
    for (const config of streams(options)) {
      const name = config.name ?? '';
      const found = await manager.streams.info(name).catch((error: unknown) => {
        if (isMissing(error)) return null;
        throw error;
      });
      if (!found) await create(manager, config, options);
      else if (differs(found.config, config)) await manager.streams.update(name, config);
    }
    await manager.consumers.add(STREAM.results, collectors);
  } catch (error) {
    throw asBusError(error, 'streams');
  }
}

const differs = (found: StreamConfig, wanted: Partial<StreamConfig>): boolean =>
  Object.entries(wanted).some(
    ([key, value]) => JSON.stringify(found[key as keyof StreamConfig]) !== JSON.stringify(value),
  );
