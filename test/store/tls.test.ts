import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { natsTls } from '../../src/service/setup/certificates.ts';
import { clientConfig } from '../../src/platform/store/connection.ts';
import { reached } from '../../src/platform/store/tls.ts';
import { type PostgresServer, startPostgres } from '../servers.ts';

describe('store: TLS to Postgres', function () {
  this.timeout(60_000);
  let server: PostgresServer;
  let plain: PostgresServer;
  let folder: string;
  let ca: string;
  let otherCa: string;
  const file = (name: string, text = ''): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-tls-'));
    const [mine, other] = [await natsTls(['localhost']), await natsTls(['localhost'])];
    [ca, otherCa] = [file('ca.crt', mine['ca.crt']), file('other.crt', other['ca.crt'])];
    [server, plain] = await Promise.all([
      startPostgres({ tls: { certificate: mine['tls.crt'] ?? '', key: mine['tls.key'] ?? '' } }),
      startPostgres(),
    ]);
  });
  after(async () => {
    await Promise.all([server?.stop(), plain?.stop()]);
    rmSync(folder, { recursive: true, force: true });
  });

  /** Whether the session is encrypted, or why the connection failed. */
  async function attempt(
    { port }: PostgresServer,
    query: string,
    caFile: string | undefined,
    host = 'localhost',
  ): Promise<string> {
    let client: pg.Client | undefined;
    try {
      client = new pg.Client(clientConfig({ url: `postgres://probeyard@${host}:${port}/postgres${query}`, caFile }));
      client.on('error', () => {});
      await client.connect();
      const { rows } = await client.query<{ ssl: boolean }>('select ssl from pg_stat_ssl where pid = pg_backend_pid()');
      return rows[0]?.ssl ? 'TLS' : 'plain';
    } catch (error) {
      return (error as Error).message;
    } finally {
      await client?.end().catch(() => {});
    }
  }

  const UNKNOWN = /self-signed certificate|unable to (verify|get)/;
  const rows: [string, 'no CA' | 'its CA' | 'another CA', RegExp][] = [
    ['', 'no CA', /^plain$/],
    ['', 'its CA', /^TLS$/],
    ['', 'another CA', UNKNOWN],
    ['?sslmode=disable', 'no CA', /^plain$/],
    ['?sslmode=disable', 'its CA', /disable conflicts/],
    ['?sslmode=no-verify', 'no CA', /^TLS$/],
    ['?sslmode=no-verify', 'its CA', /no-verify conflicts/],
    ['?sslmode=verify-ca', 'no CA', /verify-ca needs a certificate authority/],
    ['?sslmode=verify-ca', 'another CA', UNKNOWN],
    ['?sslmode=verify-ca', 'its CA', /^TLS$/],
    ['?ssl=true', 'its CA', /^TLS$/],
    ['?ssl=true', 'no CA', UNKNOWN],
    ['?sslmode=allow', 'no CA', /sslmode must be one of disable, prefer/],
    ['?sslmode=__proto__', 'no CA', /sslmode must be one of/],
    ...(['prefer', 'require', 'verify-full'] as const).flatMap(
      (mode): [string, 'no CA' | 'its CA' | 'another CA', RegExp][] => [
        [`?sslmode=${mode}`, 'no CA', UNKNOWN],
        [`?sslmode=${mode}`, 'its CA', /^TLS$/],
        [`?sslmode=${mode}`, 'another CA', UNKNOWN],
      ],
    ),
  ];
  for (const [query, given, expected] of rows) {
    it(`${query || 'no sslmode'}, ${given}: ${expected.source}`, async () => {
      assert.match(
        await attempt(server, query, { 'no CA': undefined, 'its CA': ca, 'another CA': otherCa }[given]),
        expected,
      );
    });
  }

  it('the host name is verified, except for verify-ca', async () => {
    const other = await Promise.all(
      ['', '?sslmode=require', '?sslmode=verify-full', '?sslmode=verify-ca'].map((query) =>
        attempt(server, query, ca, '127.0.0.1'),
      ),
    );
    assert.deepEqual(
      other.map((outcome) =>
        outcome === 'TLS' ? outcome : /does not match|not in the cert/.test(outcome) ? 'refused' : outcome,
      ),
      ['refused', 'refused', 'refused', 'TLS'],
    );
  });

  it('refuses a server without TLS if TLS is requested', async () => {
    for (const [query, caFile] of [
      ['?sslmode=require', undefined],
      ['', ca],
      ['?sslmode=prefer', undefined],
    ] as const)
      assert.match(await attempt(plain, query, caFile), /does not support SSL/);
  });

  it('keeps other parameters of the address, and sslrootcert names a CA', () => {
    assert.equal(
      reached('postgres://a@b/c?sslmode=require&target_session_attrs=rw', undefined).url,
      'postgres://a@b/c?target_session_attrs=rw',
    );
    assert.ok(
      (reached(`postgres://a@b/c?sslrootcert=${ca}`, undefined).ssl as { ca: string }).ca.includes('BEGIN CERTIFICATE'),
    );
    assert.deepEqual(
      reached('postgres://a@b/c', ''),
      { url: 'postgres://a@b/c', ssl: false },
      'a CA file that is not set is an empty setting',
    );
    assert.deepEqual(reached('postgres://a@b/c?sslmode=verify-full&sslrootcert=system', undefined).ssl, {
      rejectUnauthorized: true,
    });
  });

  it('an error does not repeat the address', () => {
    assert.throws(
      () => reached('postgres://a:secret@b/c?sslmode=secret', undefined),
      (error: Error) => !error.message.includes('secret'),
    );
    assert.throws(
      () => reached('postgres://a:secret@b/c', '/no/such/file'),
      /certificate authority cannot be read \(ENOENT\)/,
    );
  });
});

