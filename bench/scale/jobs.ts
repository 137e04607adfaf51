/** Jobs that wait before there is a leader. */
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { sealSource } from '../../src/platform/seal/seal.ts';
import { uuidv7 } from '../../src/platform/store/uuid.ts';
import type { Cluster } from '../../test/controller/cluster_parts.ts';

const AT_ONCE = 24;
/** The queue takes longer than the queue timeout, so the submission times are in the future to avoid timeouts. */
const AHEAD_MS = 3_600_000;

interface Filling {
  aheadMs?: number;
  /** Of a job, beside its token. */
  labels?: (token: number, id: string) => Record<string, string>;
}

export async function fill(
  cluster: Cluster,
  tokens: readonly number[],
  count: number,
  { aheadMs = AHEAD_MS, labels = () => ({}) }: Filling = {},
): Promise<void> {
  const {
    servers: {
      stored: { store, admin },
      keys,
    },
    kube,
    namespace,
  } = cluster;
  const start = Math.floor(store.clock.now()) + aheadMs;
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) {
      const submittedAt = new Date(start + index);
      const id = uuidv7(submittedAt.getTime());
      const token = tokens[index % tokens.length]!;
      const tools = [{ name: 'ffprobe' as const, version: '7.0' }];
      await store.openRequest({
        id,
        submittedAt,
        tokenId: token,
        userId: admin.userId,
        kind: 'file',
        display: 'https://media.example.org/a.mp4',
        scheme: 'https',
        request: {},
        tools,
        queueTimeoutMs: 60_000,
        timeoutMs: 65_000,
        waiter: null,
        webhookUrl: null,
        idempotency: null,
        requestsPerMinute: 0,
      });
      const sealed = sealSource(`https://media.example.org/${id}.mp4`, { requestId: id, tokenId: token }, keys.public);
      await kube.create(PROBE_JOBS, {
        metadata: { name: id, namespace, labels: { [LABEL.token]: String(token), ...labels(token, id) } },
        spec: {
          kind: 'file',
          source: { display: 'https://media.example.org/a.mp4', sealed },
          token: { id: token, user: admin.userId },
          submittedAt: submittedAt.toISOString(),
          queueTimeoutMs: 60_000,
          timeoutMs: 65_000,
          tools,
        },
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
