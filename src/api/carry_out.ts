/** What every probe endpoint does once its request is read: open it, follow it to its end, answer. */
import type { Kind } from '../kube/resources.ts';
import type { Wanted } from '../envelope/wanted.ts';
import { answer } from './answer.ts';
import { tokenOf, type Context } from './context.ts';
import type { Deps } from './deps.ts';
import { invalid } from './errors.ts';
import { follow } from './follow.ts';
import { idempotencyOf } from './idempotency.ts';
import { readSource } from './source.ts';
import { submit } from './submit.ts';
import type { Selection } from './tool_requests.ts';

/** The fields that all three endpoints have. */
export interface Asked { url: string; timeout: number; queue_timeout: number; webhook_url: string | null }

export interface Work {
  kind: Kind;
  request: Asked;
  selection: Pick<Selection, 'tools' | 'report'>;
  wanted: Wanted;
  /** How to give the result back later, and everything for the log but the addresses. */
  kept: object;
}

/** Nothing delivers webhooks yet: a caller who was told 202 would wait for ever. */
function refuseWebhook(ctx: Context, { webhook_url: address }: Asked): void {
  if (address === null) return;
  throw invalid('webhook_url', ctx.method === 'POST' ? 'webhooks are not offered yet' : 'may be sent in a POST only');
}

export async function carryOut(deps: Deps, ctx: Context, { kind, request, selection, wanted, kept }: Work): Promise<void> {
  const { settings } = deps;
  const token = tokenOf(ctx);
  refuseWebhook(ctx, request);
  const source = readSource(request.url, { allow: [...settings.allowSources, ...token.allow], deny: settings.denyCidrs });
  const idempotency = idempotencyOf(ctx, kind, request);
  const times = { queueTimeoutMs: Math.min(request.queue_timeout, token.limits.queueTimeoutMs), timeoutMs: request.timeout };

  const opened = await submit(deps, ctx, { kind, url: request.url, source, selection, ...times, kept, idempotency });
  const end = await follow(deps, ctx, { ...opened, ...times });
  await answer(deps, ctx, end, opened.submittedAt, wanted);
}
