/**
 * Reads a multipart form. It may hold one file where a request takes one: then it is read as a stream, the file goes to
 * the disk, and everything else is as bounded as any other body.
 */
import type { IncomingMessage } from 'node:http';
import { Busboy, type BusboyFileStream } from '@fastify/busboy';
import type { Pace } from '../../result/pace.ts';
import { paced, TooSlow, type PaceOptions } from '../../../source/upload/pace.ts';
import {
  UploadRefused,
  type Reception,
  type Spool,
  type SpooledFile,
  type SpoolPlace,
} from '../../../source/upload/spool.ts';
import { ApiError, invalid, unreadable } from '../errors.ts';
import { MAX_PAIRS, shown, utf8, type Pair } from './input/read_fields.ts';

const FILE = 'file';
/** Of all that is not the file. */
const MAX_BYTES = 1024 * 1024;
const LIMITS = {
  parts: MAX_PAIRS + 1,
  headerPairs: 16,
  headerSize: 8 * 1024,
};
const RETRY_S = 30;
/**
 * Of the account's share of a core. Measured: 4.4 to 5.4 ms of the event loop for a megabyte; as much again is for what
 * the kernel does. An account thus sends 300 MB at once, and 20 MB/s (1.2 GB a minute) in the long run.
 */
const MS_PER_BYTE = 10 / 1_000_000;

export interface Upload extends SpooledFile {
  name: string;
}

export interface FormOptions extends Reception {
  spool: Pick<Spool, 'reserve'>;
  account: number;
  pace?: PaceOptions | undefined;
  charge: Pace;
}

function refusal({ why }: UploadRefused, maxBytes: number): ApiError {
  const full = (text: string) => new ApiError('unavailable', { text, retryAfterS: RETRY_S, reason: why });
  switch (why) {
    case 'empty':
      return invalid(FILE, 'is empty');
    case 'too-large':
      return new ApiError('invalid-field', { text: `${FILE}: must have at most ${maxBytes} bytes`, field: FILE });
    case 'account-full':
      return full('the uploads of this account take all of their room; try again when one of them has ended');
    case 'spool-full':
      return full('there is no room for an upload; try again later');
  }
}

export const notMultipart = (error: unknown): ApiError =>
  unreadable('is not valid multipart/form-data', { detail: (error as Error).message });

function meaningOf(error: unknown, request: IncomingMessage, maxBytes: number): unknown {
  if (error instanceof ApiError) return error;
  if (error instanceof UploadRefused) return refusal(error, maxBytes);
  if (error instanceof TooSlow) return unreadable('is sent too slowly; a form with a file needs 64 kB a second');
  if (request.destroyed && !request.complete) return new ApiError('hung-up');
  return (error as NodeJS.ErrnoException).syscall === undefined ? notMultipart(error) : error;
}

/**
 * What the parser is given at once: after a refusal it goes on to the end of that. 64 kB of parts take it 31 ms. For a
 * file, more at once is no faster: a megabyte takes 3 to 4 ms of CPU with pieces of 4 kB as with pieces of 16.
 */
const PARSED_PIECE = 4 * 1024;

/** Takes the room for a file before the first byte is read. */
export async function readForm(request: IncomingMessage, { spool, account, ...options }: FormOptions) {
  let place: SpoolPlace | undefined;
  try {
    if (Number(request.headers['content-length'] ?? 0) > options.maxBytes + MAX_BYTES)
      throw new UploadRefused('too-large');
    place = spool.reserve(account);
    const { pace, charge, ...reception } = options;
    const { receive } = place;
    return await parseForm(paced(request, pace), request.headers['content-type'] ?? '', {
      receive: (file) => receive(file, reception),
      charge: (bytes) => charge(bytes * MS_PER_BYTE),
    });
  } catch (error) {
    throw meaningOf(error, request, options.maxBytes);
  } finally {
    place?.release();
  }
}

interface Parsing {
  /** Takes the file. Absent: only text fields are accepted. */
  receive?(file: AsyncIterable<Buffer>): Promise<SpooledFile>;
  charge?(bytes: number): Promise<void> | undefined;
}

const tooLong = (): ApiError => unreadable('must be at most 1 MB, the file apart');

async function textOf(part: BusboyFileStream): Promise<string> {
  const pieces = (await part.toArray()) as Buffer[];
  if (part.bytesRead > MAX_BYTES) throw tooLong();
  return utf8(Buffer.concat(pieces));
}

/** What the parser does not understand is an error of its own. */
export async function parseForm(
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
  contentType: string,
  { receive, charge }: Parsing = {},
) {
  // It gives the bytes of what it takes for a file. In a text it replaces what is not valid.
  const isPartAFile = (): boolean => true;
  const parser = new Busboy({ headers: { 'content-type': contentType }, limits: LIMITS, isPartAFile });
  const texts: Promise<Pair>[] = [];
  let stream: BusboyFileStream | undefined;
  let receiving: Promise<Upload> | undefined;
  let failure: Error | undefined;
  let tell: (error: Error) => void = () => {};
  const fail = (error: unknown): void => {
    failure ??= error as Error;
    tell(failure);
  };
  parser.on('error', fail);
  const failFull = (): void => fail(unreadable(`has more than ${MAX_PAIRS} fields`));
  parser.on('partsLimit', failFull);
  const takeText = (name: string, part: BusboyFileStream): void => {
    if (texts.length === MAX_PAIRS) return failFull();
    const text = textOf(part).then((value): Pair => [name, value]);
    text.catch(fail);
    texts.push(text);
  };
  parser.on('file', (name: string | undefined, part, given: string | undefined, _encoding, type) => {
    part.on('error', fail);
    if (name === undefined) return fail(new Error('a part has no name'));
    if (given === undefined && type !== 'application/octet-stream') return takeText(name, part);
    const accepted = receive ? `${FILE} may be one` : 'text fields are accepted';
    if (!receive || name !== FILE) return fail(invalid(shown(name), `is a file; only ${accepted}`));
    if (stream) return fail(invalid(FILE, 'is given more than once'));
    stream = part;
    receiving = receive(part as AsyncIterable<Buffer>).then((spooled) => ({ ...spooled, name: given ?? '' }));
    receiving.catch(fail);
  });

  /** Waits for the parser, or for what failed meanwhile: it then reads nothing more. */
  const until = (event: 'drain' | 'finish'): Promise<void> =>
    new Promise((resolve, reject) => {
      tell = reject;
      parser.once(event, resolve);
      if (failure) reject(failure);
    });

  async function feed(): Promise<void> {
    let bytes = 0;
    for await (const piece of pieces) {
      bytes += piece.length;
      if (bytes - (stream?.bytesRead ?? 0) > MAX_BYTES + piece.length) throw tooLong();
      for (let at = 0; at < piece.length; at += PARSED_PIECE) {
        if (!parser.write(piece.subarray(at, at + PARSED_PIECE))) await until('drain');
        if (failure) throw failure;
      }
      await charge?.(piece.length);
    }
    const finished = until('finish');
    parser.end();
    await finished;
  }

  try {
    await feed();
    const upload = await receiving;
    const pairs = await Promise.all(texts);
    if (failure) throw failure;
    return { pairs, ...(upload ? { upload } : {}) };
  } catch (error) {
    stream?.destroy();
    parser.destroy();
    // Removed by whoever received it, or here if it was complete.
    const refused = await receiving?.then(
      (upload) => upload.remove(),
      (why: unknown) => why,
    );
    // A refusal ends the stream of the file, which the parser reports first, as an error of its own.
    throw refused instanceof UploadRefused ? refused : error;
  }
}
