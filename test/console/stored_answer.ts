/** An ended request on record, as a collector would have left it. */
import { zstdCompressSync } from 'node:zlib';
import type { ResultBody } from '../../src/platform/bus/result_body.ts';
import type { Kind } from '../../src/platform/kube/probe_job.ts';
import type { Store } from '../../src/platform/store/store.ts';
import { aCloseInput, anOpenInput } from '../store/fixture.ts';

export async function storeAnswer(
  store: Store,
  { id, tokenId }: { id: number; tokenId: number },
  kind: Kind,
  result: ResultBody,
  options: object = {},
): Promise<string> {
  const request = { asked: [{ name: 'ffprobe' }], shown: ['ffprobe'], inject_json: false, ...options };
  const open = anOpenInput(store, { kind, tokenId, userId: id, waiter: null, request });
  await store.openRequest(open);
  const text = JSON.stringify(result);
  await store.closeRequest(aCloseInput(open, { body: zstdCompressSync(text), inflatedBytes: Buffer.byteLength(text) }));
  return open.id;
}
