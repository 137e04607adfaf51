/** A batch to create, and its items. */
import type { NewBatch, NewItem } from '../../src/platform/store/batches.ts';
import type { Store } from '../../src/platform/store/store.ts';

export const aBatch = (store: Store, change: Partial<NewBatch> = {}): NewBatch => ({
  id: store.newRequest().id,
  tokenId: 1,
  userId: 1,
  name: null,
  template: { ffprobe: { version: '7.0' } },
  sealedKey: Buffer.from('key'),
  concurrency: 4,
  rate: 200,
  perHost: 4,
  tries: 3,
  maxRequests: null,
  maxBytes: null,
  deadlineAt: null,
  webhookUrl: null,
  webhookEvery: null,
  listing: null,
  sourceId: null,
  ...change,
});

export const someItems = (count: number, hostOf: (n: number) => bigint = () => 1n): NewItem[] =>
  Array.from({ length: count }, (_, n) => ({
    n,
    host: hostOf(n),
    display: `https://example.org/${n}.mp4`,
    plain: true,
    ref: `ref ${n}`,
    sealed: Buffer.from(`sealed ${n}`),
  }));
