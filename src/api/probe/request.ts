/** A probe as its caller asked for it: built once, of checked fields, for all that opens, runs and answers it. */
import type { Kind, ProbeJobSpec, ToolRequest } from '../../kube/probe_job.ts';
import type { ResponseForm } from '../../result/answer.ts';
import type { Source } from '../../source/source.ts';
import type { OpenInput } from '../../store/records.ts';
import type { Deps } from '../deps.ts';
import { tokenOf, type Context } from '../http/context.ts';
import { idempotencyOf } from './idempotency.ts';
import { readSource } from './source.ts';
import { readWebhookUrl } from './webhook_url.ts';

/** The fields that all probe endpoints have. */
export interface CommonFields {
  url: string;
  timeout: number;
  queue_timeout: number;
  webhook_url: string | null;
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
  /** What was asked for, without the addresses. */
  options: object;
  /** The result is sent there; null: the caller waits for it. */
  webhookUrl: string | null;
  idempotency: OpenInput['idempotency'];
}

export function probeRequest(
  { settings }: Pick<Deps, 'settings'>,
  ctx: Context,
  fields: CommonFields,
  own: Pick<ProbeRequest, 'kind' | 'tools' | 'report' | 'response'>,
): ProbeRequest {
  const token = tokenOf(ctx);
  const rules = {
    allow: [...settings.allowSources, ...token.allow],
    deny: settings.denyCidrs,
    s3Hosts: settings.s3Hosts,
  };
  const { url, webhook_url: webhookUrl, ...options } = fields;
  return {
    ...own,
    url,
    source: readSource(url, rules),
    limits: {
      queueTimeoutMs: Math.min(fields.queue_timeout, token.limits.queueTimeoutMs),
      timeoutMs: fields.timeout,
    },
    options,
    webhookUrl: readWebhookUrl(ctx.method, webhookUrl, rules),
    idempotency: idempotencyOf(ctx, own.kind, fields),
  };
}