describe('store: client certificates to Postgres', function () {
  this.timeout(60_000);
  let folder: string;
  let server: PostgresServer;
  const at = (name: string): string => join(folder, name);

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-client-'));
    const [mine, clients, others] = [
      await natsTls(['localhost']),
      await natsTls(['certified']),
      await natsTls(['certified']),
    ];
    for (const [name, text] of [
      ['ca.crt', mine['ca.crt']],
      ['clients.crt', clients['ca.crt']],
      ['tls.crt', clients['tls.crt']],
      ['tls.key', clients['tls.key']],
      ['other.crt', others['tls.crt']],
      ['other.key', others['tls.key']],
      ['pg_hba.conf', 'hostssl all certified 127.0.0.1/32 cert\nhost all all 127.0.0.1/32 trust\n'],
    ])
      writeFileSync(at(name!), text!, { mode: 0o644 });
    // The server runs as another user.
    chmodSync(folder, 0o755);
    server = await startPostgres({
      tls: { certificate: mine['tls.crt'] ?? '', key: mine['tls.key'] ?? '' },
      settings: { ssl_ca_file: at('clients.crt'), hba_file: at('pg_hba.conf') },
    });
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query('create role certified login');
    await client.end();
  });
  after(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const attempt = async (files: { certificateFile?: string; keyFile?: string }): Promise<string> => {
    const url = `postgres://certified@localhost:${server.port}/postgres`;
    const client = new pg.Client(clientConfig({ url, caFile: at('ca.crt'), ...files }));
    client.on('error', () => {});
    try {
      await client.connect();
      return String((await client.query<{ name: string }>('select current_user::text as name')).rows[0]?.name);
    } catch (error) {
      return (error as Error).message;
    } finally {
      await client.end().catch(() => {});
    }
  };

  for (const [title, files, expected] of [
    [
      'its certificate signs a role in',
      () => ({ certificateFile: at('tls.crt'), keyFile: at('tls.key') }),
      /^certified$/,
    ],
    ['without one it is refused', () => ({}), /requires a valid client certificate|connection/],
    [
      'one of another authority is refused',
      () => ({ certificateFile: at('other.crt'), keyFile: at('other.key') }),
      /unknown ca|certificate|terminated|ECONNRESET/i,
    ],
    ['one without its key is refused here', () => ({ certificateFile: at('tls.crt') }), /needs its private key/],
    [
      'a file that is missing is named, not the address',
      () => ({ certificateFile: at('none'), keyFile: at('tls.key') }),
      /client certificate cannot be read \(ENOENT\)/,
    ],
  ] as const)
    it(title, async () => {
      let outcome: string;
      try {
        outcome = await attempt(files());
      } catch (error) {
        outcome = (error as Error).message;
      }
      assert.match(outcome, expected);
    });
});
