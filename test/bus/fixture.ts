/** A nats-server with our accounts, permissions and callout, and connections to it in each role. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccount, createUser, type KeyPair } from '@nats-io/jwt';
import { type Bus, type BusSettings, connectBus } from '../../src/platform/bus/connect.ts';
import type { BusError } from '../../src/platform/bus/errors.ts';
import { INBOX } from '../../src/platform/bus/permissions.ts';
import { natsServerConfig } from '../../src/platform/bus/server_config.ts';
import { type NatsOptions, type NatsServer, startNats } from '../servers.ts';

export interface BusFixture {
  server: NatsServer;
  issuerSeed: string;
  /** Files with the credentials of the static users. */
  files: Record<'api' | 'controller', string>;
  /** Errors of all connections of this fixture. */
  errors: BusError[];
  api(): Promise<Bus>;
  controller(): Promise<Bus>;
  runner(uid: string, token: string, change?: Partial<BusSettings>): Promise<Bus>;
  /** Writes the token that the runner of this uid uses for its next connect. */
  writeToken(uid: string, token: string): void;
  close(): Promise<void>;
}

const seed = (key: KeyPair) => new TextDecoder().decode(key.getSeed());

export async function startBus(
  options: Omit<NatsOptions, 'conf'> & { caFile?: string; host?: string } = {},
): Promise<BusFixture> {
  const directory = mkdtempSync(join(tmpdir(), 'probeyard-bus-'));
  const [api, controller, issuer] = [createUser(), createUser(), createAccount()];
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  const files = { api: file('api.nk', `${seed(api)}\n`), controller: file('controller.nk', `${seed(controller)}\n`) };
  const conf = natsServerConfig({
    api: api.getPublicKey(),
    controller: controller.getPublicKey(),
    issuer: issuer.getPublicKey(),
  });
  const server = await startNats({ jetstream: true, ...options, conf });
  const opened: Bus[] = [];
  const errors: BusError[] = [];
  const open = async (settings: Omit<BusSettings, 'url'>) => {
    const bus = await connectBus({
      url: server.url.replace('127.0.0.1', options.host ?? '127.0.0.1'),
      caFile: options.caFile,
      onError: (error) => errors.push(error),
      ...settings,
    });
    opened.push(bus);
    return bus;
  };
  return {
    server,
    issuerSeed: seed(issuer),
    files,
    errors,
    api: () => open({ name: 'api', credentialsFile: files.api, inboxPrefix: INBOX.api }),
    controller: () => open({ name: 'controller', credentialsFile: files.controller, inboxPrefix: INBOX.controller }),
    runner: (uid, token, change = {}) =>
      open({
        name: `runner-${uid}`,
        tokenFile: file(`${uid}.token`, token),
        inboxPrefix: INBOX.runner(uid),
        ...change,
      }),
    writeToken: (uid, token) => void file(`${uid}.token`, token),
    async close() {
      await Promise.all(opened.map((bus) => bus.connection.close()));
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
