/**
 * The term in the status of every ProbePool. The admission policy (charts/probeyard/templates/fence.yaml) refuses
 * admissions of an earlier term, and the API server refuses to lower it.
 *
 * It does not read the Lease: once the last policy whose parameter is of a built-in kind is deleted, as by an
 * uninstall, the API server stops watching that kind until it restarts, and a later policy sees what was there before.
 * For a kind of a CRD it starts a new watch.
 *
 * The leader also tries whether such admissions are refused: an admission of an earlier term, as a dry run, so nothing
 * is written. It may not read the policy itself, which belongs to the cluster.
 */
import { PROBE_POOLS, isKubeError, type KubeClient, PROBE_JOBS } from '../../../platform/kube/client.ts';
import type { ProbePool } from '../../../platform/kube/probe_pool.ts';
import type { Logger } from '../../../base/log.ts';
import { retry } from '../../../base/retry.ts';

interface FenceDeps {
  kube: KubeClient;
  namespace: string;
  log: Logger;
}

const DEADLINE_MS = 2_000;

/** The highest term in any of these pools; 0 without pools. */
export const highestEpoch = (pools: readonly ProbePool[]): number =>
  pools.reduce((most, { status }) => Math.max(most, status?.epoch ?? 0), 0);

/** As the API server has them now. None if their kind is not installed. */
export async function readPools({ kube, namespace }: Omit<FenceDeps, 'log'>): Promise<ProbePool[]> {
  try {
    return (await kube.list(PROBE_POOLS, { namespace, deadlineMs: DEADLINE_MS })).items;
  } catch (error) {
    if (isKubeError(error, 'not-found')) return [];
    throw error;
  }
}

/** Resolves once admissions of earlier terms are refused, or the term is over. */
export async function raiseFence(
  { kube, namespace, log, tooOld }: FenceDeps & { tooOld?: () => void },
  epoch: number,
  pools: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const raise = async (pool: string): Promise<void> => {
    const { status } = await kube.mergePatchStatus(
      PROBE_POOLS,
      pool,
      { epoch },
      { namespace, deadlineMs: DEADLINE_MS },
    );
    if (status?.epoch === epoch) return;
    tooOld?.();
    log.warn({ pool, epoch }, 'the CRD of ProbePool is too old: late admissions of earlier leaders are not refused');
  };
  await Promise.all(
    pools.map((pool) =>
      retry(() => raise(pool), {
        first: 100,
        longest: 2_000,
        signal,
        when: (error) => !isKubeError(error, 'not-found', 'invalid'),
        onRetry: (error) => log.warn({ err: error, pool, epoch }, 'cannot write the term to a pool, will retry'),
      }).catch((error: unknown) => {
        // The pool was deleted, or the term is over.
        if (!isKubeError(error, 'not-found') && !signal.aborted) throw error;
      }),
    ),
  );
}

interface FenceCheckDeps {
  kube: Pick<KubeClient, 'mergePatchStatus'>;
  log: Pick<Logger, 'warn' | 'info'>;
  /** Any job, ended ones too: an admission is tried on it. */
  job: () =>
    | { metadata: { name: string; namespace?: string }; status?: { attempts?: number | undefined } | undefined }
    | undefined;
  epoch: number;
  /** Whether the chart says so. Then it is not known until it is tried. */
  installed: boolean;
}

export type FenceCheck = ReturnType<typeof fenceCheck>;

export function fenceCheck({ kube, log, job, epoch, installed }: FenceCheckDeps) {
  let crdTooOld = false;
  let accepted: boolean | undefined = installed ? undefined : true;
  if (!installed) log.warn({ epoch }, 'admissionPolicy.enabled is off: late admissions are not refused');
  return {
    /** Undefined: not known, because no job was there to try it on. */
    missing: (): boolean | undefined => crdTooOld || accepted,
    /** The CRD of a pool drops the term. */
    tooOld(): void {
      crdTooOld = true;
    },
    async run(): Promise<void> {
      const found = job();
      // There is no earlier term than the first.
      if (!found || epoch < 1) return;
      const before = accepted;
      const status = {
        admittedBy: { holder: 'fence-check', epoch: epoch - 1 },
        attempts: (found.status?.attempts ?? 0) + 1,
      };
      try {
        const { namespace } = found.metadata;
        const options = { namespace, deadlineMs: DEADLINE_MS, dryRun: true };
        await kube.mergePatchStatus(PROBE_JOBS, found.metadata.name, status, options);
        accepted = true;
      } catch (error) {
        // The job was deleted, or the API server is away: the next run says it.
        if (!isKubeError(error, 'forbidden')) return;
        accepted = false;
      }
      if (accepted && !before)
        log.warn({ epoch }, 'the admission policy of the chart is missing: late admissions are not refused');
      if (before && !accepted) log.info({ epoch }, 'the admission policy refuses late admissions again');
    },
  };
}
