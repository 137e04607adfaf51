/** A probe as requested: built once from checked fields, for everything that opens, runs and answers it. */
import type { Kind, ProbeJobSpec, ToolRequest } from '../../kube/probe_job.ts';
import type { ResponseForm } from '../../result/answer.ts';
import type { Source } from '../../source/source.ts';
import type { OpenInput } from '../../store/records.ts';
import type { Deps } from '../deps.ts';
import { tokenOf, type Context } from '../http/context.ts';
import { prefersAsync } from '../http/prefer.ts';
import { idempotencyOf } from './idempotency.ts';
import type { AskedPolicy } from './policy.ts';
import { readSource } from './source.ts';
import { readWebhookUrl } from './webhook_url.ts';

/** Fields of all probe endpoints. */
export interface CommonFields {
  url: string;
  timeout: number;
  queue_timeout: number;
  webhook_url: string | null;
  policy?: string | object | null;
}

export interface ProbeRequest {
  kind: Kind;
  /** As sent: sealed into the job, and not stored. */
  url: string;
  source: Source;
  tools: ToolRequest[];
  report: NonNullable<ProbeJobSpec['report']>;
  limits: { queueTimeoutMs: number; timeoutMs: number };
  timeline?: boolean;
  response: ResponseForm;
  policy?: AskedPolicy | null | undefined;
  /** The requested options, without addresses. */
  options: object;
  /** Where the result is sent. */
  webhookUrl: string | null;
  /** Whether the caller waits for the end. Otherwise the response is an immediate 202. */
  waits: boolean;
  idempotency: OpenInput['idempotency'];
}

export function probeRequest(
  { settings }: Pick<Deps, 'settings'>,
  ctx: Context,
  fields: CommonFields,
  own: Pick<ProbeRequest, 'kind' | 'tools' | 'report' | 'response' | 'policy' | 'timeline'>,
): ProbeRequest {
  const token = tokenOf(ctx);
  const rules = {
    allow: [...settings.allowSources, ...token.allow],
    deny: settings.denyCidrs,
    s3Hosts: settings.s3Hosts,
  };
  const { url, webhook_url: webhookUrl, policy: _, ...options } = fields;
  const { policy = null } = own;
  return {
    ...own,
    response: policy ? { ...own.response, policy } : own.response,
    url,
    source: readSource(url, rules),
    limits: {
      queueTimeoutMs: Math.min(fields.queue_timeout, token.limits.queueTimeoutMs),
      timeoutMs: fields.timeout,
    },
    options: { ...options, ...shownPolicy(policy) },
    webhookUrl: readWebhookUrl(ctx.method, webhookUrl, rules),
    waits: webhookUrl === null && !prefersAsync(ctx),
    idempotency: idempotencyOf(ctx, own.kind, withoutNull(fields)),
  };
}

/** An inline policy is shown by its digest, because the log is kept for months. */
const shownPolicy = (policy: AskedPolicy | null): object =>
  policy ? { policy: policy.name ?? { sha256: policy.digest } } : {};

/** Omits an absent policy, so that the request equals one from before policies existed. */
const withoutNull = ({ policy, ...fields }: CommonFields): object => (policy ? { ...fields, policy } : fields);
