/** All jobs without an end, oldest first, as a term begins with them. */
import { PROBE_JOBS, isKubeError, type KubeClient, type Page } from '../../kube/client.ts';
import type { ProbeJob } from '../../kube/resources.ts';
import { slimJob } from '../../kube/slim.ts';
import { isFinished } from './job_status.ts';
import { submittedAtOf } from './job.ts';

/** Page by page, without what nobody reads: 10,000 as they come off the wire are 60 MB. */
export async function listUnfinished(
  kube: KubeClient,
  namespace: string,
  finished: (job: ProbeJob) => void,
): Promise<ProbeJob[]> {
  let found: ProbeJob[] = [];
  let next: string | undefined;
  for (;;) {
    let page: Page<ProbeJob>;
    try {
      page = await kube.list(PROBE_JOBS, { namespace, limit: 500, continue: next });
    } catch (error) {
      // The server has forgotten the state that the pages are of: a mix of two would be no list.
      if (next === undefined || !isKubeError(error, 'gone')) throw error;
      found = [];
      next = undefined;
      continue;
    }
    for (const item of page.items) {
      const job = slimJob(item);
      if (isFinished(job.status)) finished(job);
      else found.push(job);
    }
    next = page.continue;
    if (next === undefined) break;
  }
  return found.sort((a, b) => submittedAtOf(a).getTime() - submittedAtOf(b).getTime());
}
