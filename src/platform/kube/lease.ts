/**
 * Leader election on a Lease. The holder counts from when it SENT its last successful renewal, all others from when
 * they SAW it, so the holder's time always ends first, whatever the clocks say. A candidate writes over the record that
 * it judged, and over nothing newer. That alone is no fence: writes carry the epoch, are sent only after
 * stillLeading(), and have a server-side time-out within the margin.
 */
import { randomUUID } from 'node:crypto';
import { pause } from '../../base/retry.ts';
import { LEASES, type KubeClient } from './client.ts';
import { isKubeError } from './errors.ts';
import { recordOf, sight, takeableInMs, type LeaseRecord, type Sighting } from './lease_record.ts';
import { withTerm, type LeaseTerm } from './lease_terms.ts';
import { startReflector } from './reflector.ts';

export interface LeaseOptions {
  /** Needs a client of its own: a renewal must not wait behind a thousand other calls. */
  client: KubeClient;
  name: string;
  namespace?: string | undefined;
  /**
   * Prefix of the identity (the pod's name). Each run appends its own suffix, so a restarted pod has a new identity.
   */
  holder: string;
  durationMs?: number;
  renewMs?: number;
  /** Leadership ends and onLost is called this long before the lease can expire. */
  marginMs?: number;
  /** A Lease that was there and is deleted is not created anew for this long. */
  quietMs?: number;
  /** Lower bound of the epoch, in case the Lease was deleted. */
  epochFloor?: () => number | Promise<number>;
  /** The clock by which terms are recorded; by default the machine's. */
  now?: () => number;
  onLead(lead: { epoch: number }): void;
  /** Awaited before a release, as long as the lease is valid: must stop all workers. */
  onLost(why: 'released' | 'lapsed' | 'taken'): void | Promise<void>;
  onError?(error: unknown): void;
}

export interface Election {
  readonly identity: string;
  /** The epoch of this replica's leadership, or undefined. */
  leading(): number | undefined;
  /**
   * Whether the lease is held for at least `marginMs` more. Call it right before each write that only a leader may
   * make.
   */
  stillLeading(marginMs?: number): boolean;
  /** Milliseconds since the last successful renewal was sent; Infinity when not leading. */
  ageMs(): number;
  /** The current leader, as last seen. */
  seen(): { holder: string; epoch: number } | undefined;
  /** The last terms, the latest first, as last seen. */
  terms(): readonly LeaseTerm[];
  /** Milliseconds since this replica saw the lease renewed by a holder; Infinity: nobody holds it. */
  renewedAgoMs(): number;
  /** Ends the candidacy; a leader stops its workers, then releases the lease. */
  stop(): Promise<void>;
}

