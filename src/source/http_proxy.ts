/**
 * The HTTP proxy that tools use through http_proxy, for addresses that were not rewritten. It makes the same checks and
 * never sends a credential.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Login } from './job.ts';
import { refuse, serveUrl } from './serve.ts';
import { hostText, resolveReference } from './address/target.ts';

/** The job and tool identified by the secret in the proxy's user name. */
export function loginOf(header: string | undefined, logins: ReadonlyMap<string, Login>): Login | undefined {
  const encoded = /^Basic\s+([A-Za-z0-9+/=_-]+)$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const [secret = '', tool = ''] = Buffer.from(encoded, 'base64').toString('latin1').split(':');
  const login = logins.get(secret);
  return login?.tool === tool ? login : undefined;
}

export const CHALLENGE = { 'proxy-authenticate': 'Basic realm="source"' };

/** `GET http://host/path` */
export async function serveAbsolute(
  { job, tool }: Login,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = resolveReference('http://invalid/', request.url ?? '');
  if (url === undefined || !url.startsWith('http:')) refuse(response, 400, 'not an http address');
  else if (request.method !== 'GET' && request.method !== 'HEAD')
    refuse(response, 405, 'only GET and HEAD', { allow: 'GET, HEAD' });
  else await serveUrl({ job, tool, request, response }, url);
}

/**
 * `CONNECT host:443`: refused for every host, because a compromised tool could send anything anywhere through a tunnel.
 * No tool needs it: addresses in playlists are rewritten to this proxy, which speaks TLS itself.
 */
export function refuseTunnel({ job }: Login, target: string, socket: Duplex): void {
  const [, text = '', port] = /^(\[[0-9a-f:.]+\]|[^:/?#@[\]\s]{1,255}):(\d{1,5})$/i.exec(target) ?? [];
  const host = hostOf(text);
  if (host === undefined) {
    answer(socket, 400, 'Bad Request');
    return;
  }
  job.refuse(`https://${hostText(host)}:${port}/`);
  answer(socket, 403, 'Forbidden');
}

function hostOf(text: string): string | undefined {
  try {
    return new URL(`http://${text}/`).hostname.replace(/^\[|\]$/g, '');
  } catch {
    return undefined;
  }
}

export function answer(socket: Duplex, status: number, reason: string, headers: Record<string, string> = {}): void {
  const lines = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  socket.on('error', () => {});
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${lines}content-length: 0\r\nconnection: close\r\n\r\n`);
}
