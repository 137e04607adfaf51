/** The two JetStream streams. They may disappear (a wiped disk); their users then recreate them. */
import {
  AckPolicy,
  type ConsumerConfig,
  DiscardPolicy,
  type JetStreamManager,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';
import { asBusError, isMissing } from './errors.ts';
import { STREAM, SUBJECT } from './messages.ts';

export interface StreamOptions {
  replicas?: number;
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
      // The number of replicas is only set at creation: later it is the operator's choice, who may run more NATS
      // servers.
      if (!found) await manager.streams.add({ ...config, num_replicas: options.replicas ?? 1 });
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
