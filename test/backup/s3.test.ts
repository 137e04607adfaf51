/** Backups on a real S3 server that verifies signatures, and in a folder. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { of } from '../../src/service/backup/bytes.ts';
import { type Destination, folder } from '../../src/service/backup/destination.ts';
import { isBackupError } from '../../src/service/backup/errors.ts';
import { s3, type S3Settings } from '../../src/service/backup/s3.ts';
import { missingPeer, type Peer, startS3 } from '../streams/peers.ts';
import { allOf, scratch } from './fixture.ts';

const KEYS = { accessKey: 'backup', secret: 'a/secret+with=signs' };
const PART = 5 * 1_048_576;

const refusedAs = (code: string, text: RegExp) => (error: unknown) => {
  assert.ok(isBackupError(error), String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, text);
  assert.doesNotMatch(error.message, /secret\+with/);
  return true;
};

async function* endsEarly(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
  throw new Error('the source ended early');
}

describe('backup: destinations', function () {
  this.timeout(120_000);
  const place = scratch();
  let server: Peer | undefined;
  let missing: string | undefined;
  const settings = (change: Partial<S3Settings> = {}): S3Settings => ({
    endpoint: `http://127.0.0.1:${server!.port}`,
    bucket: 'backups',
    prefix: 'a b/probeyard/',
    region: 'eu-central-1',
    keys: KEYS,
    ca: '',
    partBytes: PART,
    ...change,
  });
  before(async () => {
    mkdirSync(join(place.path, 'claim'));
    mkdirSync(join(place.path, 's3', 'backups'), { recursive: true });
    missing = await missingPeer('versitygw');
    if (missing === undefined)
      server = await startS3(join(place.path, 's3'), KEYS.accessKey, KEYS.secret, 'eu-central-1');
    else console.log(`      the tests with S3 are skipped: ${missing}`);
  });
  after(async () => {
    await server?.close();
    place.remove();
  });

  const KINDS: Record<string, () => Destination> = {
    'a folder': () => folder(join(place.path, 'claim')),
    S3: () => s3(settings()),
  };
  for (const [kind, make] of Object.entries(KINDS)) {
    const at = (title: string, work: (destination: Destination) => Promise<void>) =>
      it(`${kind}: ${title}`, async function () {
        if (kind === 'S3' && missing !== undefined) return this.skip();
        using destination = make();
        await work(destination);
      });

    for (const size of [0, 1, PART - 1, PART, 2 * PART + 17])
      at(`gives back ${size} bytes`, async (destination) => {
        const bytes = randomBytes(size);
        const chunks = async function* () {
          for (let from = 0; from < size; from += 700_001) yield bytes.subarray(from, from + 700_001);
        };
        assert.equal(await destination.write('probeyard.age', chunks()), size);
        assert.ok((await allOf(destination.read('probeyard.age'))).equals(bytes));
      });

    at('lists names in order, and removes', async (destination) => {
      for (const name of await destination.list()) await destination.remove(name);
      await destination.write('b', of('two'));
      await destination.write('a', of('three'));
      assert.deepEqual(await destination.list(), ['a', 'b']);
      await destination.remove('a');
      await destination.remove('a');
      assert.deepEqual(await destination.list(), ['b']);
    });

    at('keeps the earlier file, and no half of a new one, if its source ends early', async (destination) => {
      await destination.write('kept', of('earlier'));
      for (const size of [10, 2 * PART])
        await assert.rejects(destination.write('kept', endsEarly(randomBytes(size))), /ended early/);
      assert.equal((await allOf(destination.read('kept'))).toString(), 'earlier');
      const names = readdirSync(place.path, { recursive: true }).map(String);
      assert.deepEqual(
        names.filter((name) => name.includes('.half')),
        [],
      );
    });

    at('refuses a file that is not there', async (destination) => {
      await assert.rejects(allOf(destination.read('nothing')), refusedAs('not-found', /cannot read nothing/));
    });
    for (const name of ['', '../x', 'a/b', '.hidden', 'a\0'])
      at(`refuses the name ${JSON.stringify(name)}`, async (destination) => {
        await assert.rejects(destination.write(name, of('x')), refusedAs('not-found', /name of a backup/));
      });
  }

  it('S3: refuses a wrong secret, a wrong bucket', async function () {
    if (missing !== undefined) return this.skip();
    for (const [change, text] of [
      [{ keys: { ...KEYS, secret: 'wrong' } }, /answered 403 SignatureDoesNotMatch/],
      [{ bucket: 'nowhere' }, /answered 404 NoSuchBucket/],
    ] as const) {
      using destination = s3(settings(change));
      await assert.rejects(destination.write('x', of('x')), (error: Error) => text.test(error.message), String(text));
    }
  });

  describe('an S3 service that fails', () => {
    let failing: Server;
    let calls: string[];
    let answer: (path: string, call: number) => [status: number, body: string];
    const at = () => s3(settings({ endpoint: `http://127.0.0.1:${(failing.address() as AddressInfo).port}` }));
    before((done) => {
      failing = createServer((request, response) => {
        request.resume().on('end', () => {
          calls.push(`${request.method} ${request.url}`);
          const [status, body] = answer(request.url ?? '', calls.length);
          response.writeHead(status, { etag: '"e"' }).end(body);
        });
      }).listen(0, '127.0.0.1', done);
    });
    beforeEach(() => {
      calls = [];
      server ??= { port: 0, output: () => '', close: async () => {} };
    });
    after((done) => {
      failing.close(done);
    });

    it('is asked again after 503, and not after 403', async () => {
      answer = (_, call) => (call < 3 ? [503, '<Error><Code>SlowDown</Code></Error>'] : [200, '']);
      using destination = at();
      assert.equal(await destination.write('x', of('xy')), 2);
      assert.equal(calls.length, 3);
      answer = () => [403, '<Error><Code>AccessDenied</Code></Error>'];
      await assert.rejects(destination.write('x', of('x')), refusedAs('destination', /403 AccessDenied/));
      assert.equal(calls.length, 4);
    });

    it('an upload whose end fails inside a 200 is an error, and is given up at the service', async () => {
      answer = (path) =>
        path.endsWith('uploads=')
          ? [200, '<UploadId>u&amp;1</UploadId>']
          : [200, path.includes('partNumber') ? '' : '<Error><Code>InternalError</Code></Error>'];
      using destination = at();
      await assert.rejects(
        destination.write('x', of(randomBytes(PART + 1))),
        refusedAs('destination', /answered InternalError/),
      );
      assert.match(calls.at(-1)!, /^DELETE .*uploadId=u%261$/);
    });
  });
});
