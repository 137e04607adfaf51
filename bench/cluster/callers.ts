/** Callers that take little of the machine, which they share with what they call. */
import { Agent, request } from 'node:http';

export interface Called {
  status: number;
  ms: number;
}

export interface Callers {
  /** Asks for ffprobe on the address; the answer is read and dropped. */
  probe(url: string, token: string): Promise<Called>;
  close(): void;
}

const DEADLINE_MS = 150_000;

export function openCallers(api: string): Callers {
  const agent = new Agent({ keepAlive: true });
  return {
    probe: (url, token) =>
      new Promise((resolve, reject) => {
        const begun = performance.now();
        const body = JSON.stringify({ url, only: 'ffprobe' });
        const sent = request(
          `${api}/v1/probe/file`,
          {
            agent,
            method: 'POST',
            timeout: DEADLINE_MS,
            headers: {
              authorization: `Bearer ${token}`,
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(body),
            },
          },
          (answer) => {
            answer.resume();
            answer.on('error', reject);
            answer.on('end', () => resolve({ status: answer.statusCode ?? 0, ms: performance.now() - begun }));
          },
        );
        sent.on('timeout', () => sent.destroy(new Error(`no answer within ${DEADLINE_MS} ms`)));
        sent.on('error', reject);
        sent.end(body);
      }),
    close: () => agent.destroy(),
  };
}
