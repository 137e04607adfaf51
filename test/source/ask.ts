import { request } from 'node:http';

export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  /** The connection broke before the end. */ cut: boolean;
}

/** The simplest possible tool: one GET on a new connection, within a deadline. */
export function ask(
  address: string,
  options: {
    range?: string;
    method?: string;
    headers?: Record<string, string>;
    proxy?: { port: number };
    deadlineMs?: number;
  } = {},
): Promise<Reply> {
  const url = new URL(address);
  return new Promise((resolve, reject) => {
    const asked = request({
      host: '127.0.0.1',
      port: options.proxy?.port ?? url.port,
      agent: false,
      method: options.method ?? 'GET',
      path: options.proxy === undefined ? address.slice(address.indexOf('/', 8)) : address,
      headers: { host: url.host, ...(options.range === undefined ? {} : { range: options.range }), ...options.headers },
    });
    const late = setTimeout(
      () => asked.destroy(new Error(`no answer within the deadline: ${address}`)),
      options.deadlineMs ?? 10_000,
    );
    asked.on('error', (error) => {
      clearTimeout(late);
      reject(error);
    });
    asked.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part)).on('error', () => {});
      response.on('close', () => {
        clearTimeout(late);
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers as Record<string, string>,
          body: Buffer.concat(parts),
          cut: !response.complete,
        });
      });
    });
    asked.end();
  });
}
