import type { Socket } from 'node:net';
import { OriginAnswer } from '../../http/answer.ts';
import { cut, SourceError } from '../../error.ts';
import { unreadableAddress } from '../../failures.ts';
import type { SocketContext } from '../protocol.ts';
import { decodeLoosely } from '../../address/s3.ts';
import { ownTransport, type Part, type Transport } from '../../http/transport.ts';
import { FtpControl, refusedBy } from './control.ts';

/** Servers limit connections per address, and refuse the third or fourth. */
const MOST_CONTROLS = 2;
const FINAL_REPLY_MS = 5000;
/** The codes of a final reply to a transfer that is complete. */
const COMPLETE: readonly (number | undefined)[] = [226, 250];
const WHOLE: Part = { from: 0, to: Infinity };

interface Facts {
  size: number | undefined;
  modified: string | undefined;
}
interface DataConnection {
  socket: Socket;
  /** How many of its bytes are counted. */
  counted: number;
}

/** A data connection paused where the last part ended: the next part continues there without a new command. */
interface Parked {
  control: FtpControl;
  data: DataConnection;
  at: number;
  limit: NodeJS.Timeout;
}

/** A file on an FTP server, read in parts like from a web server. */
export function ftpTransport(context: SocketContext): Transport {
  const { url } = context.source;
  const path = ftpPath(context.place.path);
  const idle: FtpControl[] = [];
  const waiting: (() => void)[] = [];
  let controls = 0;
  let most = MOST_CONTROLS;
  let facts: Facts | undefined;
  let parked: Parked | undefined;

  const unpark = (): Parked | undefined => {
    const taken = parked;
    parked = undefined;
    clearTimeout(taken?.limit);
    return taken;
  };

  const release = (control: FtpControl | undefined): void => {
    if (control === undefined || control.broken) controls--;
    else idle.push(control);
    waiting.shift()?.();
  };

  const acquire = async (): Promise<FtpControl> => {
    for (;;) {
      const known = idle.pop();
      if (known !== undefined && !known.broken) return known;
      if (known !== undefined) {
        controls--;
        continue;
      }
      if (controls >= most) {
        // A parked connection gives way.
        const left = unpark();
        if (left !== undefined) {
          void leave(left.control, left.data);
          continue;
        }
        await new Promise<void>((resolve) => waiting.push(resolve));
        continue;
      }
      controls++;
      try {
        return await FtpControl.open(context);
      } catch (error) {
        release(undefined);
        if (controls === 0 || !(error instanceof SourceError) || error.reason !== 'status') throw error;
        // The server allows fewer connections: share the existing ones.
        most = controls;
      }
    }
  };

  /** Ends a transfer; the server confirms it by this code, and then accepts the next command. */
  const leave = async (control: FtpControl, data: DataConnection): Promise<number | undefined> => {
    close(data, context.count);
    const final = await control.reply(FINAL_REPLY_MS).catch(() => undefined);
    if (final === undefined) control.close();
    release(control);
    return final?.code;
  };

  const start = async (at: number): Promise<{ control: FtpControl; data: DataConnection }> => {
    for (let attempt = 0; ; attempt++) {
      const control = await acquire();
      let data: DataConnection | undefined;
      try {
        facts ??= await factsOf(control, path);
        data = { socket: await control.passive(), counted: 0 };
        data.socket.pause();
        if (at > 0) {
          const { code } = await control.command(`REST ${at}`);
          if (code !== 350)
            throw cut('protocol', 'the FTP server cannot send parts of the file', { detail: String(code) });
        }
        const { code } = await control.command(`RETR ${path}`);
        if (code !== 150 && code !== 125) throw refusedBy(code);
        return { control, data };
      } catch (error) {
        if (data !== undefined) close(data, context.count);
        const stale = control.broken && attempt === 0;
        release(control);
        if (!stale) throw error;
      }
    }
  };

  const transfer = async ({ from, to }: Part, count: SocketContext['count']): Promise<OriginAnswer> => {
    let running: { control: FtpControl; data: DataConnection };
    const left = parked?.at === from ? unpark() : undefined;
    if (left !== undefined && !left.data.socket.destroyed) running = left;
    else {
      if (left !== undefined) void leave(left.control, left.data);
      count.request(false);
      running = await start(from);
    }
    const { control, data } = running;
    const { socket } = data;
    const size = facts?.size;
    const end = Math.min(to, size ?? Infinity);
    let at = from;
    let over = false;
    const settle = async (done: 'parked' | 'ended' | 'left'): Promise<number | undefined> => {
      if (over) return undefined;
      over = true;
      socket.pause();
      socket.removeAllListeners('data').removeAllListeners('end').removeAllListeners('close');
      if (done === 'parked' && parked === undefined && !socket.destroyed) {
        parked = {
          control,
          data,
          at,
          limit: setTimeout(() => {
            const old = unpark();
            if (old) void leave(old.control, old.data);
          }, context.idleMs / 2).unref(),
        };
        waiting.shift()?.();
        return undefined;
      }
      return leave(control, data);
    };
    const isPart = from > 0 || to !== Infinity;
    const answer = new OriginAnswer(isPart ? 206 : 200, headersOf(facts, { from, end, isPart }), {
      resume: () => !over && socket.resume(),
      gone: () => void settle('left'),
    });
    socket.on('data', (chunk: Buffer) => {
      try {
        charge(data, count);
      } catch (error) {
        answer.destroy(error as Error);
        return;
      }
      const part = at + chunk.length > end ? chunk.subarray(0, end - at) : chunk;
      at += part.length;
      const more = answer.give(part);
      if (at < end) {
        if (!more) socket.pause();
        return;
      }
      socket.pause();
      if (part.length < chunk.length) socket.unshift(chunk.subarray(part.length));
      void settle(at === size ? 'ended' : 'parked');
      answer.finish();
    });
    const closed = async (): Promise<void> => {
      const final = settle('ended');
      // Without the size only the reply tells whether that was all.
      const isWhole = end === Infinity && COMPLETE.includes(await final) && socket.readableEnded;
      if (isWhole) answer.finish();
      else answer.destroy();
    };
    socket.on('end', () => void closed()).on('close', () => void closed());
    return answer;
  };

  context.signal.addEventListener(
    'abort',
    () => {
      const left = unpark();
      left?.data.socket.destroy();
      left?.control.close();
      for (const control of idle.splice(0)) control.close();
    },
    { once: true },
  );

  return ownTransport(url, async (part = WHOLE, count = context.count) => {
    if (facts === undefined) {
      const control = await acquire();
      try {
        facts = await factsOf(control, path);
      } finally {
        release(control);
      }
    }
    if (facts.size === 0) return { response: emptied(), url };
    // A server that does not tell the size is like a web server without ranges.
    return { response: await transfer(facts.size === undefined ? WHOLE : part, count), url };
  });
}

