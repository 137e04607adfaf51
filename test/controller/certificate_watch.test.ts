/** A running NATS server takes a renewed certificate: new connections see it, and no connection is lost. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { presentedCertificate } from '../../src/platform/bus/certificate.ts';
import type { Bus } from '../../src/platform/bus/connect.ts';
import { type CertificateSettings, lookAtCertificates } from '../../src/service/controller/certificate_watch.ts';
import { issuedBy, natsTls, renewed } from '../../src/service/setup/certificates.ts';
import { type BusFixture, startBus } from '../bus/fixture.ts';
import { until } from '../until.ts';

const DAY_MS = 86_400_000;
const HOSTS = ['localhost'];

describe('NATS certificate', function () {
  this.timeout(60_000);
  let folder: string;
  let fixture: BusFixture;
  let controller: Bus;
  let tls: Record<string, string>;
  let lines: string[];
  let seen: Record<string, number>;
  const statuses: string[] = [];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-certificate-'));
    // 300 of the 365 days of the certificate have passed.
    tls = await natsTls(HOSTS, new Date(Date.now() - 300 * DAY_MS));
    writeFileSync(join(folder, 'ca.crt'), tls['ca.crt'] ?? '');
    fixture = await startBus({
      tls: { certificate: tls['tls.crt'] ?? '', key: tls['tls.key'] ?? '', ca: tls['ca.crt'] ?? '' },
      caFile: join(folder, 'ca.crt'),
      host: 'localhost',
    });
    controller = await fixture.controller();
    statuses.length = 0;
    controller.onStatus((status) => statuses.push(status));
    lines = [];
    seen = {};
  });
  afterEach(async () => {
    await fixture.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const settings = (): CertificateSettings => ({
    url: fixture.server.url.replace('127.0.0.1', 'localhost'),
    caFile: join(folder, 'ca.crt'),
    credentialsFile: fixture.files.controller,
    log: pino(
      {},
      {
        write: (line: string) => {
          lines.push(line);
        },
      },
    ),
    metrics: {
      certificate: (name, at) => {
        seen[name] = at;
      },
    },
  });
  const presented = async () => {
    const found = await presentedCertificate(settings().url, settings().caFile);
    assert.ok(found);
    return found;
  };

  it('reads when the certificate and its authority expire', async () => {
    await lookAtCertificates(settings());
    assert.equal(Math.round(((seen['nats'] ?? 0) - Date.now()) / DAY_MS), 65);
    assert.equal(Math.round(((seen['nats-ca'] ?? 0) - Date.now()) / DAY_MS), 3_350);
  });

  it('presents a renewed certificate after the next check, and no connection is lost', async () => {
    const before = await presented();
    const changes = await renewed(tls, HOSTS);
    assert.ok(changes);
    fixture.server.certify({ certificate: changes['tls.crt'] ?? '', key: changes['tls.key'] ?? '' });
    assert.equal((await presented()).fingerprint, before.fingerprint, 'the server reads it only when it is asked to');
    await lookAtCertificates(settings());
    assert.notEqual((await presented()).fingerprint, before.fingerprint);
    assert.equal(Math.round(((seen['nats'] ?? 0) - Date.now()) / DAY_MS), 365);
    assert.match(lines.join(''), /NATS presents a renewed certificate/);
    const fresh = await fixture.controller();
    await Promise.all([controller.flush(), fresh.flush()]);
    assert.deepEqual(statuses, []);
  });

  it('does not reload a server whose certificate is valid for long', async () => {
    const fresh = await renewed(tls, HOSTS);
    assert.ok(fresh);
    fixture.server.certify({ certificate: fresh['tls.crt'] ?? '', key: fresh['tls.key'] ?? '' });
    await lookAtCertificates({ ...settings(), now: () => Date.now() - 200 * DAY_MS });
    assert.equal(Math.round(((seen['nats'] ?? 0) - Date.now()) / DAY_MS), 65);
  });

  it('logs a server that refuses to reload, and still reads when its certificate expires', async () => {
    await lookAtCertificates({ ...settings(), credentialsFile: fixture.files.api });
    assert.match(lines.join(''), /cannot reload the certificate of NATS/);
    assert.ok(seen['nats']);
  });

  describe('that has expired before it was renewed', () => {
    beforeEach(async () => {
      const { 'tls.crt': certificate = '', 'tls.key': key = '' } = await issuedBy(
        tls['ca.crt'] ?? '',
        tls['ca.key'] ?? '',
        HOSTS,
        new Date(Date.now() - 400 * DAY_MS),
      );
      fixture.server.certify({ certificate, key });
      await fixture.server.restart();
    });

    it('its expiry is reported', async () => {
      await lookAtCertificates(settings());
      assert.ok((seen['nats'] ?? Infinity) < Date.now());
    });

    it('the renewed one is presented after the next check, although nobody can connect', async () => {
      await until('the connection is lost', () => !controller.connected());
      const fresh = await issuedBy(tls['ca.crt'] ?? '', tls['ca.key'] ?? '', HOSTS);
      fixture.server.certify({ certificate: fresh['tls.crt'] ?? '', key: fresh['tls.key'] ?? '' });
      await lookAtCertificates(settings());
      assert.equal(Math.round(((seen['nats'] ?? 0) - Date.now()) / DAY_MS), 365, lines.join(''));
      await controller.whenConnected(10_000);
    });

    for (const [what, certificate] of [
      ['of another authority', () => natsTls(HOSTS, new Date(Date.now() - 400 * DAY_MS))],
      [
        'for another host',
        () =>
          issuedBy(tls['ca.crt'] ?? '', tls['ca.key'] ?? '', ['nats.example.org'], new Date(Date.now() - 400 * DAY_MS)),
      ],
    ] as const)
      it(`a server with one ${what} gets no request`, async () => {
        const other = await certificate();
        fixture.server.certify({ certificate: other['tls.crt'] ?? '', key: other['tls.key'] ?? '' });
        await fixture.server.restart();
        await lookAtCertificates(settings());
        assert.match(lines.join(''), /cannot reload the certificate of NATS/);
      });
  });
});
