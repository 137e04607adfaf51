/**
 * What every probe endpoint does once its request is read: open it, follow it to its end, answer; or promise a webhook.
 */
import type { Ended } from '../../bus/messages.ts';
import { endedNotice } from '../../result/ended_notice.ts';
import type { Wanted } from '../../result/wanted.ts';
import type { Kind } from '../../kube/resources.ts';
import { answer } from './answer.ts';
import { tokenOf, type Context } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { follow } from './follow.ts';
import { idempotencyOf } from './idempotency.ts';
import { readSource } from './source.ts';
import { submit, type Opened } from './open.ts';
import type { Selection } from './tools.ts';
import { readWebhookUrl } from './webhook_url.ts';

/** The fields that all three endpoints have. */
export interface Asked {
  url: string;
  timeout: number;
  queue_timeout: number;
  webhook_url: string | null;
}

export interface Work {
  kind: Kind;
  request: Asked;
  selection: Pick<Selection, 'tools' | 'report'>;
  wanted: Wanted;
  /** How to give the result back later, and everything for the log but the addresses. */
  kept: object;
}

interface Times {
  queueTimeoutMs: number;
  timeoutMs: number;
}

/** Tries under one Idempotency-Key: each takes the place of one that ended without a result. */
const TRIES = 5;

/**
 * An end that a repeat under the same key should not be given: its first caller hung up (perhaps the very reason for
 * the repeat), or the fault was ours or passing. Everything else is a result, and stays the answer to its key.
 */
const isNoResult = ({ hasBody, status }: Pick<Ended, 'hasBody' | 'status'>): boolean =>
  !hasBody && (status === 429 || status >= 499);

/** Promised at once; an end that is no result (null: there is a promise) is given to whoever asks under its key. */
async function promise(deps: Deps, opened: Opened, times: Times): Promise<Ended | null> {
  if (opened.job) {
    await deps.handOver.start({ ...opened, ...times }, opened.job);
    return null;
  }
  const [end] = await deps.store.endsFor([opened.id]);
  return end && isNoResult(end) ? endedNotice(end) : null;
}

export async function carryOut(
  deps: Deps,
  ctx: Context,
  { kind, request, selection, wanted, kept }: Work,
): Promise<void> {
  const { settings, store } = deps;
  const token = tokenOf(ctx);
  const rules = {
    allow: [...settings.allowSources, ...token.allow],
    deny: settings.denyCidrs,
    s3Hosts: settings.s3Hosts,
  };
  const source = readSource(request.url, rules);
  const webhookUrl = readWebhookUrl(ctx.method, request.webhook_url, rules);
  const idempotency = idempotencyOf(ctx, kind, request);
  const times: Times = {
    queueTimeoutMs: Math.min(request.queue_timeout, token.limits.queueTimeoutMs),
    timeoutMs: request.timeout,
  };

  deps.queueRoom.check();
  for (let tries = 1; ; tries++) {
    const opened = await submit(deps, ctx, {
      kind,
      url: request.url,
      source,
      selection,
      ...times,
      kept,
      idempotency,
      webhookUrl,
      again: tries > 1,
    });
    if (opened.job) deps.queueRoom.opened();
    const end =
      webhookUrl === null ? await follow(deps, ctx, { ...opened, ...times }) : await promise(deps, opened, times);
    if (end && idempotency && !opened.job && tries < TRIES && isNoResult(end)) {
      await store.releaseKey(token.id, idempotency.key, opened.id);
      continue;
    }
    if (end) return answer(deps, ctx, end, opened.submittedAt, wanted);
    ctx.status = 202;
    ctx.body = { success: true, metadata: { request_id: opened.id } };
    return;
  }
}
