/** An ended request on record, as a collector would have left it. */
import type { PolicyResult } from '../../src/media/policy/schema.ts';
import type { Kind } from '../../src/platform/kube/probe_job.ts';
import type { CloseInput } from '../../src/platform/store/records.ts';
import type { Store } from '../../src/platform/store/store.ts';
import { packText, type TextBody } from '../result/text_body.ts';
import { aCloseInput, anOpenInput } from '../store/fixture.ts';

interface Asked {
  policy?: Pick<PolicyResult, 'name' | 'revision'>;
  /** How it ended, where that is not a success. */
  ended?: Partial<CloseInput>;
}

export async function storeAnswer(
  store: Store,
  { id, tokenId }: { id: number; tokenId: number },
  kind: Kind,
  result: TextBody,
  { policy, ended, ...options }: Asked & Record<string, unknown> = {},
): Promise<string> {
  const response = { shown: ['ffprobe'], injectOutput: false, injectJson: false };
  const request = { options, response, ...(policy ? { policy } : {}) };
  const open = anOpenInput(store, { kind, tokenId, userId: id, waiter: null, request });
  await store.openRequest(open);
  const { packed, size } = packText(result);
  const policyOutcome = result.policy?.outcome;
  await store.closeRequest(aCloseInput(open, { body: packed, inflatedBytes: size, policy: policyOutcome, ...ended }));
  return open.id;
}
