/**
 * Two paths of memory_charge.ts that need NATS or a receiver in an installation. Here they start with the notice of an
 * end, and with a claimed webhook.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import Koa from 'koa';
import { answer } from '../../src/service/api/probe/stored_result.ts';
import type { Context, State } from '../../src/service/api/http/request_context.ts';
import { makeMetrics } from '../../src/service/api/api_metrics.ts';
import { MemoryBudget } from '../../src/service/result/memory_budget.ts';
import { openResult, WHOLE } from '../../src/service/result/unpack.ts';
import { readKeptRequest } from '../../src/service/result/kept_request.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { webhookBody } from '../../src/service/webhooks/body.ts';

const [, , url, budgetBytes] = process.argv as [string, string, string, string];
const store = await openStore({ url });
const memory = new MemoryBudget({ totalBytes: Number(budgetBytes), wholeBytes: WHOLE });
const deps = { store, memory, metrics: makeMetrics(() => 0) };

const app = new Koa<State>();
app.use(async (ctx) => {
  const [, path, id = ''] = ctx.path.split('/');
  const record = await store.readRequest(id);
  if (!record) return;
  const { submittedAt, inflatedBytes } = record;
  const ended = { id, status: 200, queueTimeMs: 1 };
  if (path === 'waiting') {
    ctx.state.caller = { rootUserId: 1 } as never;
    const inline = inflatedBytes !== null && inflatedBytes <= WHOLE ? await store.readBody(id, submittedAt) : null;
    return answer(
      deps,
      ctx as Context,
      {
        ...ended,
        reason: 'Completed',
        hasBody: true,
        ...(inflatedBytes === null ? {} : { inflatedBytes }),
        ...(inline ? { body: inline.toString('base64') } : {}),
      },
      record,
      readKeptRequest(record).response,
    );
  }
  const stored = await openResult(deps, { id, submittedAt, inflatedBytes }, 1);
  const sent = { ...record, ...ended, reason: 'Completed', ioBytes: 1, endedAt: submittedAt, error: null } as const;
  const body = await webhookBody(sent, stored, readKeptRequest(record).response);
  // Held for as long as a silent receiver would hold it.
  ctx.status = 200;
  ctx.respond = false;
  ctx.res.write(' ');
  const hold = setInterval(() => body.length, 1_000);
  ctx.res.once('close', () => {
    clearInterval(hold);
    stored?.place.release();
  });
});
const server = createServer(app.callback());
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.({ port: (server.address() as { port: number }).port });
process.once('disconnect', () => process.exit(0));
