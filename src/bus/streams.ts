/** The two streams of JetStream. They may vanish (a wiped disk): whoever needs them makes them again. */
import { AckPolicy, type ConsumerConfig, DiscardPolicy, type JetStreamManager, nanos, RetentionPolicy, StorageType, type StreamConfig } from 'nats';
import { asBusError, isMissing } from './errors.ts';
import { STREAM, SUBJECT } from './messages.ts';

export interface StreamOptions { replicas?: number; resultsBytes?: number; chunksBytes?: number }

const MINUTE = 60_000;
// A result that nobody has collected by then is sent again by its runner, or its job has ended otherwise.
const MAX_AGE_MS = 10 * MINUTE;
/**
 * Swallows what a publisher sends twice because its acknowledgement was lost. It is short on purpose: a runner that did not
 * hear `collected` sends its result again, and that must reach a collector, even if the first one was taken from the stream.
 */
const DEDUPE_MS = 5_000;
/** A collector that died with a result in hand keeps it from the others for so long. */
export const ACK_WAIT_MS = 10_000;
/** Over all collectors; a message may have 0.7 MB, and what a collector was given waits in its memory. */
const MAX_ACK_PENDING = 128;
const MIB = 1024 * 1024;

function streams({ replicas = 1, resultsBytes = 256 * MIB, chunksBytes = 512 * MIB }: StreamOptions): Partial<StreamConfig>[] {
  const common = { storage: StorageType.File, discard: DiscardPolicy.Old, max_age: nanos(MAX_AGE_MS), duplicate_window: nanos(DEDUPE_MS), num_replicas: replicas };
  return [
    { ...common, name: STREAM.results, subjects: [SUBJECT.results], retention: RetentionPolicy.Workqueue, max_bytes: resultsBytes },
    { ...common, name: STREAM.chunks, subjects: [SUBJECT.chunks], retention: RetentionPolicy.Limits, max_bytes: chunksBytes, allow_direct: true },
  ];
}

const collectors: Partial<ConsumerConfig> = {
  durable_name: STREAM.consumer, ack_policy: AckPolicy.Explicit, ack_wait: nanos(ACK_WAIT_MS), max_ack_pending: MAX_ACK_PENDING, max_deliver: -1,
};

/** Makes what is missing and changes what differs. Every controller replica calls it at start and whenever a stream was not found. */
export async function ensureStreams(manager: JetStreamManager, options: StreamOptions = {}): Promise<void> {
  try {
    for (const config of streams(options)) {
      const name = config.name ?? '';
      const found = await manager.streams.info(name).catch((error: unknown) => {
        if (isMissing(error)) return null;
        throw error;
      });
      if (!found) await manager.streams.add(config);
      else if (differs(found.config, config)) await manager.streams.update(name, config);
    }
    await manager.consumers.add(STREAM.results, collectors);
  } catch (error) {
    throw asBusError(error, 'streams');
  }
}

const differs = (found: StreamConfig, wanted: Partial<StreamConfig>): boolean =>
  Object.entries(wanted).some(([key, value]) => JSON.stringify(found[key as keyof StreamConfig]) !== JSON.stringify(value));
