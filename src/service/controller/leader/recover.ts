/**
 * The start of a term: the unfinished jobs, their recorded ends, and the owners of runners, derived from the jobs they
 * ran and what their pods say: a new leader knows them independently of their agents.
 */
import { SUBJECT } from '../../../platform/bus/messages.ts';
import { PROBE_JOBS, isKubeError, type KubeClient, type Page } from '../../../platform/kube/client.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import { isOurs } from '../../../platform/kube/resource.ts';
import { retry } from '../../../base/retry.ts';
import { makeYield } from '../../../base/turns.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { ServedNamespaces } from '../../../platform/kube/served_namespaces.ts';
import { recordedEnd } from './ends.ts';
import { seen, take } from './intake.ts';
import { submittedAtOf } from './job.ts';
import { isFinished } from '../../../platform/kube/conditions.ts';
import { ensureLeading, whileLeading } from './lease_guard.ts';
import { leftBy } from './losses.ts';
import type { TermState } from './term_state.ts';
import { lifeOf, podOf } from '../../../platform/bus/runner_id.ts';
import type { ReuseScope } from '../../../platform/kube/probe_pool.ts';
import type { Runners } from '../pools/runners.ts';
import { tenantOf } from '../pools/share.ts';

/** How long a new leader waits for its servers before it leaves the lease to another replica. */
const PATIENCE_MS = 60_000;

/**
 * Loads the state from scratch: first the list of jobs, then the recorded ends. Nothing is admitted before that.
 */
export async function recover(state: TermState): Promise<void> {
  const { kube, jobs, finishedJobs, store, bus, log, runners, term } = state.deps;
  const owners = runnerOwners(runners);
  const finished = (job: ProbeJob): void => {
    finishedJobs.add(job);
    owners.note(job);
  };
  const unfinished = await patiently(state, 'list the jobs', () => listUnfinished(kube, state.served, finished));
  // The cache is enough for these: the watch will show what it does not know yet.
  for (const job of jobs.list()) if (isOurs(job) && isFinished(job.status)) finished(job);
  for (const job of unfinished) owners.note(job);
  const tokens = [...new Set(unfinished.flatMap((job) => (job.spec.token ? [job.spec.token.id] : [])))];
  await patiently(state, 'load the tokens of unfinished jobs', () => state.tokens.load(tokens));
  await whileLeading(term, bindRunners(state, owners));
  bus.publish(SUBJECT.report, { epoch: term.epoch });
  const count = unfinished.length;
  const yielded = makeYield();
  // Emptied, so that no job is held twice: here with its source, and as it was taken in.
  for (const job of unfinished.splice(0)) {
    await yielded();
    take(state, job);
  }
  state.listed = true;
  await whileLeading(term, state.intake.settled());
  const byId = new Map([...state.jobs.allTaken()].map((job) => [job.id, job]));
  const ids = [...byId.keys()];
  for (let at = 0; at < ids.length; at += 500) {
    const page = ids.slice(at, at + 500);
    for (const ended of await patiently(state, 'read recorded ends', () => store.endsFor(page))) {
      const job = byId.get(ended.id);
      if (job) void state.move(job, { is: 'recorded', end: recordedEnd(ended) });
    }
  }
  await ensureLeading(term);
  // Runners that have not reported yet get no order, and a silent one holds up nobody.
  state.ready = true;
  for (const runner of runners.all()) leftBy(state, runner);
  for (const job of state.arrived.values()) seen(state, job);
  state.arrived.clear();
  log.info({ epoch: term.epoch, unfinished: count, running: state.ledger.held }, 'term started');
  state.scheduleAll();
}

/** Repeats a read while this replica holds the lease. */
function patiently<T>(state: TermState, what: string, read: () => Promise<T>): Promise<T> {
  const { log, term } = state.deps;
  return whileLeading(
    term,
    retry(read, {
      first: 100,
      longest: 2_000,
      until: performance.now() + PATIENCE_MS,
      when: () => term.stillLeading(0),
      onRetry: (error) => log.warn({ err: error }, `cannot ${what}, will retry`),
    }),
  );
}

async function bindRunners(state: TermState, owners: ReturnType<typeof runnerOwners>): Promise<void> {
  const { pools, log } = state.deps;
  try {
    await state.tokens.load(owners.tokens().filter((id) => !state.tokens.known(id)));
  } catch (error) {
    log.warn({ err: error }, 'cannot load runner owners, replacing runners of unknown tokens');
  }
  owners.bind(state.tokens.known, (pool) => pools.scopeOf(pool));
}

/** The write that finishes a job names the batch in which it will be deleted. */
const UNFINISHED = 'status.batch=';

/** Lists in pages and drops unused fields: 10,000 raw objects are 60 MB. */
async function listUnfinished(
  kube: KubeClient,
  served: ServedNamespaces,
  finished: (job: ProbeJob) => void,
): Promise<ProbeJob[]> {
  const namespace = served.watched;
  let found: ProbeJob[] = [];
  let next: string | undefined;
  for (;;) {
    let page: Page<ProbeJob>;
    try {
      page = await kube.list(PROBE_JOBS, { namespace, fieldSelector: UNFINISHED, limit: 500, continue: next });
    } catch (error) {
      // The server has expired the snapshot of these pages. Pages of two snapshots must not be mixed, so the list
      // starts again.
      if (next === undefined || !isKubeError(error, 'gone')) throw error;
      found = [];
      next = undefined;
      continue;
    }
    for (const item of page.items) {
      if (!served.serves(item)) continue;
      const job = served.received(item);
      if (!isOurs(job)) continue;
      if (isFinished(job.status)) finished(job);
      else found.push(job);
    }
    next = page.continue;
    if (next === undefined) break;
  }
  return found.sort((a, b) => submittedAtOf(a).getTime() - submittedAtOf(b).getTime());
}

export function runnerOwners(runners: Runners) {
  /** Token ids by runner: all jobs of one life of a pod belong to one tenant. */
  const tokens = new Map<string, number>();
  return {
    /**
     * Notes the runner of a finished or unfinished job. Most such pods no longer exist, or are in another life. A life
     * that the watch has not shown yet counts: the pod may have been renewed just before.
     */
    note({ status }: ProbeJob): void {
      const uid = status?.runner?.uid;
      const runner = uid === undefined ? undefined : runners.ofPod(podOf(uid));
      // Zero: no token has this id.
      if (uid !== undefined && runner && lifeOf(uid) >= runner.life) tokens.set(uid, status?.admittedBy?.token ?? 0);
    },
    tokens: (): number[] => [...new Set(tokens.values())],
    /** A runner of an unknown token (revoked, or not readable now) gets no more jobs. */
    bind(known: (token: number) => TokenRecord | undefined, scopeOf: (pool: string) => ReuseScope): void {
      for (const [uid, id] of tokens) {
        const runner = runners.ofPod(podOf(uid));
        if (!runner) continue;
        const token = known(id);
        const { id: of, rootUserId: account } = token ?? { id, rootUserId: 0 };
        const tenant = tenantOf(scopeOf(runner.pool), { id: uid, token: of, account, credentials: !token });
        runners.bind(uid, tenant, token?.rootUserId);
      }
    },
  };
}
