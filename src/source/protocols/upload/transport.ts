/** Reads parts of an uploaded file: whole chunks are asked for, opened, and cut to what is wanted. */
import { Agent, request, type IncomingMessage } from 'node:http';
import { CHUNK_BYTES, chunkCipher, cutter, readTokenOf, STORED_CHUNK_BYTES, storedBytes } from '../../upload/chunks.ts';
import type { UploadPlace } from '../../upload/place.ts';
import { isSourceError } from '../../error.ts';
import { brokenConnection, lostUpload, sourceClosed, unreadableScheme } from '../../failures.ts';
import { OriginAnswer } from '../../http/answer.ts';
import { ownTransport, type Part, type Transport } from '../../http/transport.ts';
import type { SocketContext } from '../protocol.ts';

type Context = Pick<SocketContext, 'source' | 'signal' | 'idleMs' | 'count'>;

export function uploadTransport(context: Context): Transport {
  const { source, signal } = context;
  const { upload: place } = source;
  if (place === undefined) throw unreadableScheme(source.scheme);
  const agent = new Agent({ keepAlive: true, maxSockets: 6 });
  signal.addEventListener('abort', () => agent.destroy(), { once: true });
  const { size } = place;
  return ownTransport(source.url, async (part, count = context.count) => {
    const from = Math.min(part?.from ?? 0, size - 1);
    const to = Math.min(part?.to ?? Infinity, size);
    const first = Math.floor(from / CHUNK_BYTES);
    const stored = { start: first * STORED_CHUNK_BYTES, end: storedEnd(to, size) };
    const response = await ask({ ...context, count }, place, agent, stored);
    const answer = opened(response, { place, first, from, to, partial: part !== undefined, count });
    return { response: answer, url: source.url };
  });
}

/** Inclusive, as a range has it. */
const storedEnd = (to: number, size: number): number =>
  Math.min(Math.ceil(to / CHUNK_BYTES) * STORED_CHUNK_BYTES, storedBytes(size)) - 1;

function ask(
  { signal, idleMs, count }: Context,
  { host, port, id, key }: UploadPlace,
  agent: Agent,
  { start, end }: { start: number; end: number },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${readTokenOf(key)}`, range: `bytes=${start}-${end}` };
    const asked = request({ host, port, path: `/${id}`, headers, agent, signal });
    asked.setTimeout(idleMs, () => asked.destroy(new Error('the server of the upload is silent')));
    asked.once('error', (cause) => reject(signal.aborted ? sourceClosed() : lostUpload(cause)));
    asked.once('response', (response) => {
      count.request(!asked.reusedSocket);
      response.on('error', () => {});
      if (response.statusCode === 206) return resolve(response);
      response.resume();
      reject(lostUpload(new Error(`status ${response.statusCode ?? 0}`)));
    });
    asked.end();
  });
}

function opened(
  response: IncomingMessage,
  {
    place,
    first,
    from,
    to,
    partial,
    count,
  }: Part & { place: UploadPlace; first: number; partial: boolean; count: Context['count'] },
): OriginAnswer {
  const cipher = chunkCipher(place.key);
  const chunks = cutter(STORED_CHUNK_BYTES);
  let index = first;
  let at = first * CHUNK_BYTES;
  const answer = new OriginAnswer(
    partial ? 206 : 200,
    {
      'content-length': String(to - from),
      ...(partial ? { 'content-range': `bytes ${from}-${to - 1}/${place.size}` } : {}),
      etag: `"${place.id}"`,
    },
    { resume: () => response.resume(), gone: () => response.destroy() },
  );
  /** False: nothing more is wanted for now. */
  const give = (stored: Buffer): boolean => {
    const plain = cipher.open(stored, index++);
    const wanted = plain.subarray(Math.max(0, from - at), Math.max(0, to - at));
    at += plain.length;
    // The server is our own: neither the ends of its chunks nor their seals count.
    count.bytes(wanted.length);
    return wanted.length === 0 || answer.give(wanted);
  };
  const broken = (error?: unknown): void => void answer.destroy(isSourceError(error) ? error : brokenConnection());
  response.on('data', (piece: Buffer) => {
    try {
      for (const stored of chunks.cut(piece)) if (!give(stored)) response.pause();
    } catch (error) {
      broken(error);
    }
  });
  response.on('end', () => {
    try {
      const rest = chunks.rest();
      if (rest.length > 0) give(rest);
      if (at >= to) answer.finish();
      else broken();
    } catch (error) {
      broken(error);
    }
  });
  response.on('close', () => {
    if (!response.complete && !answer.complete) broken();
  });
  return answer;
}
