/**
 * A web server with everything that web sources use: logins, signatures in the query, redirects, and playlists with
 * absolute addresses of segments.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sendFile, startOrigin, type Origin } from '../source/origin.ts';

export interface WebSecrets {
  user: string;
  password: string;
  signature: string;
}

export async function startWeb(
  folder: string,
  { user, password, signature }: WebSecrets,
  tls?: { cert: string; key: string },
): Promise<Origin> {
  const origin = await startOrigin((request, response, url) => {
    const [path = '', query = ''] = url.split('?');
    const refuse = (status: number, headers: Record<string, string> = {}): void =>
      void response.writeHead(status, { 'content-length': 0, ...headers }).end();
    if (
      path.startsWith('/login/') &&
      request.headers.authorization !== `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
    )
      return refuse(401, { 'www-authenticate': 'Basic realm="x"' });
    if (path.startsWith('/signed/') && new URLSearchParams(query).get('X-Amz-Signature') !== signature)
      return refuse(403);
    if (path.startsWith('/moved/')) return refuse(302, { location: `${origin.url}${path.slice(6)}` });
    const name = path.replace(/^\/(?:login|signed|absolute|root)\//, '/');
    const file = join(folder, decodeURIComponent(name));
    if (name.includes('..') || !existsSync(file)) return refuse(404);
    let body = readFileSync(file);
    const full = (line: string): string =>
      `${path.startsWith('/root/') ? '' : origin.url}${name.replace(/[^/]*$/, '')}${line}`;
    if (/^\/(?:absolute|root)\//.test(path))
      body = Buffer.from(body.toString('latin1').replace(/^[^#\s].*$/gm, full), 'latin1');
    sendFile(body, request, response);
  }, tls);
  return origin;
}
