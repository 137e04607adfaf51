/** From the end of a request to the answer to its caller. */
import { promisify } from 'node:util';
import { zstdDecompress, zstdDecompressSync } from 'node:zlib';
import type { Ended, ResultBody } from '../bus/messages.ts';
import { assemble, type Shown } from '../envelope/assemble.ts';
import { assembleSingle, type SingleTool } from '../envelope/assemble_single.ts';
import type { ToolName } from '../kube/resources.ts';
import type { Context } from './context.ts';
import type { Deps } from './deps.ts';
import { GatewayError, inside } from './errors.ts';

/** How a caller wants the result. */
export interface Wanted {
  /** An endpoint of one tool, whose answers have a form of their own. */
  single?: SingleTool;
  asked: readonly { name: ToolName }[];
  shown: readonly Shown[];
  injectOutput: boolean;
  injectJson: boolean;
}

/** Two tools at the agent's cap on their output, a report and the JSON around them: what collectors take, too. */
const MAX_INFLATED = 256 * 1024 * 1024;
/** Inflated at once: a turn of the thread pool would take longer. */
const SMALL = 64 * 1024;
const RETRY_AFTER_QUEUE_S = 10;

const inflate = promisify(zstdDecompress);

async function resultOf({ store }: Pick<Deps, 'store'>, end: Ended, submittedAt: Date): Promise<ResultBody> {
  const packed = end.body === undefined ? await store.readBody(end.id, submittedAt) : Buffer.from(end.body, 'base64');
  if (!packed) throw inside('the record has no body where it says that there is one');
  const options = { maxOutputLength: MAX_INFLATED };
  const bytes = packed.length <= SMALL ? zstdDecompressSync(packed, options) : await inflate(packed, options);
  return JSON.parse(bytes.toString()) as ResultBody;
}

const TEXTS: Record<number, string> = {
  400: 'the request cannot be done',
  404: 'the source is not accessible',
  429: 'the request waited too long in the queue',
};

/** An end without a result, as the error that its caller gets. */
export function endError({ status, reason, error }: Pick<Ended, 'status' | 'reason' | 'error'>): GatewayError {
  const code = `ended-${reason.replaceAll(/(?<=[a-z])[A-Z]/g, '-$&').toLowerCase()}`;
  return new GatewayError(status, code, error ?? TEXTS[status] ?? 'something went wrong on our side', {
    headers: status === 429 ? { 'Retry-After': String(RETRY_AFTER_QUEUE_S) } : {},
  });
}

export async function answer(deps: Pick<Deps, 'store' | 'metrics'>, ctx: Context, end: Ended, submittedAt: Date, wanted: Wanted): Promise<void> {
  if (!end.hasBody) throw endError(end);
  const began = performance.now();
  const result = await resultOf(deps, end, submittedAt);
  const about = { requestId: end.id, queueTimeMs: end.queueTimeMs };
  const made = wanted.single === undefined ? assemble(result, { ...about, ...wanted }) : assembleSingle(result, { ...about, ...wanted, tool: wanted.single });
  ctx.status = made.status;
  ctx.type = made.contentType;
  ctx.body = made.body;
  deps.metrics.step('answer', performance.now() - began);
}
