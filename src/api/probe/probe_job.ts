/** The ProbeJob of a request. Its name is the request's id, so that a repeated create is the same job. */
import {
  API_VERSION,
  LABEL,
  type Kind,
  type ProbeJob,
  type ProbeJobSpec,
  type ToolRequest,
} from '../../kube/resources.ts';

export interface JobInput {
  id: string;
  namespace: string;
  submittedAt: Date;
  kind: Kind;
  token: { id: number; userId: number };
  display: string;
  sealed: string;
  queueTimeoutMs: number;
  timeoutMs: number;
  tools: ToolRequest[];
  report: NonNullable<ProbeJobSpec['report']>;
}

export const probeJob = (input: JobInput): ProbeJob => ({
  apiVersion: API_VERSION,
  kind: 'ProbeJob',
  metadata: {
    name: input.id,
    namespace: input.namespace,
    labels: { [LABEL.token]: String(input.token.id), [LABEL.kind]: input.kind },
  },
  spec: {
    kind: input.kind,
    source: { display: input.display.slice(0, 1024), sealed: input.sealed },
    token: { id: input.token.id, user: input.token.userId },
    submittedAt: input.submittedAt.toISOString(),
    queueTimeoutMs: input.queueTimeoutMs,
    timeoutMs: input.timeoutMs,
    tools: input.tools,
    report: input.report,
  },
});
