/** Takes part in the leader election, and runs a term while this replica leads. */
import type { KubeClient } from '../../platform/kube/client.ts';
import { startElection } from '../../platform/kube/lease.ts';
import { LEASE_MARGIN_MS } from './leader/dispatch.ts';
import { highestEpoch, readPools } from './leader/fence.ts';
import { startTerm, type RunningTerm, type TermDeps } from './term.ts';

export interface Candidacy {
  /** This replica's term while it leads. */
  term(): RunningTerm | undefined;
  /** Milliseconds since this replica saw the lease renewed; Infinity: nobody holds it. */
  leaseAgeMs(): number;
  stop(): Promise<void>;
}

export function standForElection(leaseClient: KubeClient, deps: TermDeps): Candidacy {
  const { config, jobs, log, metrics, poolCache } = deps;
  let term: RunningTerm | undefined;
  let over = new AbortController();
  let starting: Promise<void> = Promise.resolve();
  const endTerm = async (): Promise<void> => {
    const ending = term;
    term = undefined;
    metrics.lead(undefined);
    await ending?.stop();
    metrics.termEnded();
  };
  const election = startElection({
    client: leaseClient,
    name: 'probeyard-controller',
    namespace: config.namespace,
    holder: config.podName,
    now: () => deps.store.clock.now(),
    // A write of its holder may be under way.
    quietMs: LEASE_MARGIN_MS,
    // A deleted Lease restarts its count of transitions, and runners refuse an epoch older than one they have seen.
    // The count of one that is there is above them all, unless somebody has set it: the cache is enough for that.
    epochFloor: async (isNew) => {
      const ofPools = highestEpoch(isNew ? await readPools(deps) : poolCache.list());
      return jobs.list().reduce((most, { status }) => Math.max(most, status?.admittedBy?.epoch ?? 0), ofPools);
    },
    onLead: ({ epoch }) => {
      log.info({ epoch }, 'elected as leader');
      metrics.lead(epoch);
      const mine = new AbortController();
      over = mine;
      const lead = async (): Promise<void> => {
        await endTerm();
        metrics.lead(epoch);
        if (mine.signal.aborted) return;
        term = await startTerm(
          deps,
          {
            holder: election.identity,
            epoch,
            stillLeading: (margin) => election.leading() === epoch && election.stillLeading(margin),
            over: mine,
            terms: () => election.terms(),
          },
          (running) => {
            term = running;
          },
        );
      };
      starting = starting.then(lead).catch((error: unknown) => {
        if (mine.signal.aborted || !election.stillLeading(0))
          return log.warn({ err: error, epoch }, 'lost the lease before the term started');
        // A leader that cannot start must not block the other replicas.
        log.error({ err: error, epoch }, 'cannot start the term, exiting');
        process.exit(1);
      });
    },
    onLost: async (why) => {
      log.warn({ why }, 'no longer leading');
      // A term that is still starting ends at its next step.
      over.abort();
      await starting;
      await endTerm();
    },
    onError: (error) => log.warn({ err: error }, 'lease operation failed'),
  });
  return { term: () => term, leaseAgeMs: () => election.renewedAgoMs(), stop: () => election.stop() };
}
