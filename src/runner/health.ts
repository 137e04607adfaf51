/**
 * What the kubelet asks: whether this process still turns. Whether it serves is told to the leader by heartbeats alone.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

export async function serveHealth(listen: { host: string | undefined; port: number }): Promise<Server> {
  const server = createServer((request, response) => {
    const found = request.url === '/healthz';
    response.writeHead(found ? 200 : 404, { 'content-type': 'text/plain' }).end(found ? 'ok\n' : 'not found\n');
  });
  server.listen(listen.port, listen.host);
  await once(server, 'listening');
  return server;
}
