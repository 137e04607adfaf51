/** Three real nats-servers as one cluster, with our accounts and callout, and relays between them that can be cut. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, connect, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccount, createUser, type KeyPair } from '@nats-io/jwt';
import { type Bus, type BusSettings, connectBus } from '../../src/platform/bus/connect.ts';
import type { BusError } from '../../src/platform/bus/errors.ts';
import { STREAM } from '../../src/platform/bus/messages.ts';
import { INBOX } from '../../src/platform/bus/permissions.ts';
import { managerOf } from '../../src/platform/bus/results.ts';
import { natsServerConfig, type ServerKeys } from '../../src/platform/bus/server_config.ts';
import { freePort } from '../free_port.ts';
import { type NatsServer, startNats } from '../servers.ts';
import { until } from '../until.ts';

export interface ThreeServers {
  servers: NatsServer[];
  urls: string;
  issuerSeed: string;
  errors: BusError[];
  api(): Promise<Bus>;
  controller(): Promise<Bus>;
  runner(uid: string, token: string): Promise<Bus>;
  /** The server that leads this stream. */
  leaderOf(bus: Bus, stream: string): Promise<NatsServer>;
  /** Cuts the routes of this server to the others, until the returned function is called. */
  isolate(server: NatsServer): () => void;
  close(): Promise<void>;
}

interface Route {
  from: number;
  to: number;
  port: number;
  cut: boolean;
  server: Server;
  sockets: Set<Socket>;
}

/** One way between two servers; each dials through its own. */
async function route(from: number, to: number, target: number): Promise<Route> {
  const made: Route = { from, to, port: 0, cut: false, server: createServer(), sockets: new Set() };
  made.server.on('connection', (client: Socket) => {
    if (made.cut) return void client.destroy();
    const upstream = connect(target, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      made.sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        made.sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  made.server.listen(0, '127.0.0.1');
  await once(made.server, 'listening');
  const address = made.server.address();
  made.port = typeof address === 'object' && address ? address.port : 0;
  return made;
}

const seed = (key: KeyPair) => new TextDecoder().decode(key.getSeed());

/** `conf`: the accounts, if they are not those of a NATS of our own. */
export async function startThreeServers(
  conf: (keys: ServerKeys) => string = natsServerConfig,
  only?: number,
): Promise<ThreeServers> {
  const directory = mkdtempSync(join(tmpdir(), 'probeyard-three-'));
  const [api, controller, issuer] = [createUser(), createUser(), createAccount()];
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  const files = { api: file('api.nk', seed(api)), controller: file('controller.nk', seed(controller)) };
  const text = conf({
    api: api.getPublicKey(),
    controller: controller.getPublicKey(),
    issuer: issuer.getPublicKey(),
  });
  const indexes = [0, 1, 2];
  const ports = await Promise.all(indexes.map(() => freePort()));
  const routes = (
    await Promise.all(
      indexes.flatMap((from) => indexes.filter((to) => to !== from).map((to) => route(from, to, ports[to]!))),
    )
  ).flat();
  const clusterOf = (index: number) => `
cluster {
  name: test
  listen: "127.0.0.1:${ports[index]}"
  no_advertise: true
  ping_interval: 5s
  ping_max: 2
  pool_size: 1
  routes: [${routes.filter(({ from }) => from === index).map(({ port }) => `"nats-route://127.0.0.1:${port}"`)}]
}`;
  const started = only === undefined ? indexes : indexes.slice(0, only);
  const servers = await Promise.all(
    started.map((index) => startNats({ jetstream: true, conf: `${clusterOf(index)}\n${text}` })),
  );
  const urls = servers.map(({ url }) => url).join(',');
  const opened: Bus[] = [];
  const errors: BusError[] = [];
  const open = async (settings: Omit<BusSettings, 'url'>) => {
    const bus = await connectBus({ url: urls, onError: (error) => errors.push(error), ...settings });
    opened.push(bus);
    return bus;
  };
  const three: ThreeServers = {
    servers,
    urls,
    issuerSeed: seed(issuer),
    errors,
    api: () => open({ name: 'api', credentialsFile: files.api, inboxPrefix: INBOX.api }),
    controller: () => open({ name: 'controller', credentialsFile: files.controller, inboxPrefix: INBOX.controller }),
    runner: (uid, token) =>
      open({ name: `runner-${uid}`, tokenFile: file(`${uid}.token`, token), inboxPrefix: INBOX.runner(uid) }),
    async leaderOf(bus, stream) {
      const name = await until('the stream has a leader', async () => {
        const { cluster } = await (await managerOf(bus)).streams.info(stream);
        return cluster?.leader;
      });
      return servers.find(({ port }) => name === `test-${port}`)!;
    },
    isolate(server) {
      const index = servers.indexOf(server);
      const touched = routes.filter(({ from, to }) => from === index || to === index);
      for (const one of touched) {
        one.cut = true;
        for (const socket of one.sockets) socket.destroy();
      }
      return () => {
        for (const one of touched) one.cut = false;
      };
    },
    async close() {
      await Promise.all(opened.map((bus) => bus.connection.close()));
      await Promise.all(servers.map((server) => server.stop()));
      for (const one of routes) {
        for (const socket of one.sockets) socket.destroy();
        one.server.close();
      }
      rmSync(directory, { recursive: true, force: true });
    },
  };
  return three;
}

/** Copies of each stream that are up to date. */
export async function currentCopies(bus: Bus): Promise<number[]> {
  const { streams } = await managerOf(bus);
  return Promise.all(
    [STREAM.results, STREAM.chunks].map(async (name) => {
      const { cluster } = await streams.info(name);
      return cluster?.leader ? 1 + (cluster.replicas ?? []).filter(({ current }) => current).length : 0;
    }),
  );
}
