/** COPY as streams on a real Postgres: bounded memory, and every failure ends both sides. */
import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { copyIn, copyOut } from '../../src/platform/store/copy.ts';
import { type PostgresServer, startPostgres } from '../servers.ts';
import { until } from '../until.ts';
import { heldBytes } from '../held.ts';

const MB = 1_048_576;

describe('store: COPY', function () {
  this.timeout(120_000);
  let server: PostgresServer;
  let client: pg.Client;
  let other: pg.Client;

  before(async () => {
    server = await startPostgres();
  });
  after(() => server.stop());
  const connected = async (): Promise<pg.Client> => {
    const made = new pg.Client({ connectionString: server.url });
    made.on('error', () => {});
    await made.connect();
    return made;
  };
  beforeEach(async () => {
    [client, other] = [await connected(), await connected()];
    await client.query('create temporary table kept (id integer primary key, text text)');
  });
  afterEach(() => Promise.all([client.end(), other.end()].map((ending) => ending.catch(() => {}))));

  async function* lines(...text: string[]): AsyncGenerator<Buffer> {
    for (const one of text) yield Buffer.from(one);
  }
  const works = async () => assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
  const pid = async (of: pg.Client): Promise<number> =>
    ((await of.query('select pg_backend_pid() as pid')).rows[0] as { pid: number }).pid;

  it('a reader that does not read makes the server wait, and holds little', async () => {
    const backend = await pid(client);
    const before = heldBytes('arrayBuffers');
    const rows = copyOut(client, `copy (select repeat('x', 1000) from generate_series(1, 200000)) to stdout`);
    let bytes = (await rows.next()).value!.length as number;
    await until('the server waits for its client', async () => {
      const { rows: found } = await other.query('select wait_event from pg_stat_activity where pid = $1', [backend]);
      return (found[0] as { wait_event: string }).wait_event === 'ClientWrite';
    });
    assert.ok(heldBytes('arrayBuffers') - before < 16 * MB);
    for await (const part of rows) bytes += part.length;
    assert.equal(bytes, 200_000 * 1_001);
    await works();
  });

  it('gives nothing for an empty table', async () => {
    for await (const _ of copyOut(client, 'copy kept to stdout')) assert.fail('there is no row');
    await works();
  });

  it('an error of the server in its middle ends the reader, and the connection goes on', async () => {
    const read = async () => {
      let bytes = 0;
      for await (const part of copyOut(
        client,
        'copy (select 1 / (50000 - n) from generate_series(1, 60000) n) to stdout',
      ))
        bytes += part.length;
      return bytes;
    };
    await assert.rejects(read(), /division by zero/);
    await works();
  });

  it('a connection that is lost ends the reader', async () => {
    const backend = await pid(client);
    const rows = copyOut(client, `copy (select repeat('x', 1000) from generate_series(1, 200000)) to stdout`);
    await rows.next();
    await other.query('select pg_terminate_backend($1)', [backend]);
    await assert.rejects(async () => {
      for (;;) if ((await rows.next()).done === true) return;
    }, /terminat/);
  });

  it('stores rows whose pieces end anywhere', async () => {
    await copyIn(client, 'copy kept from stdin', lines('1\ton', 'e\n2', '\t\\N\n'));
    assert.deepEqual((await client.query('select * from kept order by id')).rows, [
      { id: 1, text: 'one' },
      { id: 2, text: null },
    ]);
  });

  it('a source that fails stores nothing, and the connection goes on', async () => {
    async function* failing(): AsyncGenerator<Buffer> {
      yield Buffer.from('1\tone\n');
      throw new Error('the source is damaged');
    }
    await assert.rejects(copyIn(client, 'copy kept from stdin', failing()), /the source is damaged/);
    assert.deepEqual((await client.query('select * from kept')).rows, []);
  });

  for (const bytes of [1_000, 10_000, MB])
    it(`a row that the table refuses ends a source of pieces of ${bytes} bytes early`, async () => {
      const most = (200 * MB) / bytes;
      let sent = 0;
      async function* many(): AsyncGenerator<Buffer> {
        for (; sent < most; sent++) yield Buffer.from(sent === 1 ? 'x\ty\n' : `${sent}\t${'x'.repeat(bytes)}\n`);
      }
      await assert.rejects(
        copyIn(client, 'copy kept from stdin', many()),
        (error) => error instanceof pg.DatabaseError,
      );
      assert.ok(sent < most, `${sent} pieces were sent`);
      await works();
    });

  it('a connection that is lost ends the source', async () => {
    const backend = await pid(client);
    async function* endless(): AsyncGenerator<Buffer> {
      await other.query('select pg_terminate_backend($1)', [backend]);
      for (let id = 0; ; id++) yield Buffer.from(`${id}\t${'x'.repeat(100_000)}\n`);
    }
    await assert.rejects(copyIn(client, 'copy kept from stdin', endless()), /terminat|ECONNRESET|EPIPE/);
  });

  it('nothing is sent over a connection that is lost', async () => {
    let sent = 0;
    async function* many(): AsyncGenerator<Buffer> {
      (client as unknown as { connection: { stream: Duplex } }).connection.stream.destroy();
      for (; sent < 10_000; sent++) yield Buffer.from(`${sent}\tx\n`);
    }
    await assert.rejects(copyIn(client, 'copy kept from stdin', many()), /terminat/);
    assert.ok(sent < 10, `${sent} pieces were sent`);
  });
});
