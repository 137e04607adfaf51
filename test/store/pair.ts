import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface Address {
  port: number;
  /** New connections go to the server at this port. */
  leadTo(port: number): void;
  close(): Promise<void>;
}

/** One address that leads to whichever server is the primary; connections that exist stay where they are. */
export async function startAddress(target: number, host = '127.0.0.1'): Promise<Address> {
  const sockets = new Set<Socket>();
  const address = { target };
  const server = createServer((client) => {
    const upstream = connect(address.target, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }).listen(0, host);
  await once(server, 'listening');
  const at = server.address();
  return {
    port: typeof at === 'object' && at ? at.port : 0,
    leadTo: (port: number) => void (address.target = port),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
