/** The ProbeJob of a request. It is named by the request id, so that a repeated create results in the same job. */
import { API_VERSION, LABEL } from '../../../platform/kube/resource.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import type { ProbeRequest } from './request.ts';

interface Opening {
  id: string;
  namespace: string;
  submittedAt: Date;
  token: { id: number; userId: number };
  display: string;
  /** Each source. */
  sealed: readonly string[];
}

export const probeJob = (
  { kind, limits, tools, report, policy, timeline }: ProbeRequest,
  { id, namespace, submittedAt, token, display, sealed: [first, second] }: Opening,
): ProbeJob => ({
  apiVersion: API_VERSION,
  kind: 'ProbeJob',
  metadata: {
    name: id,
    namespace,
    labels: { [LABEL.token]: String(token.id), [LABEL.kind]: kind },
  },
  spec: {
    kind,
    source: { display, sealed: first! },
    ...(second === undefined ? {} : { other: { sealed: second } }),
    token: { id: token.id, user: token.userId },
    submittedAt: submittedAt.toISOString(),
    ...limits,
    tools,
    report,
    ...(timeline ? { timeline: { enabled: true } } : {}),
    ...(policy
      ? {
          policy: {
            ...(policy.name === null ? {} : { name: policy.name }),
            ...(policy.revision === null ? {} : { revision: policy.revision }),
            digest: policy.digest,
          },
        }
      : {}),
  },
});
