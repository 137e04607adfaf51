/**
 * Opens a request in the record, in one round trip, and seals its source meanwhile. From here on it always gets an end.
 */
import { API_VERSION, LABEL } from '../../../platform/kube/resource.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import type { ProbeRequest } from './probe_request.ts';
import { joinedAddresses, keptRequest } from '../../result/kept_request.ts';
import { sealSource } from '../../../platform/seal/seal.ts';
import { hideQuery } from '../../../source/address/hide_query.ts';
import { printable } from '../../../base/printable.ts';
import { displaySource } from '../../../source/address/redact.ts';
import { groupOf } from '../../../source/protocols/table.ts';
import { timeOf } from '../../../platform/store/uuid.ts';
import { TRACE_ANNOTATION } from '../../../platform/tracing/trace_context.ts';
import { keptUrl } from '../../webhooks/kept_url.ts';
import { tokenOf, type Context } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { ApiError, inside, overQuota } from '../errors.ts';
import { setRequestId } from '../http/middleware.ts';

// The ProbeJob of a request. It is named by the request id, so that a repeated create results in the same job.

interface Opening {
  id: string;
  namespace: string;
  submittedAt: Date;
  token: { id: number; userId: number };
  display: string;
  /** Each source. */
  sealed: readonly string[];
}

const probeJob = (
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

/** Of each source in the ProbeJob: two of them and what is between fit into 1,024 characters. */
const MOST_SHOWN = 500;

export interface OpenedRequest {
  id: string;
  submittedAt: Date;
  /** Null: the same request was made before, under this id. */
  job: ProbeJob | null;
}

export async function openRequest(deps: Deps, ctx: Context, request: ProbeRequest): Promise<OpenedRequest> {
  const { store, settings, sealKeys } = deps;
  const { kind, sources, tools, limits } = request;
  const token = tokenOf(ctx);
  const trace = ctx.state.trace?.parent;
  // By an earlier try of the same call, or before its file was read.
  const isCounted = ctx.state.rate !== undefined;
  const { id, submittedAt } = store.newRequest();
  setRequestId(ctx, id);
  const binding = { requestId: id, tokenId: token.id };
  const sealing = Promise.all(request.secrets.map((secret) => sealSource(secret, binding, sealKeys())));
  // Not awaited if the request is not opened.
  sealing.catch(() => {});

  const webhookUrl = request.webhookUrl === null ? null : await keptUrl(request.webhookUrl, id, deps.accounts.box);
  const began = performance.now();
  const opened = await store.openRequest({
    id,
    submittedAt,
    tokenId: token.id,
    userId: token.userId,
    kind,
    display: joinedAddresses(sources.map(({ url }) => hideQuery(url))),
    scheme: groupOf(sources[0]),
    request: { ...keptRequest(request.options, request.response), ...(trace ? { trace } : {}) },
    tools: tools.map(({ name, version }) => ({ name, version })),
    ...limits,
    waiter: request.waits ? settings.replica : null,
    webhookUrl,
    idempotency: request.idempotency,
    requestsPerMinute: isCounted ? 0 : token.limits.requestsPerMinute,
    quotas: { of: token.quotas, rootUserId: token.rootUserId },
  });
  deps.metrics.step('open', performance.now() - began);
  if (!isCounted) ctx.state.rate = opened.rate;

  switch (opened.outcome) {
    case 'rate-limited':
      throw new ApiError('rate-limited', { retryAfterS: opened.retryAfterMs / 1000 });
    case 'over-quota':
      throw overQuota(opened.exceeded);
    case 'idempotency-conflict':
      throw new ApiError('idempotency-conflict');
    case 'repeated': {
      const first = timeOf(opened.id);
      if (!first) throw inside('the request id of an idempotency key is not a UUIDv7');
      setRequestId(ctx, opened.id);
      return { id: opened.id, submittedAt: first, job: null };
    }
    case 'opened': {
      const job = probeJob(request, {
        id,
        namespace: settings.namespace,
        submittedAt,
        token,
        display: sources.map((source) => printable(displaySource(source), MOST_SHOWN)).join(' and '),
        sealed: await sealing,
      });
      if (trace) job.metadata.annotations = { [TRACE_ANNOTATION]: trace };
      return { id, submittedAt, job };
    }
  }
}