function close(data: DataConnection, count: SocketContext['count']): void {
  data.socket.destroy();
  try {
    charge(data, count);
  } catch {
    // Over the limit: the next read reports it.
  }
}

/** As of a web server. `end`: Infinity without a size. */
const headersOf = (
  facts: Facts | undefined,
  { from, end, isPart }: { from: number; end: number; isPart: boolean },
) => ({
  ...(end === Infinity ? {} : { 'content-length': String(end - from) }),
  ...(isPart ? { 'content-range': `bytes ${from}-${end - 1}/${facts?.size}` } : {}),
  ...(facts?.modified === undefined ? {} : { 'last-modified': facts.modified }),
});

/** Also for what waits in the socket's buffer, and is perhaps never read from it. */
function charge(data: DataConnection, count: SocketContext['count']): void {
  const { bytesRead } = data.socket;
  const fresh = bytesRead - data.counted;
  data.counted = bytesRead;
  count.bytes(fresh);
}

function emptied(): OriginAnswer {
  const answer = new OriginAnswer(200, { 'content-length': '0' });
  answer.finish();
  return answer;
}

/** Not every server supports both. A missing file is reported when it is requested. */
async function factsOf(control: FtpControl, path: string): Promise<Facts> {
  const size = await control.command(`SIZE ${path}`);
  const modified = await control.command(`MDTM ${path}`);
  const [, year, month, day, hour, minute, second] =
    /^213 (\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/.exec(modified.text) ?? [];
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  const bytes = size.code === 213 ? Number(/^213 (\d{1,15})\s*$/.exec(size.text)?.[1] ?? NaN) : NaN;
  return {
    size: Number.isNaN(bytes) ? undefined : bytes,
    modified: Number.isNaN(at) ? undefined : new Date(at).toUTCString(),
  };
}

/** Relative to the login directory; `%2F` at the beginning is the server's root. */
export function ftpPath(encoded: string): string {
  const path = decodeLoosely(
    encoded
      .split(/[?#]/)[0]!
      .replace(/^\//, '')
      .replace(/;type=[aid]$/i, ''),
  );
  if (path === '' || path.endsWith('/')) throw new SourceError('source-invalid', 'the address names no file');
  if (/[\r\n\0]/.test(path)) throw unreadableAddress();
  return path;
}
