import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A server that behaves as the test says. */
export async function listen(
  serve: (socket: Socket) => void,
  host = '127.0.0.1',
): Promise<{ port: number; connections: number; close(): void }> {
  const sockets = new Set<Socket>();
  const state = {
    port: 0,
    connections: 0,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  const server: Server = createServer((socket) => {
    state.connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    serve(socket);
  });
  server.listen(0, host);
  await once(server, 'listening');
  state.port = (server.address() as AddressInfo).port;
  return state;
}
