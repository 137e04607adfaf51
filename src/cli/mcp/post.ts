/** One message to the server, and its answer as it arrives. */
import type { IncomingMessage } from 'node:http';
import { requestFor } from '../api/node_http.ts';
import type { Access } from '../config.ts';
import { eventData } from './events.ts';

export interface Posted {
  status: number;
  /** The messages of the answer, as JSON texts. */
  messages: AsyncIterable<string>;
}

const MOST_BYTES = 4 * 1024 * 1024;

async function* oneMessage(answer: IncomingMessage): AsyncGenerator<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`the answer is larger than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  if (bytes > 0) yield Buffer.concat(chunks).toString();
}

export async function post(
  { url, token }: Access,
  line: string,
  { headers, signal }: { headers: Record<string, string>; signal: AbortSignal },
): Promise<Posted> {
  const address = new URL(`${url.pathname.replace(/\/$/, '')}/mcp`, url);
  const request = requestFor(url);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(address, {
      method: 'POST',
      signal,
      headers: {
        Authorization: `Bearer ${token}`,
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(line),
        'User-Agent': 'probeyard-cli',
        ...headers,
      },
    });
    sent.on('response', resolve);
    sent.on('error', reject);
    sent.end(line);
  });
  const isStream = (answer.headers['content-type'] ?? '').startsWith('text/event-stream');
  return {
    status: answer.statusCode ?? 0,
    messages: isStream ? eventData(answer as AsyncIterable<Buffer>) : oneMessage(answer),
  };
}
