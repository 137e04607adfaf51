/**
 * Follows the objects of a kind, each of which has something in the record: the replica that drives the batches does.
 * Each round compares objects and record, so a round that was cut short, or made by two replicas, is made good by the
 * next. What a status says is never believed: the record says what an object has.
 */
import { Rounds } from '../../../base/rounds.ts';
import { isKubeError, type KubeClient } from '../../../platform/kube/client.ts';
import { keyOf, type KubeObject, type ResourceType } from '../../../platform/kube/kinds.ts';
import { startReflector, type Reflector } from '../../../platform/kube/reflector.ts';
import { ServedNamespaces } from '../../../platform/kube/served_namespaces.ts';
import type { FollowedKind, LostObject } from '../../../platform/store/followed_objects.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { timeOf } from '../../../platform/store/uuid.ts';
import { type BatchDriver, mayProbe } from '../batch/driver.ts';
import { isUnread } from '../batch/list_at_address.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import type { Asker } from '../http/request_context.ts';
import { canonical } from '../probe/cache_key.ts';

const ROUND_MS = 3_000;
/** Between two rounds, however often objects change. */
const GAP_MS = 500;
/** Between two statuses of an object that say the same state. */
const STATUS_MS = 5_000;
/** Between two looks for objects that are gone; one that is seen to go is looked for at once. */
const LOST_MS = 60_000;
const LOST_AT_ONCE = 100;
const CALLS_OF_A_ROUND = 200;
/** What the API server refuses of an object is not tried again before. */
const REFUSED_MS = 60_000;
/** Of one round: where it refuses all, the log does not need each. */
const LOGGED_REFUSALS = 10;
/** Each has up to 10,000 addresses in memory. */
const MOST_MAKING = 4;
const MAKE_MS = 60_000;
const AFTER_FAILURE_MS = 10_000;
const UNREAD_MS = 60_000;
/** No creation by another replica takes longer. */
const UNCREATED_MS = 900_000;
/** They may have a megabyte each. */
const PAGE = 20;

export interface Followed extends KubeObject {
  spec: { suspend?: boolean };
  status?: { state: string };
}

/** Where an object stands, and why. */
export interface Standing<State extends string = string> {
  state: State;
  reason: string;
  message: string;
}
/** That of one which has nothing in the record yet. */
export type Wait = Standing<'Waiting' | 'Refused'> & { againMs: number };

export function waiting(reason: string, message: string, againMs = ROUND_MS): Wait {
  return { state: 'Waiting', reason, message, againMs };
}

export const uidOf = ({ metadata }: KubeObject): string => metadata.uid!;
const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace!;

/** Its deletion was asked for, and waits for a finalizer. */
export const isGoing = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;

/** On whose behalf something is made. */
export interface Maker {
  token: TokenRecord;
  by: Asker;
  gone: AbortSignal;
  /** Of what the object has: the same for each try. */
  id: () => Promise<string>;
}

/** Why nothing is made: without a look at the whole object, and at no request of the token. */
type Foreseen = (token: TokenRecord) => Promise<Wait | null>;

