/** The two streams of JetStream. They may vanish (a wiped disk): whoever needs them makes them again. */
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
// A result that nobody has collected by then is sent again by its runner, or its job has ended otherwise.
const MAX_AGE_MS = 10 * MINUTE;
/**
 * Swallows what a publisher sends twice because its acknowledgement was lost. It is short on purpose: a runner that did
 * not hear `collected` sends its result again, and that must reach a collector, even if the first one was taken from
 * the stream.
 */
const DEDUPE_MS = 5_000;
/** A collector that died with a result in hand keeps it from the others for so long. */
export const ACK_WAIT_MS = 10_000;
/** Over all collectors; a message may have 0.7 MB, and what a collector was given waits in its memory. */
const MAX_ACK_PENDING = 128;
const MIB = 1024 * 1024;

/**
 * A runner has one result at a time; its next one may come while the last is being acknowledged. More push out its own,
 * nobody else's.
 */
const MOST_RESULTS_OF_ONE = 4;
/** Over all runners: each message costs the server memory beside its bytes, and a body in chunks has at least two. */
const MOST_CHUNKS = 4_096;

/**
 * A full stream refuses what is new (`discard: new`): what it has confirmed stays, and a runner whose message was
 * refused sends it again. `discard: old` would let one runner push out the results of the others.
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
 * Makes what is missing and changes what differs. Every controller replica calls it at start and whenever a stream was
 * not found.
 */
export async function ensureStreams(manager: JetStreamManager, options: StreamOptions = {}): Promise<void> {
  try {
    for (const config of streams(options)) {
      const name = config.name ?? '';
      const found = await manager.streams.info(name).catch((error: unknown) => {
        if (isMissing(error)) return null;
        throw error;
      });
      // The number of replicas is chosen once: afterwards it is the operator's, who may have more NATS servers than we
      // know of.
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
