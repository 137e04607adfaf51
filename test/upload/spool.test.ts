import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CHUNK_BYTES,
  chunkCipher,
  cutter,
  readTokenOf,
  STORED_CHUNK_BYTES,
  storedBytes,
} from '../../src/source/upload/chunks.ts';
import { paced, TooSlow } from '../../src/source/upload/pace.ts';
import { openSpool, UploadRefused, type Spool, type SpooledFile } from '../../src/source/upload/spool.ts';
import { pattern } from '../source/origin.ts';

async function* inPieces(content: Buffer, length = 10_007): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += length) yield await Promise.resolve(content.subarray(at, at + length));
}

const refusedAs = (why: string) => (error: unknown) => error instanceof UploadRefused && error.why === why;

describe('the spool of uploads', () => {
  let folder: string;
  let spool: Spool;
  const receive = async (content: Buffer, { account = 1, maxBytes = 1e9, hashed = false } = {}): Promise<SpooledFile> =>
    spool.reserve(account).receive(inPieces(content), { maxBytes, hashed });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'spool-'));
    spool = await openSpool({ folder, maxBytes: 1_000_000 });
  });
  afterEach(async () => {
    await spool.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('keeps a file encrypted, in chunks that open by themselves', async () => {
    const content = Buffer.concat([Buffer.from('a plain beginning'), pattern(3 * CHUNK_BYTES + 4)]);
    const { id, key, size, sha256 } = await receive(content, { hashed: true });
    assert.equal(size, content.length);
    assert.equal(sha256, createHash('sha256').update(content).digest('hex'));
    const stored = await readFile(join(folder, id));
    assert.equal(stored.length, storedBytes(size));
    assert.equal(stored.indexOf('a plain beginning'), -1);
    const chunks = cutter(STORED_CHUNK_BYTES);
    const whole = [...chunks.cut(stored), chunks.rest()];
    const cipher = chunkCipher(key);
    assert.ok(Buffer.concat(whole.map((chunk, at) => cipher.open(chunk, at))).equals(content));
    assert.throws(() => cipher.open(whole[0]!, 1), 'a chunk in the place of another');
    assert.throws(() => cipher.open(whole[0]!.subarray(1), 0), 'a chunk that was cut');
    assert.throws(() => chunkCipher(Buffer.alloc(32).toString('base64url')).open(whole[0]!, 0), 'another key');
  });

  it('is read with the token of the file alone', async () => {
    const [one, two] = [await receive(pattern(1_000)), await receive(pattern(2_000))];
    assert.equal(spool.read(one.id, readTokenOf(one.key))?.size, storedBytes(1_000));
    for (const [id, token] of [
      [one.id, readTokenOf(two.key)],
      [one.id, ''],
      [one.id, one.key],
      ['0'.repeat(32), readTokenOf(one.key)],
    ] as const)
      assert.equal(spool.read(id, token), undefined);
  });

  it('removes a file once, however often it is asked to', async () => {
    const { id, key, remove } = await receive(pattern(1_000));
    await Promise.all([remove(), remove()]);
    await remove();
    assert.deepEqual(await readdir(folder), []);
    assert.deepEqual(spool.figures(), { files: 0, bytes: 0 });
    assert.equal(spool.read(id, readTokenOf(key)), undefined);
  });

  it('refuses what is too large while it arrives, an empty file, and leaves nothing behind', async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<Buffer> {
      for (;;) {
        read += 10_000;
        yield await Promise.resolve(Buffer.alloc(10_000));
      }
    }
    await assert.rejects(
      spool.reserve(1).receive(endless(), { maxBytes: 100_000, hashed: false }),
      refusedAs('too-large'),
    );
    assert.ok(read <= 120_000, `read ${read}`);
    await assert.rejects(receive(Buffer.alloc(0)), refusedAs('empty'));
    await assert.rejects(
      spool.reserve(1).receive(
        (async function* () {
          yield await Promise.resolve(Buffer.alloc(100_000));
          throw new Error('the sender is gone');
        })(),
        { maxBytes: 1e9, hashed: false },
      ),
      /the sender is gone/,
    );
    assert.deepEqual(await readdir(folder), []);
    assert.deepEqual(spool.figures(), { files: 0, bytes: 0 });
  });

  it('gives an account half of the room, and all accounts no more than all of it', async () => {
    const own = await receive(pattern(400_000));
    await assert.rejects(receive(pattern(200_000)), refusedAs('account-full'));
    await receive(pattern(400_000), { account: 2 });
    await assert.rejects(receive(pattern(250_000), { account: 3 }), refusedAs('spool-full'));
    await own.remove();
    await receive(pattern(250_000), { account: 3 });
  });

  it('bounds the number of files of an account', async () => {
    const files = await Promise.all(Array.from({ length: 64 }, () => receive(pattern(4))));
    await assert.rejects(receive(pattern(4)), refusedAs('account-full'));
    await receive(pattern(4), { account: 2 });
    await files[0]!.remove();
    await files[1]!.remove();
    await receive(pattern(4));
  });

  /** Each account in turn takes what it can get. */
  const greedy = (accounts: number): number[] =>
    Array.from({ length: accounts }, (_, at) => {
      for (let places = 0; ; places++)
        try {
          spool.reserve(100 + at);
        } catch (error) {
          assert.ok(refusedAs('account-full')(error), String(error));
          return places;
        }
    });
  for (const [accounts, left] of [
    [1, 192],
    [4, 81],
    [12, 6],
  ] as const)
    it(`${accounts} accounts that take all places they can get leave ${left} to others`, () => {
      const taken = greedy(accounts).reduce((sum, places) => sum + places, 0);
      assert.equal(256 - taken, left);
      spool.reserve(1);
    });

  it('a place is released once, and a file that was received keeps it', async () => {
    const unused = spool.reserve(1);
    assert.equal(spool.figures().files, 1);
    unused.release();
    unused.release();
    assert.equal(spool.figures().files, 0);
    const used = spool.reserve(1);
    const file = await used.receive(inPieces(pattern(10)), { maxBytes: 100, hashed: false });
    used.release();
    assert.equal(spool.figures().files, 1);
    await file.remove();
    assert.deepEqual(spool.figures(), { files: 0, bytes: 0 });
  });

  it('removes what an earlier process left', async () => {
    await writeFile(join(folder, 'left'), 'over');
    await (await openSpool({ folder, maxBytes: 1_000 })).close();
    assert.deepEqual(await readdir(folder), []);
  });
});

describe('paced', () => {
  const read = async (pieces: AsyncIterable<Buffer>): Promise<number> => {
    let bytes = 0;
    for await (const piece of paced(pieces, { overMs: 100, leastBytesPerS: 10_000 })) bytes += piece.length;
    return bytes;
  };
  const every = async function* (ms: number, bytes: number, count: number): AsyncGenerator<Buffer> {
    for (let at = 0; at < count; at++) {
      await new Promise((resolve) => setTimeout(resolve, ms));
      yield Buffer.alloc(bytes);
    }
  };

  it('passes on what arrives fast enough', async () => assert.equal(await read(every(20, 4_000, 12)), 48_000));
  it('ends a trickle', async () => assert.rejects(read(every(20, 1, 1_000)), TooSlow));
  it('ends silence', async () => {
    const silence = async function* (): AsyncGenerator<Buffer> {
      await new Promise(() => {});
      yield Buffer.alloc(1);
    };
    await assert.rejects(read(silence()), TooSlow);
  });

  it('does not count the time that its reader takes', async () => {
    let bytes = 0;
    for await (const piece of paced(every(1, 100, 5), { overMs: 100, leastBytesPerS: 10_000 })) {
      bytes += piece.length;
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    assert.equal(bytes, 500);
  });
});