export abstract class FollowedObjects<T extends Followed> {
  protected abstract readonly kind: FollowedKind;
  protected abstract readonly type: ResourceType<T>;
  /** What is held of an object. */
  protected abstract readonly slim: (object: T) => T;
  protected readonly deps: Deps;
  protected readonly served: ServedNamespaces;
  readonly #kube: KubeClient;
  readonly #driver: Pick<BatchDriver, 'leads'>;
  readonly #rounds = new Rounds({
    round: () => this.#turn(),
    failed: (error) => this.#warn(error, 'cannot follow objects'),
    restMs: ROUND_MS,
    gapMs: GAP_MS,
  });
  #watched: Reflector<T> | undefined;
  #lookedAt = -Infinity;
  #calls = 0;
  #refusals = 0;
  /** By the namespace: one at a time. */
  readonly #making = new Map<string, { uid: string; work: Promise<void> }>();
  /** By the namespace: what is started after the round, if its turn has come. */
  readonly #next = new Map<string, () => void>();
  /** By the namespace: when its last turn began. */
  readonly #turns = new Map<string, number>();
  /** By uid: what became of its generation, and until when it is not tried again. */
  readonly #outcomes = new Map<string, { standing: Wait; until: number; generation: number | undefined }>();
  readonly #writtenAt = new Map<string, number>();
  /** By uid: until when it is left alone. */
  readonly #refused = new Map<string, number>();

  constructor(deps: Deps, kube: KubeClient, driver: Pick<BatchDriver, 'leads'>) {
    this.deps = deps;
    this.served = new ServedNamespaces(deps.settings);
    this.#kube = kube;
    this.#driver = driver;
  }

  protected abstract round(objects: T[]): Promise<void>;
  /** Null: it is made, or must not be now. */
  protected abstract make(whole: T, maker: Maker): Promise<Wait | null>;
  /** Whether what a lost object had has ended, or will. Null: there is nothing. */
  protected abstract end(id: string, object: string): Promise<boolean | null>;
  protected gone?(object: T): void;
  /** Another replica follows them. */
  protected resting?(): Promise<void>;

  async stop(): Promise<void> {
    await this.#rounds.stop();
    const making = [...this.#making.values()].map(({ work }) => work);
    await Promise.allSettled([...making, this.#unwatch()]);
  }

  /** The next round begins as soon as it can. */
  protected again(): void {
    this.#rounds.again();
  }

  async #turn(): Promise<void> {
    if (!this.#driver.leads || this.deps.drain.started) return this.#unwatch();
    this.#watched ??= this.#watch();
    if (!this.#watched.hasSynced()) return;
    const objects = this.#watched.list().filter((one) => this.served.serves(one));
    this.#calls = 0;
    this.#refusals = 0;
    this.#next.clear();
    await this.#dropLost(objects);
    await this.round(objects);
    this.#startNext();
  }

  #watch(): Reflector<T> {
    const changed = (): void => this.#rounds.again();
    const gone = (object: T): void => {
      this.forget(object);
      this.#writtenAt.delete(uidOf(object));
      this.#refused.delete(uidOf(object));
      this.gone?.(object);
      this.#lookedAt = -Infinity;
      this.#rounds.again();
    };
    this.#lookedAt = -Infinity;
    const reflector = startReflector({
      client: this.#kube,
      type: this.type,
      namespace: this.served.watched,
      only: (object) => this.served.serves(object),
      transform: this.slim,
      pageSize: PAGE,
      handlers: { add: changed, update: changed, delete: gone },
      hooks: { failed: (error) => this.#warn(error, 'cannot watch objects') },
    });
    reflector.synced.then(changed, () => {});
    return reflector;
  }

  async #unwatch(): Promise<void> {
    const watched = this.#watched;
    this.#watched = undefined;
    // What goes while another replica follows them is not seen here.
    this.#outcomes.clear();
    this.#turns.clear();
    this.#writtenAt.clear();
    this.#refused.clear();
    await Promise.all([watched?.stop(), this.resting?.()]);
  }

  #warn(error: unknown, text: string, object?: KubeObject): void {
    this.deps.log.warn({ err: error, kind: this.kind, ...(object ? { object: keyOf(object) } : {}) }, text);
  }

  // What an object has.

  protected tokenFor(object: T): Promise<TokenRecord | null> {
    const { store } = this.deps;
    const { account, token = null } = this.served.bindingOf(object) ?? {};
    return account === undefined ? store.defaultToken() : store.tokenOfAccount(account, token);
  }

  /** Why it is not made yet. Null: it is being made, or will be after this round, unless something is foreseen. */
  protected attempt(object: T, foreseen?: Foreseen): Wait | null {
    const [uid, namespace] = [uidOf(object), namespaceOf(object)];
    const found = this.#outcomes.get(uid);
    const known = found?.generation === object.metadata.generation ? found : undefined;
    if (known && performance.now() < known.until) return known.standing;
    const making = this.#making.get(namespace);
    if (making?.uid === uid) return null;
    if (!making && !this.#next.has(namespace)) {
      this.#next.set(namespace, () => this.#start(object, foreseen));
      if (this.#making.size + this.#next.size <= MOST_MAKING) return null;
    }
    return known?.standing ?? AWAITING_TURN;
  }

  /** Namespaces whose last turn is longest ago go first: some whose lists take long hold no other up. */
  #startNext(): void {
    const lastTurn = (namespace: string): number => this.#turns.get(namespace) ?? 0;
    const inTurn = [...this.#next].toSorted(([a], [b]) => lastTurn(a) - lastTurn(b));
    for (const [, start] of inTurn.slice(0, MOST_MAKING - this.#making.size)) start();
  }

  #start(object: T, foreseen?: Foreseen): void {
    const [uid, namespace] = [uidOf(object), namespaceOf(object)];
    const { generation } = object.metadata;
    const after = (standing: Wait): void => {
      this.#outcomes.set(uid, { standing, until: performance.now() + standing.againMs, generation });
    };
    const work = this.#make(object, foreseen)
      .then((standing) => {
        if (standing) after(standing);
      })
      .catch((error: unknown) => {
        this.#warn(error, 'cannot make what an object asks for', object);
        after(waiting('InternalError', 'it could not be created, and is tried again', AFTER_FAILURE_MS));
      })
      .finally(() => {
        this.#making.delete(namespace);
        // It may have gone meanwhile.
        this.#lookedAt = -Infinity;
        this.#rounds.again();
      });
    this.#making.set(namespace, { uid, work });
    this.#turns.set(namespace, performance.now());
  }

  /** What became of its tries. */
  protected forget(object: T): void {
    this.#outcomes.delete(uidOf(object));
  }

  async #make(object: T, foreseen?: Foreseen): Promise<Wait | null> {
    const { store } = this.deps;
    const { kind } = this;
    const token = await this.tokenFor(object);
    if (!token || !mayProbe(token, store.clock.now())) return NO_TOKEN;
    const full = await foreseen?.(token);
    if (full) return full;
    const [uid, namespace, { name }] = [uidOf(object), namespaceOf(object), object.metadata];
    const whole = await this.#kube.get(this.type, name, { namespace }).catch(ifThere);
    if (!whole || uidOf(whole) !== uid || isGoing(whole)) return null;
    const { allowed } = await store.takeRate('token', token.id, token.limits.requestsPerMinute);
    if (!allowed) return RATE_LIMITED;
    const gone = AbortSignal.any([this.#rounds.signal, AbortSignal.timeout(MAKE_MS)]);
    const id = () => store.idOfObject({ kind, uid, namespace, name }, store.newRequest().id);
    return this.make(whole, { token, by: { method: 'POST', state: { token } }, gone, id }).catch(waitOf);
  }

  // Calls for one object.

  protected async write(object: T, status: { state: string }): Promise<void> {
    if (isSame(object.status, status)) return;
    const uid = uidOf(object);
    const isDue = performance.now() - (this.#writtenAt.get(uid) ?? -Infinity) >= STATUS_MS;
    if (!isDue && object.status?.state === status.state) return;
    const { name, resourceVersion } = object.metadata;
    const at = { namespace: namespaceOf(object), resourceVersion };
    await this.#try(object, 'cannot write the status of an object', async () => {
      await this.#kube.mergePatchStatus(this.type, name, status, at);
      this.#writtenAt.set(uid, performance.now());
    });
  }

  protected async delete(object: T): Promise<void> {
    const { name, uid } = object.metadata;
    const at = { namespace: namespaceOf(object), uid };
    await this.#try(object, 'cannot delete an object', () => this.#kube.delete(this.type, name, at));
  }

  /** The API server refused a call for it a while ago. */
  protected isRefused(uid: string): boolean {
    return performance.now() < (this.#refused.get(uid) ?? 0);
  }

  /** Undefined: there is no answer. */
  async #try<Answer>(object: KubeObject, failed: string, call: () => Promise<Answer>): Promise<Answer | undefined> {
    const uid = uidOf(object);
    if (this.isRefused(uid) || this.#calls >= CALLS_OF_A_ROUND) return;
    this.#calls += 1;
    try {
      const answer = await call();
      this.#refused.delete(uid);
      return answer;
    } catch (error) {
      // It has changed, which the watch shows, is gone, or there is a new one of its name.
      if (isKubeError(error, 'conflict', 'not-found')) return;
      if (isKubeError(error, 'invalid', 'forbidden', 'bad-request', 'too-large')) {
        // Of this object alone.
        this.#refused.set(uid, performance.now() + REFUSED_MS);
        if (++this.#refusals > LOGGED_REFUSALS) return;
      } else {
        // A server that is away takes no other of this round.
        this.#calls = CALLS_OF_A_ROUND;
      }
      this.#warn(error, failed, object);
    }
  }

  // Objects that are gone, also those that went while no replica ran.

  async #dropLost(objects: readonly T[]): Promise<void> {
    if (performance.now() - this.#lookedAt < LOST_MS) return;
    this.#lookedAt = performance.now();
    const refused = [...this.#refused.keys()].filter((uid) => this.isRefused(uid));
    const others = { uids: [...objects.map(uidOf), ...refused], limit: LOST_AT_ONCE };
    const lost = await this.deps.store.objectsBeside(this.kind, others);
    for (const one of lost) await this.#drop(one);
    if (lost.length === LOST_AT_ONCE) this.#lookedAt = -Infinity;
  }

  async #drop({ uid, namespace, name, id }: LostObject): Promise<void> {
    const { store } = this.deps;
    const object = { metadata: { uid, namespace, name } };
    // Another replica may have seen a newer object.
    const isGone = async (): Promise<boolean> => {
      const there = await this.#kube.get(this.type, name, { namespace }).catch(ifThere);
      return there?.metadata.uid !== uid;
    };
    if (this.served.serves(object) && !(await this.#try(object, 'cannot look for a lost object', isGone))) return;
    const isEnded = await this.end(id, `${namespace}/${name}`);
    // Of a creation that is under way there is nothing yet. A later try has the id of the first.
    const isUncreated = !this.#making.has(namespace) && this.#isOld(id);
    if (isEnded ?? isUncreated) await store.forgetObject({ uid, id });
  }

  #isOld(id: string): boolean {
    return this.deps.store.clock.now() - (timeOf(id)?.getTime() ?? 0) > UNCREATED_MS;
  }
}

const NO_TOKEN = waiting(
  'TokenInactive',
  'the account has no API token that is active and may probe: the default token, or one of the account that the ' +
    'namespace is bound to',
);
const AWAITING_TURN = waiting(
  'AwaitingTurn',
  `others have their turn before it: one of a namespace at a time, and ${MOST_MAKING} of all`,
);
const RATE_LIMITED = waiting('RateLimited', 'the requests a minute of the token are used up');

/** Of an error in what the object asks for, or of something that it can wait for. Others are thrown. */
function waitOf(error: unknown): Wait {
  if (!(error instanceof ApiError)) throw error;
  const { message } = error;
  if (error.status === 503 || error.code === 'tool-unavailable')
    return waiting('Unavailable', message, AFTER_FAILURE_MS);
  if (error.status >= 500) throw error;
  if (error.status === 429) return waiting('RateLimited', message);
  if (isUnread(error)) return waiting('ListUnreadable', `spec.request: ${message}; it is tried again`, UNREAD_MS);
  return { state: 'Refused', reason: 'InvalidRequest', message: `spec.request: ${message}`, againMs: Infinity };
}

/** The rate alone is no reason to write. */
function isSame(status: object | undefined, next: object): boolean {
  return comparable(status ?? {}) === comparable(next);
}

/** The API server gives members back in an order of its own. */
const comparable = (status: object): string =>
  canonical(
    Object.fromEntries(Object.entries(status).filter(([name, value]) => value !== null && name !== 'perMinute')),
  );

function ifThere(error: unknown): undefined {
  if (!isKubeError(error, 'not-found')) throw error;
}
