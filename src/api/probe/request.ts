/** A probe as its caller asked for it: built once, of checked fields, for all that opens, runs and answers it. */
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

/** The fields that all probe endpoints have. */
export interface CommonFields {
  url: string;
  timeout: number;
  queue_timeout: number;
  webhook_url: string | null;
  policy?: string | object | null;
}

export interface ProbeRequest {
  kind: Kind;
  /** As it was sent: sealed into the job, and kept nowhere. */
  url: string;
  source: Source;
  tools: ToolRequest[];
  report: NonNullable<ProbeJobSpec['report']>;
  limits: { queueTimeoutMs: number; timeoutMs: number };
  response: ResponseForm;
  policy?: AskedPolicy | null | undefined;
  /** What was asked for, without the addresses. */
  options: object;
  /** The result is sent there. */
  webhookUrl: string | null;
  /** The caller waits for the end. Otherwise the answer is 202 at once. */
  waits: boolean;
  idempotency: OpenInput['idempotency'];
}

export function probeRequest(
  { settings }: Pick<Deps, 'settings'>,
  ctx: Context,
  fields: CommonFields,
  own: Pick<ProbeRequest, 'kind' | 'tools' | 'report' | 'response' | 'policy'>,
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

/** An inline policy is shown by its digest: the log is kept for months. */
const shownPolicy = (policy: AskedPolicy | null): object =>
  policy ? { policy: policy.name ?? { sha256: policy.digest } } : {};

/** A request without a policy is the same as before there were any. */
const withoutNull = ({ policy, ...fields }: CommonFields): object => (policy ? { ...fields, policy } : fields);
