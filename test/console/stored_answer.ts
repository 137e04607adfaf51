/** An ended request on record, as a collector would have left it. */
import type { Kind } from '../../src/platform/kube/probe_job.ts';
import type { Store } from '../../src/platform/store/store.ts';
import { packText, type TextBody } from '../result/text_body.ts';
import { aCloseInput, anOpenInput } from '../store/fixture.ts';

export async function storeAnswer(
  store: Store,
  { id, tokenId }: { id: number; tokenId: number },
  kind: Kind,
  result: TextBody,
  options: object = {},
): Promise<string> {
  const request = { options, response: { shown: ['ffprobe'], injectOutput: false, injectJson: false } };
  const open = anOpenInput(store, { kind, tokenId, userId: id, waiter: null, request });
  await store.openRequest(open);
  const { packed, size } = packText(result);
  await store.closeRequest(aCloseInput(open, { body: packed, inflatedBytes: size }));
  return open.id;
}
