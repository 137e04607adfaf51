/**
 * The term in the status of every ProbePool. The admission policy (charts/probeyard/templates/fence.yaml) refuses
 * admissions of an earlier term, and the API server refuses to lower it.
 *
 * It does not read the Lease: once the last policy whose parameter is of a built-in kind is deleted, as by an
 * uninstall, the API server stops watching that kind until it restarts, and a later policy sees what was there before.
 * For a kind of a CRD it starts a new watch.
 */
import { PROBE_POOLS, isKubeError, type KubeClient } from '../../../platform/kube/client.ts';
import type { Logger } from '../../../base/log.ts';
import { retry } from '../../../base/retry.ts';

interface FenceDeps {
  kube: KubeClient;
  namespace: string;
  log: Logger;
}

const DEADLINE_MS = 2_000;

/** The highest term in any pool; 0 without pools, or if their kind is not installed. */
export async function highestFence({ kube, namespace }: Omit<FenceDeps, 'log'>): Promise<number> {
  try {
    const { items } = await kube.list(PROBE_POOLS, { namespace, deadlineMs: DEADLINE_MS });
    return items.reduce((most, { status }) => Math.max(most, status?.epoch ?? 0), 0);
  } catch (error) {
    if (isKubeError(error, 'not-found')) return 0;
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
