/** `GET|POST /v1/probe/file`: what ffprobe and mediainfo say of a source, and the report that they lead to. */
import { answer, type Wanted } from './answer.ts';
import { auth } from './auth.ts';
import { body } from './body.ts';
import { tokenOf, type Context, type Handler } from './context.ts';
import { countRefused } from './count_refused.ts';
import type { Deps } from './deps.ts';
import { invalid } from './errors.ts';
import { follow } from './follow.ts';
import { idempotencyOf } from './idempotency.ts';
import { makeReader } from './input/read.ts';
import { methods } from './methods.ts';
import { noCache } from './no_cache.ts';
import { rateLimitHeaders } from './rate_headers.ts';
import { IGNORED, ProbeFileSchema, type ProbeFile } from './schema/probe_file.ts';
import { readSource } from './source.ts';
import { submit } from './submit.ts';
import { selectTools, type Selection } from './tool_requests.ts';

const read = makeReader<ProbeFile>(ProbeFileSchema);

function ignoredFields(ctx: Context, request: ProbeFile): void {
  const ignored = IGNORED.filter((name) => request[name] !== undefined);
  if (ignored.length > 0) ctx.set('X-Ignored-Fields', ignored.join(', '));
  for (const name of ignored) delete request[name];
}

/** Nothing delivers webhooks yet: a caller who was told 202 would wait for ever. */
function refuseWebhook(ctx: Context, request: ProbeFile): void {
  if (request.webhook_url === null) return;
  throw invalid('webhook_url', ctx.method === 'POST' ? 'webhooks are not offered yet' : 'may be sent in a POST only');
}

export interface Kept extends Omit<ProbeFile, 'url' | 'webhook_url'>, Pick<Selection, 'shown'> {
  asked: Wanted['asked'];
}

export function wantedOf(request: Pick<ProbeFile, 'only' | 'inject_output' | 'inject_json'>, selection: Selection, onlyReturnsRaw: boolean): Wanted {
  return {
    asked: selection.tools.map(({ name }) => ({ name })),
    shown: selection.shown,
    injectOutput: request.only !== null && (request.inject_output ?? onlyReturnsRaw),
    injectJson: request.inject_json,
  };
}

const probe = (deps: Deps): Handler =>
  async (ctx) => {
    const { settings } = deps;
    const token = tokenOf(ctx);
    const request = read(ctx.state.input!);
    ignoredFields(ctx, request);
    refuseWebhook(ctx, request);
    const source = readSource(request.url, { allow: [...settings.allowSources, ...token.allow], deny: settings.denyCidrs });
    const selection = selectTools(request, deps.catalog());
    const idempotency = idempotencyOf(ctx, 'file', request);
    const wanted = wantedOf(request, selection, settings.onlyReturnsRaw);
    const { url, webhook_url: _, ...options } = request;
    const kept: Kept = { ...options, shown: selection.shown, asked: wanted.asked };
    const times = { queueTimeoutMs: Math.min(request.queue_timeout, token.limits.queueTimeoutMs), timeoutMs: request.timeout };

    const opened = await submit(deps, ctx, { kind: 'file', url, source, selection, ...times, kept, idempotency });
    const end = await follow(deps, ctx, { ...opened, ...times });
    await answer(deps, ctx, end, opened.submittedAt, wanted);
  };

export const probeFile = (deps: Deps): Handler[] => [
  methods('GET', 'POST'),
  noCache,
  auth(deps.tokens, deps.store.clock.now)('write:media'),
  rateLimitHeaders,
  countRefused(deps),
  ...body,
  probe(deps),
];
