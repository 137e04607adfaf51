/** An ended request on record, as a collector would have left it. */
import type { PolicyResult } from '../../src/media/policy/schema.ts';
import type { Kind } from '../../src/platform/kube/probe_job.ts';
import type { Store } from '../../src/platform/store/store.ts';
import { packText, type TextBody } from '../result/text_body.ts';
import { aCloseInput, anOpenInput } from '../store/fixture.ts';

export async function storeAnswer(
  store: Store,
  { id, tokenId }: { id: number; tokenId: number },
  kind: Kind,
  result: TextBody,
  { policy, ...options }: { policy?: Pick<PolicyResult, 'name' | 'revision'> } & Record<string, unknown> = {},
): Promise<string> {
  const response = { shown: ['ffprobe'], policy, injectOutput: false, injectJson: false };
  const request = { options, response };
  const open = anOpenInput(store, { kind, tokenId, userId: id, waiter: null, request });
  await store.openRequest(open);
  const { packed, size } = packText(result);
  await store.closeRequest(aCloseInput(open, { body: packed, inflatedBytes: size }));
  return open.id;
}
