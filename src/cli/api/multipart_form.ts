/** A multipart form with one file, which is read while it is sent: no more of it is held than a piece. */
import { once } from 'node:events';
import type { ClientRequest } from 'node:http';
import { Socket, type TcpNetConnectOpts } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { EXIT, Failure } from '../exits.ts';
import { newName } from './exchange_http.ts';

// Sends a body piece by piece, as fast as the other side takes it.

/** How long the other side may take nothing. */
const STALLED_MS = 60_000;

/** Until there is room for more. */
async function taken(sent: ClientRequest): Promise<void> {
  const stalled = new AbortController();
  // Where an answer came before all was sent, nobody waits for it any more.
  const late = setTimeout(() => stalled.abort(), STALLED_MS).unref();
  try {
    await once(sent, 'drain', { signal: stalled.signal });
  } catch (error) {
    if (!stalled.signal.aborted) throw error;
    throw new Failure(`${sent.host} took nothing of the file for ${STALLED_MS / 1_000} s`, EXIT.unknown);
  } finally {
    clearTimeout(late);
  }
}

async function feed(sent: ClientRequest, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of pieces) {
    // An answer that has come is read before more is written.
    await nextTurn();
    if (!sent.write(piece)) await taken(sent);
  }
}

type Done = (error?: Error | null) => void;

/**
 * A connection whose writes may fail while an answer is still to be read: a server that refuses a file in the middle
 * answers and closes, and Node would drop that answer with the first write that fails. What ends reading ends it, too.
 */
class PatientSocket extends Socket {
  override _write(chunk: unknown, encoding: BufferEncoding, done: Done): void {
    super._write(chunk, encoding, patient(done));
  }

  override _writev(chunks: { chunk: unknown; encoding: BufferEncoding }[], done: Done): void {
    super._writev!(chunks as Parameters<NonNullable<Socket['_writev']>>[0], patient(done));
  }
}

const patient =
  (done: Done): Done =>
  (error) => {
    if (!error) done();
  };

const connectPatiently = (options: object): Socket => new PatientSocket().connect(options as TcpNetConnectOpts);

export interface SentFile {
  /** Without quotes and control characters. */
  name: string;
  /** Undefined: it is sent to its end. */
  size: number | undefined;
  /** Whether it can be opened a second time. */
  canRepeat: boolean;
  open(): Promise<Readable>;
}

/** As browsers write them: a quote or a line break would end the name. */
const inQuotes = (text: string): string => text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');

/** Objects as one JSON text, whose members keep their types. */
const textOf = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean);

export function formOf(
  fields: Readonly<Record<string, unknown>>,
  file: SentFile,
  onSent: (bytes: number) => void = () => {},
) {
  const boundary = `probeyard-${newName()}`;
  const part = (disposition: string): string => `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`;
  const parts = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [`${part(`name="${inQuotes(name)}"`)}\r\n${textOf(value)}\r\n`],
  );
  const named = part(`name="file"; filename="${inQuotes(file.name)}"`);
  const head = Buffer.from(`${parts.join('')}${named}Content-Type: application/octet-stream\r\n\r\n`);
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* pieces(opened: Readable): AsyncGenerator<Uint8Array> {
    yield head;
    let bytes = 0;
    try {
      for await (const piece of opened as AsyncIterable<Buffer>) {
        bytes += piece.length;
        yield piece;
        onSent(bytes);
      }
    } catch (error) {
      throw new Failure(`${file.name}: cannot be read: ${(error as NodeJS.ErrnoException).code}`, EXIT.unknown);
    }
    if (file.size !== undefined && bytes < file.size)
      throw new Failure(`${file.name}: has become shorter while it was sent`, EXIT.unknown);
    yield tail;
  }
  return {
    headers: {
      'Content-Type': `multipart/form-data; boundary=${boundary}`,
      ...(file.size === undefined
        ? { 'Transfer-Encoding': 'chunked' }
        : { 'Content-Length': String(head.length + file.size + tail.length) }),
    },
    async open() {
      const opened = await file.open();
      return {
        /** Sends everything, but not the end of the request. */
        feed: (sent: ClientRequest) => feed(sent, pieces(opened)),
        close: () => opened.destroy(),
        connectPatiently,
      };
    },
  };
}

export type StreamedForm = ReturnType<typeof formOf>;
