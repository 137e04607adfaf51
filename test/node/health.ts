import { readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { SLOWNESS } from '../patience.ts';

const ANSWER_MS = 2_000 * SLOWNESS;

export interface Credentials {
  ca: Buffer;
  /** Absent for an unauthenticated client. */
  cert?: Buffer;
  key?: Buffer;
}

export async function credentials(pkiDir: string, ca: string, client: string): Promise<Credentials> {
  const read = (file: string) => readFile(join(pkiDir, file));
  return { ca: await read(`${ca}.crt`), cert: await read(`${client}.crt`), key: await read(`${client}.key`) };
}

/** Whether a GET is answered with 200 in time. */
export async function answers(url: string, tls?: Credentials): Promise<boolean> {
  return (await get(url, tls)).status === 200;
}

export function get(url: string, tls?: Credentials): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const options = { agent: false as const, timeout: ANSWER_MS, ...tls };
    const request = url.startsWith('https:') ? httpsRequest(url, options) : httpRequest(url, options);
    request.once('timeout', () => request.destroy(new Error(`${url}: no answer within ${ANSWER_MS / 1000} s`)));
    request.once('error', reject);
    request.once('response', (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.once('error', reject).once('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    request.end();
  });
}
