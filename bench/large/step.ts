/**
 * The part of one role in an envelope of 50 MB, in a separate process. Prints its time and its peak memory. Run by
 * envelope.ts.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { outcome } from '../../src/service/controller/collect/outcome.ts';
import { readResult } from '../../src/service/controller/collect/read_result.ts';
import { bytesOf, type Piece } from '../../src/service/result/pieces.ts';
import { unpackResult } from '../../src/service/result/unpack.ts';
import { answerOf, type ResponseForm } from '../../src/service/result/answer.ts';
import { packResult } from '../../src/service/runner/output.ts';

const [, , step, file, declared] = process.argv as [string, string, string, string, string];
const size = Number(declared);
const peak = (): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024;
const asked = [{ name: 'ffprobe', version: '7.0' }] as const;
const wanted: ResponseForm = { shown: ['ffprobe'], injectOutput: false, injectJson: false };
const about = { requestId: '0192f0c1-0000-7000-8000-000000000001', queueTimeMs: 1, error: null };

const bytes = readFileSync(file);
async function sizeOf(body: string | Piece[]): Promise<number> {
  if (typeof body === 'string') return Buffer.from(body).length;
  let sum = 0;
  for await (const slice of bytesOf(body, bytes)) sum += slice.length;
  return sum;
}

const STEPS: Record<string, () => Promise<number>> = {
  nothing: async () => 0,
  runner: async () => {
    const raw = {
      tools: [
        {
          name: 'ffprobe' as const,
          version: '7.0',
          success: true,
          durationMs: 1,
          usageMs: 1,
          exitCode: 0,
          signal: null,
          format: 'json' as const,
          output: bytes,
        },
      ],
      ioUsage: 1,
    };
    const { chunks } = await packResult(raw, (text) => text, { job: 'a', attempt: 1, epoch: 1, podUid: 'a' });
    return chunks.length;
  },
  collector: async () => outcome(await readResult(bytes, size), asked).status,
  api: async () => sizeOf(answerOf(await unpackResult(bytes), about, wanted).body),
};

await pause(50);
const before = peak();
const began = performance.now();
const gave = await STEPS[step]!();
console.log(JSON.stringify({ ms: performance.now() - began, before, peak: peak(), gave }));
