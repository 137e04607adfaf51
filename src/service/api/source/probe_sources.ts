/** Makes and follows the sources of ProbeSources. */
import { createHash } from 'node:crypto';
import { PROBE_SOURCES } from '../../../platform/kube/client.ts';
import { stamp, withTimes, type Change } from '../../../platform/kube/conditions.ts';
import { keyOf } from '../../../platform/kube/kinds.ts';
import type { ProbeSource, ProbeSourceState } from '../../../platform/kube/probe_source.ts';
import { slimSource } from '../../../platform/kube/slim.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { Source, SourceOfObject, SourceState } from '../../../platform/store/sources.ts';
import { makeSlices } from '../batch/batch_request.ts';
import { makeReader } from '../http/input/read_fields.ts';
import {
  FollowedObjects,
  isGoing,
  type Maker,
  type Standing as StandingIn,
  uidOf,
  type Wait,
  waiting,
} from '../objects/followed_objects.ts';
import { canonical } from '../probe/cache_key.ts';
import { type Action, actOn, mostSources, sourceFrom } from './source_endpoints.ts';
import { type SentSource, SourceInput } from './source_fields.ts';

type Standing = StandingIn<ProbeSourceState>;

const readRequest = makeReader<SentSource>(SourceInput);

const sha256Of = (request: object): Buffer => createHash('sha256').update(canonical(request)).digest();
const digested = (request: object): { sha256: string } => ({ sha256: sha256Of(request).toString('hex') });
const digestOf = ({ spec }: ProbeSource): string => (spec.request as ReturnType<typeof digested>).sha256;

export class ProbeSources extends FollowedObjects<ProbeSource> {
  protected readonly kind = 'ProbeSource';
  protected readonly type = PROBE_SOURCES;
  protected readonly slim = slimSource(digested);

  protected async round(objects: ProbeSource[]): Promise<void> {
    if (objects.length === 0) return;
    const sources = await this.deps.store.sourcesOfObjects(objects.map(uidOf));
    const isNew = (object: ProbeSource): number => Number(!sources.get(uidOf(object))?.source);
    const slices = makeSlices(() => undefined);
    // A namespace makes one at a time: its changes wait for no creations, which may be many.
    for (const object of objects.toSorted((a, b) => isNew(a) - isNew(b))) {
      await this.#follow(object, sources.get(uidOf(object)));
      await slices.next();
    }
  }

  async #follow(object: ProbeSource, found: SourceOfObject | undefined): Promise<void> {
    if (!found?.source) return this.#begin(object, found);
    const { account = found.account } = this.served.bindingOf(object) ?? {};
    const action = actionOf(object, found, account !== found.account);
    const source = (action && (await actOn(this.deps, found.id, action))) ?? found.source;
    const isBehind = source.state !== 'deleting' && isStale(object, found);
    const wait = isBehind ? this.attempt(object) : null;
    if (wait?.state === 'Refused') return this.#say(object, wait, { ...found, source });
    // Whoever waits for a change reads that it is not made yet.
    const generation = isBehind ? (object.status?.observedGeneration ?? 0) : undefined;
    await this.#say(object, standingOf(source), { ...found, source }, generation);
  }

  async #begin(object: ProbeSource, found: SourceOfObject | undefined): Promise<void> {
    // It was deleted, and the object asks for it still.
    if (found?.requestSha256) await this.deps.store.forgetObject({ uid: uidOf(object), id: found.id });
    if (isGoing(object)) return;
    const standing = object.spec.suspend ? SUSPENDED : this.attempt(object, (token) => this.#foreseen(token));
    if (standing) await this.#say(object, standing, undefined);
  }

  async #foreseen(token: TokenRecord): Promise<Wait | null> {
    const { rootUserId, sources } = mostSources(token);
    return (await this.deps.store.countSources(rootUserId)) >= sources ? TOO_MANY : null;
  }

  /** Makes its source, or changes it. */
  protected async make(whole: ProbeSource, { token, by, gone, id: idOf }: Maker): Promise<Wait | null> {
    const { store, log } = this.deps;
    const { request, suspend, createdBy: user } = whole.spec;
    // Before it is read, which adds defaults to it.
    const of = { uid: uidOf(whole), requestSha256: sha256Of(request) };
    const id = await idOf();
    if (suspend && !(await store.readSource(id))) return null;
    const { source } = await sourceFrom(this.deps, by, readRequest({ form: 'json', value: request }), { id, gone });
    const { outcome } = await store.createSource(source, mostSources(token));
    if (outcome !== 'created') return TOO_MANY;
    if (await store.changeSource(source, of))
      log.info({ source: id, object: keyOf(whole), user }, 'made or changed the source of a ProbeSource');
    else await actOn(this.deps, id, 'delete');
    return null;
  }

  protected async end(id: string, object: string): Promise<boolean | null> {
    const { store, log } = this.deps;
    const source = await store.readSource(id);
    if (source && source.state !== 'deleting' && (await actOn(this.deps, id, 'delete')))
      log.info({ source: id, object }, 'deleted the source of a ProbeSource that is gone');
    return source && true;
  }

  #say(
    object: ProbeSource,
    standing: Standing,
    found: SourceOfObject | undefined,
    observedGeneration = object.metadata.generation ?? 0,
  ): Promise<void> {
    const now = this.deps.store.clock.now();
    return this.write(object, statusOf(object, standing, { found, observedGeneration, now }));
  }
}

