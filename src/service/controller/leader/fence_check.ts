/**
 * Whether late admissions of deposed leaders are refused (fence.ts). The leader tries it: an admission of an earlier
 * term, as a dry run, so nothing is written. It may not read the policy itself, which belongs to the cluster.
 */
import { PROBE_JOBS, isKubeError, type KubeClient } from '../../../platform/kube/client.ts';
import type { Logger } from '../../../base/log.ts';

interface FenceCheckDeps {
  kube: Pick<KubeClient, 'mergePatchStatus'>;
  namespace: string;
  log: Pick<Logger, 'warn' | 'info'>;
  /** Any job, ended ones too: an admission is tried on it. */
  job: () => { metadata: { name: string }; status?: { attempts?: number | undefined } | undefined } | undefined;
  epoch: number;
  /** Whether the chart says so. Then it is not known until it is tried. */
  installed: boolean;
}

export interface FenceCheck {
  /** Undefined: not known, because no job was there to try it on. */
  missing(): boolean | undefined;
  /** The CRD of a pool drops the term. */
  tooOld(): void;
  run(): Promise<void>;
}

const DEADLINE_MS = 2_000;

export function fenceCheck({ kube, namespace, log, job, epoch, installed }: FenceCheckDeps): FenceCheck {
  let crdTooOld = false;
  let accepted: boolean | undefined = installed ? undefined : true;
  if (!installed) log.warn({ epoch }, 'admissionPolicy.enabled is off: late admissions are not refused');
  return {
    missing: () => crdTooOld || accepted,
    tooOld() {
      crdTooOld = true;
    },
    async run() {
      const found = job();
      // There is no earlier term than the first.
      if (!found || epoch < 1) return;
      const before = accepted;
      const status = {
        admittedBy: { holder: 'fence-check', epoch: epoch - 1 },
        attempts: (found.status?.attempts ?? 0) + 1,
      };
      try {
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
