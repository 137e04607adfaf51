/** Ended requests with pending webhooks on a real Postgres, and deliverers for them. */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { MemoryBudget } from '../../src/service/result/memory_budget.ts';
import { WHOLE } from '../../src/service/result/unpack.ts';
import type { CloseInput } from '../../src/platform/store/records.ts';
import { startDelivery, type Delivery, type DeliverySettings } from '../../src/service/webhooks/deliver.ts';
import { webhookMetrics } from '../../src/service/webhooks/metrics.ts';
import { body, good } from '../result/result_samples.ts';
import { aCloseInput, anOpenInput, type StoreFixture } from '../store/fixture.ts';
import { packText } from '../result/text_body.ts';

export interface Row {
  id: string;
  request_id: string;
  state: string;
  step: number;
  attempts: { at: string; status: number | null; error?: string; durationMs: number }[];
  next_in_ms: number;
  leased_by: string | null;
}

const kept = { asked: [{ name: 'ffprobe' }], shown: ['ffprobe'], inject_json: false };

/** A request that ended just now, with a due webhook. Returns its id. */
export async function endedRequest(
  { store, admin }: StoreFixture,
  webhookUrl: string,
  {
    tokenId = admin.tokenId,
    userId = admin.userId,
    output = '{"format":{}}',
    close = {},
  }: { tokenId?: number; userId?: number; output?: string; close?: Partial<CloseInput> } = {},
): Promise<string> {
  const open = anOpenInput(store, { webhookUrl, waiter: null, tokenId, userId, request: kept });
  await store.openRequest(open);
  const { packed, size } = packText(body([good('ffprobe', output)]));
  await store.closeRequest(aCloseInput(open, { body: packed, inflatedBytes: size, ...close }));
  return open.id;
}

export const outboxRow = async ({ sql }: StoreFixture, requestId: string): Promise<Row> => {
  const [row] = await sql<Row>(
    'select id, request_id, state, step, attempts, leased_by, (extract(epoch from next_at - ' +
      'now()) * 1000)::float8 next_in_ms from webhook_outbox where request_id = $1',
    [requestId],
  );
  if (!row) throw new Error('there is no such webhook');
  return row;
};

/** Makes the next attempt of a row due. */
export const makeDue = ({ sql }: StoreFixture, requestId: string) =>
  sql('update webhook_outbox set next_at = now() where request_id = $1', [requestId]);

export const budget = (totalBytes = 160_000_000): MemoryBudget =>
  new MemoryBudget({ totalBytes, wholeBytes: WHOLE, waitMs: 200 });

/** What a token without a secret gets. */
const MADE = Buffer.alloc(32, 7);

export function deliverer(
  { store }: StoreFixture,
  settings: Partial<DeliverySettings> = {},
  lines: string[] = [],
  memory = budget(),
): Delivery {
  const delivery: Delivery = startDelivery({
    store,
    memory,
    log: pino(
      { level: 'trace' },
      {
        write: (line: string) => {
          lines.push(line);
        },
      },
    ),
    metrics: webhookMetrics(new Registry(), { inHand: () => delivery.inHand(), backlog: store.webhookBacklog }),
    settings: {
      allow: [{ cidr: '127.0.0.0/8' }],
      denyCidrs: [],
      makeSecret: (tokenId) => store.giveWebhookSecret(tokenId, MADE),
      openSecret: (secret) => secret,
      openUrl: async (url) => url,
      ofBatch: async () => null,
      publicUrl: '',
      ...settings,
    },
  });
  return delivery;
}
