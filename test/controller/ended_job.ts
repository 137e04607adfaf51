/** ProbeJobs as a cluster holds them, unfinished and finished. */
import { finishedStatus } from '../../src/service/controller/leader/job_status.ts';
import { API_VERSION } from '../../src/platform/kube/resource.ts';
import type { ProbeJob, ProbeJobStatus } from '../../src/platform/kube/probe_job.ts';

export const created = (name: string): ProbeJob => ({
  apiVersion: API_VERSION,
  kind: 'ProbeJob',
  metadata: { name },
  spec: { kind: 'file', source: { url: 'https://example.com/a.mp4' } },
});

export const endedStatus = (at: number, batch = '1-1'): ProbeJobStatus =>
  finishedStatus(
    undefined,
    { reason: 'Completed', summary: 'completed', tools: [], resultPath: '/x', batch },
    new Date(at).toISOString(),
  );

export const ended = (name: string, at: number, batch?: string): ProbeJob => ({
  ...created(name),
  status: endedStatus(at, batch),
});
