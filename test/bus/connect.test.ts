/**
 * The address of the server comes from the system's resolver alone, so that a silent name server delays nothing for
 * long.
 */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import dns from 'node:dns';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBus } from '../../src/platform/bus/connect.ts';
import { natsAuth } from '../../src/service/setup/secrets.ts';
import { natsTls } from '../../src/service/setup/certificates.ts';
import { INBOX } from '../../src/platform/bus/permissions.ts';
import { type NatsServer, startNats } from '../servers.ts';
import { until } from '../until.ts';
import { countByName, liveConnections } from './connections.ts';

const NAME = 'nats.probeyard.svc';

describe('bus: connecting by name', function () {
  this.timeout(30_000);
  const { lookup } = dns;
  const servers = dns.getServers();
  const silent = createSocket('udp4');
  let folder: string;
  let server: NatsServer;
  let settings: Parameters<typeof connectBus>[0];
  let asked = 0;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-connect-'));
    const file = (name: string, text = '') => {
      writeFileSync(join(folder, name), text, { mode: 0o600 });
      return join(folder, name);
    };
    const [tls, auth] = [await natsTls([NAME]), natsAuth()];
    server = await startNats({
      jetstream: true,
      tls: { certificate: tls['tls.crt'] ?? '', key: tls['tls.key'] ?? '', ca: tls['ca.crt'] ?? '' },
      conf: auth['auth.conf'] ?? '',
    });
    settings = {
      url: `tls://${NAME}:${server.port}`,
      caFile: file('ca.crt', tls['ca.crt']),
      name: 'test',
      credentialsFile: file('api.nk', auth['api.nk']),
      inboxPrefix: INBOX.api,
    };
    // A name server that receives queries and answers none, set in Node's resolver.
    silent.on('message', () => asked++);
    silent.bind(0, '127.0.0.1');
    await once(silent, 'listening');
    dns.setServers([`127.0.0.1:${silent.address().port}`]);
    dns.lookup = ((
      _name: string,
      options: dns.LookupOptions,
      done: (error: null, address: string | dns.LookupAddress[], family?: number) => void,
    ) =>
      void (options.all
        ? done(null, [{ address: '127.0.0.1', family: 4 }])
        : done(null, '127.0.0.1', 4))) as typeof dns.lookup;
  });
  after(async () => {
    dns.lookup = lookup;
    dns.setServers(servers);
    silent.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("does not query name servers beside the system's resolver", async () => {
    const bus = await connectBus(settings);
    assert.equal(bus.connected(), true);
    await bus.drain();
    assert.equal(asked, 0);
  });

  it('the certificate must match the requested name', async () => {
    // In any order, because the client shuffles them: the wrong ones are refused until the right one comes.
    const wrong = Array.from({ length: 20 }, (_, at) => `tls://elsewhere-${at}.probeyard.svc:${server.port}`);
    const bus = await connectBus({ ...settings, url: [...wrong, settings.url].join(',') });
    assert.equal(bus.connection.getServer(), `${NAME}:${server.port}`);
    await bus.drain();
  });

  it('a reconnect reads the certificate of the authority from the current file', async () => {
    const errors: string[] = [];
    const statuses: string[] = [];
    const bus = await connectBus({
      ...settings,
      onStatus: (status) => statuses.push(status),
      onError: (error) => errors.push(error.message),
    });
    const next = await natsTls([NAME]);
    server.certify({ certificate: next['tls.crt'] ?? '', key: next['tls.key'] ?? '' });
    writeFileSync(settings.caFile ?? '', next['ca.crt'] ?? '');
    await server.restart();
    await until(
      'the bus is connected again',
      () => statuses.filter((status) => status === 'connected').length > 1 && bus.connected(),
    );
    assert.deepEqual(errors, []);
    assert.deepEqual(countByName(await liveConnections(server.monitor)), { test: 1 });
    await bus.drain();
  });

  it('credentials that are unreadable for a while do not close the connection for good', async () => {
    const errors: string[] = [];
    const bus = await connectBus({ ...settings, onError: (error) => errors.push(error.message) });
    const file = settings.credentialsFile ?? '';
    renameSync(file, `${file}.away`);
    await server.restart();
    await until('a dial without credentials was logged', () =>
      errors.some((error) => error.includes('cannot read the NATS credentials')),
    );
    assert.equal(bus.connected(), false);
    renameSync(`${file}.away`, file);
    await until('the bus is connected again', () => bus.connected());
    await bus.drain();
  });

  it('drain closes the connection while the server is away, too', async () => {
    const bus = await connectBus(settings);
    bus.subscribe('test.drain', () => {});
    await server.kill();
    try {
      await until('it is disconnected', () => !bus.connected());
      await bus.drain();
      assert.ok(bus.connection.isClosed(), 'it goes on dialling');
    } finally {
      await server.restart();
    }
  });

  it('drain closes the connection if the server goes away meanwhile', async () => {
    const bus = await connectBus(settings);
    bus.subscribe('test.drain', () => {});
    const drained = bus.drain();
    await server.kill();
    try {
      await drained;
      assert.ok(bus.connection.isClosed(), 'it goes on dialling');
    } finally {
      await server.restart();
    }
  });
});
