import { OriginAnswer } from '../../http/answer.ts';
import type { OriginFile } from '../../file/origin_file.ts';
import type { Piece, Reader } from '../../file/page_reader.ts';
import { ownTransport, type Transport } from '../../http/transport.ts';

/** The part of a stream that is recorded for a tool that can only read files. */
export const RECORDING_MS = 10_000;
export const RECORDING_BYTES = 20_000_000;

/** The beginning of a stream as a file, which has an end and can be read in parts. */
export function recordingTransport(live: OriginFile, limits = { ms: RECORDING_MS, bytes: RECORDING_BYTES }): Transport {
  let recorded: Promise<{ body: Buffer; type: string }> | undefined;
  return ownTransport(live.url, async ({ from, to } = { from: 0, to: Infinity }) => {
    const { body, type } = await (recorded ??= record(live, limits));
    const part = body.subarray(from, to);
    const answer = new OriginAnswer(206, {
      'content-type': type,
      'content-length': String(part.length),
      'content-range': `bytes ${from}-${from + part.length - 1}/${body.length}`,
    });
    answer.give(part);
    answer.finish();
    return { response: answer, url: live.url };
  });
}

async function record(
  live: OriginFile,
  { ms, bytes }: { ms: number; bytes: number },
): Promise<{ body: Buffer; type: string }> {
  const { type } = await live.open();
  const reader = await live.read(0);
  const parts: Buffer[] = [];
  let length = 0;
  const enough = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => enough.resolve(undefined), ms);
  try {
    for (let part = await reader.next(); part !== undefined; part = await nextOf(reader, enough.promise)) {
      parts.push(Buffer.from(part.bytes.subarray(0, bytes - length)));
      part.release();
      length += parts.at(-1)!.length;
      if (length >= bytes) break;
    }
  } catch (error) {
    if (length === 0) throw error;
  } finally {
    clearTimeout(timer);
    enough.resolve(undefined);
    reader.close();
  }
  return { body: Buffer.concat(parts), type };
}

const nextOf = (reader: Reader, end: Promise<undefined>): Promise<Piece | undefined> =>
  Promise.race([reader.next(), end]);