export function startElection(options: LeaseOptions): Election {
  const { client, name, durationMs = 6000, renewMs = 2000, marginMs = 1000, quietMs = 0 } = options;
  const namespace = options.namespace ?? client.namespace;
  const identity = `${options.holder}_${randomUUID()}`;
  const stopping = new AbortController();
  const onError = options.onError ?? (() => {});
  const clock = options.now ?? Date.now;
  let sighting: Sighting | undefined;
  let quietUntil = 0;
  let highest = 0;
  /** While leading: the epoch, and the time of the last renewal by both clocks. */
  let lead: { epoch: number; sentAt: number; sentWall: number; lapse: NodeJS.Timeout } | undefined;
  let losing = Promise.resolve();
  let wake = () => {};

  // Suspending a machine stops the monotonic clock but not the wall clock: the larger age is the safe one.
  const ageMs = (): number =>
    lead === undefined ? Infinity : Math.max(performance.now() - lead.sentAt, Date.now() - lead.sentWall);
  const stillLeading = (margin = marginMs): boolean => lead !== undefined && ageMs() + margin < durationMs;

  function note(record: LeaseRecord): void {
    const before = sighting?.record;
    sighting = sight(sighting, record, performance.now());
    highest = Math.max(highest, record.epoch);
    // An older record that arrives late is not the sighting.
    if (
      lead !== undefined &&
      sighting.record === record &&
      !(record.holder === identity && record.epoch === lead.epoch)
    )
      lose('taken');
    if (record.holder !== identity && before?.holder !== record.holder) wake();
  }

  function vanish(): void {
    if (sighting !== undefined) quietUntil = performance.now() + quietMs;
    sighting = undefined;
  }

  function lose(why: 'lapsed' | 'taken'): void {
    if (lead === undefined) return;
    clearTimeout(lead.lapse);
    lead = undefined;
    losing = losing.then(() => options.onLost(why)).catch(onError);
    wake();
  }

  function armLapse(): NodeJS.Timeout {
    return setTimeout(
      () => {
        if (lead === undefined) return;
        if (stillLeading()) lead.lapse = armLapse();
        else lose('lapsed');
      },
      Math.max(1, durationMs - marginMs - ageMs()),
    );
  }

  const refresh = async (): Promise<void> =>
    note(recordOf(await client.get(LEASES, name, { namespace, deadlineMs: renewMs, signal: stopping.signal })));

  /** 0: the lease may be acquired now. */
  const takeableIn = (at: number): number =>
    sighting === undefined ? Math.max(0, quietUntil - at) : takeableInMs(sighting, identity, durationMs, at);

  /** Whether the lease may still be acquired from the state that was judged. Anything seen since is judged anew. */
  const stillTakeable = (judged: Sighting | undefined): boolean =>
    !stopping.signal.aborted &&
    sighting?.record.resourceVersion === judged?.record.resourceVersion &&
    takeableIn(performance.now()) === 0;

  /** Writes only over the record that was judged: its resourceVersion is the condition of the write. */
  async function take(judged: Sighting | undefined): Promise<void> {
    const least = highest;
    // Workers of an earlier leadership end before the next begins.
    await losing;
    if (!stillTakeable(judged)) return;
    const floor = (await options.epochFloor?.()) ?? 0;
    if (!stillTakeable(judged)) return;
    const epoch = Math.max(floor, least) + 1;
    const now = microTime();
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      leaseTransitions: epoch,
      acquireTime: now,
      renewTime: now,
    };
    const since = new Date(clock()).toISOString();
    const annotations = withTerm(judged?.record.terms ?? [], { pod: options.holder, epoch, since });
    const sentAt = performance.now();
    const sentWall = Date.now();
    const bounds = { namespace, deadlineMs: renewMs, serverTimeoutMs: renewMs };
    const lease =
      judged === undefined
        ? await client.create(LEASES, { metadata: { name, namespace, annotations }, spec }, bounds)
        : await client.mergePatch(
            LEASES,
            name,
            { metadata: { annotations }, spec },
            { ...bounds, resourceVersion: judged.record.resourceVersion },
          );
    note(recordOf(lease));
    // The response may have been delayed: then the lease is held, but too old to lead, or another holder has it.
    if (stopping.signal.aborted || performance.now() - sentAt + marginMs >= durationMs) return;
    if (sighting?.record.holder !== identity || sighting.record.epoch !== epoch) return;
    lead = { epoch, sentAt, sentWall, lapse: undefined as never };
    lead.lapse = armLapse();
    options.onLead({ epoch });
  }

  async function renew(held: NonNullable<typeof lead>): Promise<void> {
    const sentAt = performance.now();
    const sentWall = Date.now();
    const bounds = {
      namespace,
      deadlineMs: Math.max(500, Math.min(renewMs, durationMs - marginMs - ageMs())),
      serverTimeoutMs: renewMs,
    };
    const lease = await client.mergePatch(
      LEASES,
      name,
      { spec: { renewTime: microTime() } },
      { ...bounds, resourceVersion: sighting!.record.resourceVersion },
    );
    if (lead === held) {
      held.sentAt = sentAt;
      held.sentWall = sentWall;
    }
    note(recordOf(lease));
  }

  /** One check and one action; returns the time to wait before the next. */
  async function turn(): Promise<number> {
    try {
      if (lead !== undefined) {
        await renew(lead);
        return renewMs - ageMs();
      }
      if (sighting === undefined)
        await refresh().catch((error: unknown) => {
          if (!isKubeError(error, 'not-found')) throw error;
        });
      const wait = takeableIn(performance.now());
      if (wait === 0) {
        await take(sighting);
        return lead === undefined ? renewMs / 4 : renewMs;
      }
      // The watch normally reports changes; this read covers a broken watch.
      if (wait <= renewMs) return wait + 1;
      await refresh();
      return Math.min(renewMs, wait);
    } catch (error) {
      if (stopping.signal.aborted) return 0;
      if (isKubeError(error, 'not-found')) {
        // The Lease was deleted: nobody leads, and whoever recreates it must continue from the highest epoch.
        const gone = sighting !== undefined;
        vanish();
        lose('taken');
        // It did not exist before either: the namespace is missing.
        return gone ? 0 : renewMs / 4;
      }
      if (!isKubeError(error, 'conflict', 'already-exists')) onError(error);
      await refresh().catch((again: unknown) => {
        if (isKubeError(again, 'not-found')) vanish();
      });
      // A conflict while leading comes from a foreign write, or from a renewal whose response was lost: retry soon.
      return lead !== undefined ? Math.min(renewMs / 8, 250) : renewMs / 4 + Math.random() * 100;
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const woken = new AbortController();
      wake = () => woken.abort();
      const wait = await turn();
      // Something changed during the action: check again soon, but never in a tight loop.
      await pause(woken.signal.aborted ? 10 : Math.max(wait, 0), woken.signal);
    }
  }

  const reflector = startReflector({
    client,
    type: LEASES,
    namespace,
    fieldSelector: `metadata.name=${name}`,
    pauses: { first: 200, longest: 2000 },
    handlers: {
      add: (lease) => note(recordOf(lease)),
      update: (lease) => note(recordOf(lease)),
      delete: () => {
        vanish();
        lose('taken');
        wake();
      },
    },
    hooks: { failed: onError },
  });
  stopping.signal.addEventListener('abort', () => wake());
  const running = run();

  return {
    identity,
    leading: () => lead?.epoch,
    stillLeading,
    ageMs,
    seen: () => (sighting === undefined ? undefined : { holder: sighting.record.holder, epoch: sighting.record.epoch }),
    terms: () => sighting?.record.terms ?? [],
    renewedAgoMs: () =>
      sighting === undefined || sighting.record.holder === '' ? Infinity : performance.now() - sighting.seenAt,
    async stop() {
      stopping.abort();
      const held = lead;
      let stopped = true;
      if (held !== undefined) {
        clearTimeout(held.lapse);
        const left = durationMs - ageMs();
        lead = undefined;
        const late = new AbortController();
        stopped = await Promise.race([
          losing
            .then(() => options.onLost('released'))
            .then(
              () => true,
              (error: unknown) => {
                onError(error);
                return false;
              },
            ),
          pause(Math.max(left, 0), late.signal).then(() => false),
        ]);
        late.abort();
      }
      // An acquisition or renewal in progress finishes first.
      await running;
      // If the workers did not stop in time, the lease is kept until it expires, so that the next leader waits for
      // them.
      if (stopped) await release().catch(onError);
      await reflector.stop();
    },
  };

  async function release(): Promise<void> {
    const spec = { holderIdentity: null, renewTime: microTime() };
    for (let attempt = 0; attempt < 2; attempt++) {
      try {
        if (sighting === undefined || sighting.record.holder !== identity) return;
        await client.mergePatch(
          LEASES,
          name,
          { spec },
          { namespace, deadlineMs: renewMs, resourceVersion: sighting.record.resourceVersion },
        );
        return;
      } catch (error) {
        if (!isKubeError(error, 'conflict')) throw error;
        note(recordOf(await client.get(LEASES, name, { namespace, deadlineMs: renewMs })));
      }
    }
  }
}

const microTime = (): string => new Date().toISOString().replace('Z', '000Z');
