/**
 * Records Events on our objects, for `kubectl describe`. Repetitions increase a count; a flood is dropped rather than
 * slowing the controller.
 */
import { createHash } from 'node:crypto';
import { apiVersionOf, EVENTS, isKubeError, type KubeClient, type KubeObject, type ResourceType } from './client.ts';
import { fullBucket, refill, take } from '../../base/token_bucket.ts';
import { printable } from '../../base/printable.ts';

export interface EventRecorder {
  /**
   * Never blocks and never throws. The text must be safe for everyone who may list Events: no source, no credential.
   */
  record(
    type: ResourceType,
    object: KubeObject,
    event: { type: 'Normal' | 'Warning'; reason: string; message: string },
  ): void;
}

export interface RecorderOptions {
  client: KubeClient;
  /** The reporting component, shown as From. */
  component: string;
  instance: string;
  /** Sustained rate of writes over all objects, and the burst. */
  perSecond?: number;
  burst?: number;
  onError?(error: unknown): void;
}

interface Series {
  name: string;
  namespace: string;
  count: number;
  first: string;
  body: object;
  note: string;
  sent: boolean;
  dirty: boolean;
}

const MAX_SERIES = 4096;

export function eventRecorder({
  client,
  component,
  instance,
  perSecond = 20,
  burst = 100,
  onError = () => {},
}: RecorderOptions): EventRecorder & { flush(): Promise<void> } {
  /** Ordered by last use. */
  const series = new Map<string, Series>();
  const pace = { perSecond, burst };
  const bucket = fullBucket(pace, performance.now());
  let sending: Promise<void> = Promise.resolve();

  function allowed(): boolean {
    refill(bucket, pace, performance.now());
    return take(bucket);
  }

  async function send(entry: Series): Promise<void> {
    entry.dirty = false;
    const { name, namespace } = entry;
    const changed = { count: entry.count, lastTimestamp: seconds(), message: entry.note };
    try {
      if (entry.sent) {
        await client.mergePatch(EVENTS, name, changed, { namespace, deadlineMs: 5000 });
        return;
      }
    } catch (error) {
      // The API server deletes Events after an hour.
      if (!isKubeError(error, 'not-found')) throw error;
    }
    await client.create(
      EVENTS,
      { metadata: { name, namespace }, ...entry.body, ...changed, firstTimestamp: entry.first } as never,
      { deadlineMs: 5000 },
    );
    entry.sent = true;
  }

  return {
    record(type, object, { type: severity, reason, message }) {
      const { name, namespace = client.namespace, uid = '', resourceVersion } = object.metadata;
      const note = printable(message, 1024);
      const key = `${namespace}/${type.plural}/${name}/${uid}/${severity}/${reason}/${note}`;
      const unique = createHash('sha256').update(`${key}/${instance}/${Date.now()}`).digest('hex').slice(0, 16);
      const entry = series.get(key) ?? {
        name: `${name.slice(0, 220)}.${unique}`,
        namespace,
        count: 0,
        first: seconds(),
        note,
        sent: false,
        dirty: false,
        body: {
          involvedObject: { apiVersion: apiVersionOf(type), kind: type.kind, name, namespace, uid, resourceVersion },
          type: severity,
          reason,
          source: { component },
          reportingComponent: component,
          reportingInstance: instance,
        },
      };
      entry.count += 1;
      series.delete(key);
      series.set(key, entry);
      if (series.size > MAX_SERIES) series.delete(series.keys().next().value!);
      if (entry.dirty || !allowed()) return;
      entry.dirty = true;
      sending = sending.then(() => send(entry)).catch(onError);
    },
    /** Resolves when all accepted Events have been sent. */
    flush: () => sending,
  };
}

const seconds = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z');
