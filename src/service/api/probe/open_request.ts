/** Opens a request in the record, and makes its ProbeJob. */
import { setImmediate } from 'node:timers/promises';
import { printable } from '../../../base/printable.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import { API_VERSION, LABEL } from '../../../platform/kube/resource.ts';
import { sealSource } from '../../../platform/seal/seal.ts';
import type { Opened, OpenInput } from '../../../platform/store/records.ts';
import { timeOf } from '../../../platform/store/uuid.ts';
import { TRACE_ANNOTATION } from '../../../platform/tracing/trace_context.ts';
import { hideQuery } from '../../../base/hide_query.ts';
import { displaySource } from '../../../source/address/redact.ts';
import { groupOf } from '../../../source/protocols/table.ts';
import { joinedAddresses, keptRequest } from '../../result/kept_request.ts';
import { keptUrl } from '../../webhooks/kept_url.ts';
import type { Deps } from '../deps.ts';
import { ApiError, inside, overQuota } from '../errors.ts';
import { type Asker, tokenOf } from '../http/request_context.ts';
import type { ProbeRequest } from './probe_request.ts';

// The ProbeJob of a request. It is named by the request id, so that a repeated create results in the same job.

/** Of each source in the ProbeJob: two of them and what is between fit into 1,024 characters. */
const MOST_SHOWN = 500;

export function probeJob(
  { settings }: Pick<Deps, 'settings'>,
  by: Asker,
  { kind, sources, limits, tools, report, policy, timeline, background }: ProbeRequest,
  { id, submittedAt, items }: { id: string; submittedAt: Date; items?: number },
  [first, second]: readonly string[],
): ProbeJob {
  const token = tokenOf(by);
  const trace = by.state.trace?.parent;
  const shown = sources.map((source) => printable(displaySource(source), MOST_SHOWN)).join(' and ');
  const display = items === undefined ? shown : `${shown} and ${items - 1} more`;
  return {
    apiVersion: API_VERSION,
    kind: 'ProbeJob',
    metadata: {
      name: id,
      namespace: settings.namespace,
      labels: { [LABEL.token]: String(token.id), [LABEL.kind]: kind },
      ...(trace ? { annotations: { [TRACE_ANNOTATION]: trace } } : {}),
    },
    spec: {
      kind,
      source: { display, sealed: first! },
      ...(second === undefined ? {} : { other: { sealed: second } }),
      ...(items === undefined ? {} : { items }),
      token: { id: token.id, user: token.userId },
      submittedAt: submittedAt.toISOString(),
      ...limits,
      tools,
      report,
      ...(timeline ? { timeline: { enabled: true } } : {}),
      ...(background ? { background } : {}),
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
  };
}

/** As the log has them. */
export const displayOf = (sources: ProbeRequest['sources']): string =>
  joinedAddresses(sources.map(({ url }) => hideQuery(url)));

export interface OpenedRequest {
  id: string;
  submittedAt: Date;
  /** Null: the same request was made before, under this id. */
  job: ProbeJob | null;
}

type Opening = Pick<OpenInput, 'id' | 'submittedAt' | 'waiter' | 'idempotency'>;

/** What is written of a request as it is opened. */
export function openInput(by: Asker, request: ProbeRequest, opening: Opening): Omit<OpenInput, 'webhookUrl'> {
  const { kind, sources, tools, limits } = request;
  const token = tokenOf(by);
  const trace = by.state.trace?.parent;
  return {
    ...opening,
    tokenId: token.id,
    userId: token.userId,
    kind,
    display: displayOf(sources),
    scheme: groupOf(sources[0]),
    request: {
      ...keptRequest(request.options, request.response),
      ...(request.cache ? { cacheKey: request.cache.key.toString('hex') } : {}),
      ...(trace ? { trace } : {}),
    },
    tools: tools.map(({ name, version }) => ({ name, version })),
    ...limits,
    // Already by an earlier try of the same call, or before its file was read.
    requestsPerMinute: by.state.rate === undefined ? token.limits.requestsPerMinute : 0,
    quotas: { of: token.quotas, rootUserId: token.rootUserId },
  };
}

/**
 * In one round trip; the source is sealed meanwhile. From here on the request always gets an end. `open`: writes the
 * open row.
 */
export async function openRequest(
  deps: Deps,
  by: Asker,
  request: ProbeRequest,
  opening: Opening,
  open: (input: OpenInput) => Promise<Opened> = deps.store.openRequest,
): Promise<OpenedRequest> {
  const { sealKeys } = deps;
  const { id, submittedAt } = opening;
  const token = tokenOf(by);
  const isCounted = by.state.rate !== undefined;
  const seal = async (): Promise<string[]> => {
    // Once Postgres has the call.
    await setImmediate();
    return request.secrets.map((secret) => sealSource(secret, { requestId: id, tokenId: token.id }, sealKeys()));
  };

  const webhookUrl = request.webhookUrl === null ? null : await keptUrl(request.webhookUrl, id, deps.accounts.box);
  const began = performance.now();
  const [opened, sealed] = await Promise.all([open({ ...openInput(by, request, opening), webhookUrl }), seal()]);
  deps.metrics.step('open', performance.now() - began);
  if (!isCounted) by.state.rate = opened.rate;

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
      return { id: opened.id, submittedAt: first, job: null };
    }
    case 'opened':
      return { id, submittedAt, job: probeJob(deps, by, request, opening, sealed) };
  }
}