const SUSPENDED: Standing = { state: 'Suspended', reason: 'Suspended', message: 'spec.suspend is true' };
const TOO_MANY = waiting('TooManySources', 'the account has as many sources as it may have', 30_000);

/** The object says whether its source runs, whatever was done to the source. What stopped by itself needs a change. */
function actionOf(object: ProbeSource, { source, batches }: SourceOfObject, isOther: boolean): Action | null {
  const state = source?.state;
  if (state === 'deleting') return null;
  if (isGoing(object) || isOther) return 'delete';
  // Its batches are moved after it, so an action that was cut short is repeated.
  if (object.spec.suspend) return state !== 'paused' || batches.includes('running') ? 'pause' : null;
  return state === 'paused' || (state === 'running' && batches.includes('paused')) ? 'resume' : null;
}

/** Its token is gone and the account may have a new one, or its fields can no longer be decrypted. */
const GIVEN_ANEW: readonly (string | null)[] = ['TokenInactive', 'AddressesLost'];
/** Its request is another one, or the object gives a stopped source what it lacks. */
const isStale = (object: ProbeSource, { requestSha256, source }: SourceOfObject): boolean =>
  requestSha256?.toString('hex') !== digestOf(object) ||
  (source?.state === 'stopped' && GIVEN_ANEW.includes(source.reason));

const STATES: Record<SourceState, ProbeSourceState> = {
  running: 'Running',
  paused: 'Suspended',
  stopped: 'Stopped',
  deleting: 'Deleting',
};

const standingOf = ({ state, reason, text }: Source): Standing => ({
  state: STATES[state],
  reason: reason ?? STATES[state],
  message: text ?? `the source is ${state}`,
});

function listedOf({ lastListing }: Source): Pick<Change, 'status' | 'reason' | 'message'> {
  if (!lastListing) return { status: 'Unknown', reason: 'NotListed', message: 'no listing has ended' };
  const { error, found, filtered, left_out: leftOut } = lastListing;
  if (error !== null) return { status: 'False', reason: 'ListingFailed', message: error };
  const message = `${found} objects were found, ${filtered} are not wanted, ${leftOut} were left out`;
  return { status: 'True', reason: 'Listed', message };
}

/** Suspended: as it was asked to be. Whoever waits for the object would wait until somebody resumes it. */
const READY: Partial<Record<ProbeSourceState, 'True' | 'Unknown'>> = {
  Running: 'True',
  Suspended: 'True',
  Waiting: 'Unknown',
};

/** Members that a status may lack. A patch removes one by null. */
const ABSENT = { id: null, batches: null, lastListing: null };

function statusOf(
  object: ProbeSource,
  { state, reason, message }: Standing,
  { found, observedGeneration, now }: { found: SourceOfObject | undefined; observedGeneration: number; now: number },
) {
  const source = found?.source;
  const ready = READY[state] ?? 'False';
  const conditions: Change[] = [
    { type: 'Ready', status: ready, reason, message: message.slice(0, 4_096), observedGeneration },
    ...(source ? [{ type: 'Listed', ...listedOf(source), observedGeneration }] : []),
  ];
  return {
    state,
    observedGeneration,
    objects: source?.objects ?? 0,
    conditions: withTimes(object.status, conditions, stamp(now)),
    ...ABSENT,
    ...(source ? { id: source.id, batches: found.batches.length } : {}),
    ...(source?.lastListing ? { lastListing: source.lastListing.at } : {}),
  };
}
