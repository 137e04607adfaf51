/** Lines of stdin to `/mcp`, answers to stdout. The server decides everything else. */
import type { Access } from '../config.ts';
import { masked } from '../failure.ts';
import {
  agreedVersion,
  cancelledBy,
  errorLine,
  headersOf,
  idOf,
  INVALID_REQUEST,
  NOT_SENT,
  PARSE_ERROR,
  type Id,
  type Message,
} from './messages.ts';
import { post } from './post.ts';

export interface BridgeOptions {
  access: Access;
  signal: AbortSignal;
  /** Writes one line. */
  write(line: string): Promise<void>;
  note(line: string): void;
}

/** The limit of the server. */
const MOST_BYTES = 1024 * 1024;
const MOST_AT_ONCE = 64;

export interface Bridge {
  take(line: string): void;
  /** Resolves when every message has its answer. */
  idle(): Promise<void>;
}

function parsed(line: string): Message | undefined {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The error of the API in an answer that is not a message. */
function refusalIn(text: string, status: number): string {
  const { error } = (parsed(text) ?? {}) as { error?: unknown };
  return typeof error === 'string' ? error : `the server answered with status ${status}`;
}

export function makeBridge({ access, signal, write, note }: BridgeOptions): Bridge {
  const underWay = new Map<Promise<void>, { id: Id | null; stop: AbortController }>();
  let agreed: string | undefined;

  async function forward(line: string, message: Message, stop: AbortSignal): Promise<void> {
    const id = idOf(message);
    const { status, messages } = await post(access, line, { headers: headersOf(message, agreed), signal: stop });
    for await (const text of messages) {
      const answer = parsed(text);
      if (answer === undefined || !('jsonrpc' in answer)) {
        if (id === null) note(`the server refused a notification: ${refusalIn(text, status)}`);
        else await write(errorLine(id, NOT_SENT, refusalIn(text, status)));
        return;
      }
      if (message.method === 'initialize') agreed = agreedVersion(answer) ?? agreed;
      // One line, however the server wrote it.
      await write(`${JSON.stringify(answer)}\n`);
    }
  }

  function take(line: string): void {
    if (line.trim() === '') return;
    const message = Buffer.byteLength(line) > MOST_BYTES ? undefined : parsed(line);
    if (message === undefined) {
      const [code, text] =
        Buffer.byteLength(line) > MOST_BYTES
          ? [INVALID_REQUEST, `the message is larger than ${MOST_BYTES} bytes`]
          : [PARSE_ERROR, 'the line is not a JSON object'];
      void write(errorLine(null, code as number, text as string));
      return;
    }
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined) {
      // The server takes a closed connection as the wish to cancel.
      for (const { id, stop } of underWay.values()) if (id === cancelled) stop.abort();
      return;
    }
    const id = idOf(message);
    if (underWay.size >= MOST_AT_ONCE) {
      void write(errorLine(id, NOT_SENT, `more than ${MOST_AT_ONCE} calls at once`));
      return;
    }
    const stop = new AbortController();
    const end = (): void => stop.abort();
    signal.addEventListener('abort', end);
    const work: Promise<void> = forward(line, message, stop.signal)
      .catch(async (error: unknown) => {
        // A cancelled call has no answer.
        if (stop.signal.aborted) return;
        const why = masked(`cannot reach ${access.url.origin}: ${(error as Error).message}`);
        if (id === null) note(why);
        else await write(errorLine(id, NOT_SENT, why));
      })
      .finally(() => {
        signal.removeEventListener('abort', end);
        underWay.delete(work);
      });
    underWay.set(work, { id, stop });
  }

  return {
    take,
    async idle() {
      while (underWay.size > 0) await Promise.allSettled(underWay.keys());
    },
  };
}
