/**
 * Takes the events that buckets send to the operator's events server, for every source of their bucket. What is lost
 * here, the next listing finds.
 */
import { pause } from '../../../base/retry.ts';
import { type EventsServer, followEvents } from '../../../platform/bus/events_server.ts';
import type { SeenObjects, SourceOfBucket } from '../../../platform/store/sources.ts';
import { makeSlices } from '../batch/batch_request.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { bucketOf, MOST_MESSAGE_BYTES, objectsOf, parsedMessage, recordsIn } from './events.ts';

const MOST_PENDING = 1_000;
const MOST_PENDING_BYTES = 16 * 1024 * 1024;
const AFTER_FAILURE_MS = 1_000;
const SOURCES_KEPT_MS = 5_000;
const MOST_BUCKETS_KEPT = 100;
/** No account caused the message, and the operator chose the server: all of them share what one account may use. */
const PAYER = 'events server';

export function takeServerEvents(deps: Deps, server: EventsServer): { stop(): Promise<void> } {
  const { log, metrics } = deps;
  const stopping = new AbortController();
  const noted = noting(deps);
  const pending: Uint8Array[] = [];
  let bytes = 0;
  let working: Promise<void> | undefined;

  function next(): Uint8Array {
    const data = pending.shift()!;
    bytes -= data.length;
    return data;
  }
  function onMessage(data: Uint8Array): void {
    if (data.length > MOST_MESSAGE_BYTES) return metrics.serverEvents('invalid');
    bytes += data.length;
    pending.push(data);
    for (; pending.length > MOST_PENDING || bytes > MOST_PENDING_BYTES; next()) metrics.serverEvents('dropped');
    working ??= work();
  }
  async function work(): Promise<void> {
    while (pending.length > 0 && !stopping.signal.aborted) metrics.serverEvents(await outcomeOf(next()));
    working = undefined;
  }
  async function outcomeOf(data: Uint8Array): Promise<'noted' | 'ignored' | 'invalid' | 'failed'> {
    try {
      return (await noted(data)) > 0 ? 'noted' : 'ignored';
    } catch (error) {
      if (error instanceof ApiError) return 'invalid';
      log.warn({ err: error }, 'cannot note events of the events server');
      await pause(AFTER_FAILURE_MS, stopping.signal);
      return 'failed';
    }
  }
  function onState(error: Error | null): void {
    if (error) log.warn({ err: error }, 'not connected to the events server, will retry');
    else log.info('connected to the events server');
  }

  const followed = followEvents(server, { onMessage, onState });
  metrics.watchEventsServer(followed.connected);
  return {
    async stop() {
      stopping.abort();
      await followed.stop();
      await working;
    },
  };
}

function noting({ store, paceOf }: Pick<Deps, 'store' | 'paceOf'>) {
  const kept = new Map<string, { until: number; sources: SourceOfBucket[] }>();
  async function sourcesOf(bucket: unknown): Promise<SourceOfBucket[]> {
    if (typeof bucket !== 'string' || !/^[\w.-]{1,255}$/.test(bucket)) return [];
    const now = performance.now();
    const known = kept.get(bucket);
    if (known && known.until > now) return known.sources;
    const sources = await store.sourcesOfBucket(bucket);
    if (kept.size >= MOST_BUCKETS_KEPT) kept.clear();
    kept.set(bucket, { until: now + SOURCES_KEPT_MS, sources });
    return sources;
  }
  /** How many versions were noted. */
  return async (data: Uint8Array): Promise<number> => {
    const slices = makeSlices(paceOf(PAYER));
    const records = recordsIn(parsedMessage(new TextDecoder().decode(data)));
    const now = store.clock.now();
    const seen: SeenObjects[] = [];
    for (const [bucket, of] of Map.groupBy(records, bucketOf))
      for (const { id: source, ...where } of await sourcesOf(bucket))
        seen.push({ source, objects: await objectsOf(of, where, { now, slices }), ignored: 0 });
    // Not for the time of the database.
    await slices.pay();
    let noted = 0;
    for (const one of seen) if (one.objects.length > 0) noted += (await store.noteObjects(one)).noted;
    return noted;
  };
}
