/** What age 1.1.1 encrypted is decrypted here; what is encrypted here, age opens. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  checkRecipients,
  decrypted,
  encrypted,
  fileKeyFor,
  fileKeyText,
  newKeyPair,
  readOpener,
} from '../../src/service/backup/age.ts';
import { type Bytes, of } from '../../src/service/backup/bytes.ts';
import { isBackupError } from '../../src/service/backup/errors.ts';
import { fetchedProgram } from '../debian_program.ts';
import { AGE } from './fixture.ts';

/** Made by age-keygen and age 1.1.1. */
const IDENTITY = `# created: 2026-11-22T22:36:00Z
# public key: age1fsmffmtvkn0dr6k6kp5j6ts454kpl9fm26q0spakxdmj8u7qvcgqfmmnxh
AGE-SECRET-KEY-15TNYN8F5QL7SJZHCTJ5MVNRAEMCWVUK5UGLND0X8FMFQV2C4NWZS0VERZS
`;
const RECIPIENT = 'age1fsmffmtvkn0dr6k6kp5j6ts454kpl9fm26q0spakxdmj8u7qvcgqfmmnxh';
const SAMPLE = [
  'YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBDVlNIS1IrRW9wS3NrMWsvQ2VLQ05VTk15Wi8vSWFZRmdpWk9JVFJEMWlJ',
  'CjNqU3ZuS2JBNHRqVllacjdLNERad1pxVXp5MmlyYUo5RWh3ZlBxeDBRK2MKLS0tIFk1RG5xNFUyQlBTN2Y2eEtZV2E5OHNCOERj',
  'UXZ4b24rK0N5R1dTNXVaYjQKzkeAtm+A5mKAdRDCgk5O5UwCtrCBFp/dAQOQ7KFIbxveLIV277bDN0YgPIQy/TYhevQPY3WvNsei',
  's96QsdT6aAp3IklZIFtynRTkHBI=',
].join('');
const TEXT = 'Every accepted request gets exactly one end.\n';

async function all(bytes: Bytes): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of bytes) parts.push(part);
  return Buffer.concat(parts);
}
const opened = (file: Buffer, key: string): Promise<Buffer> => all(decrypted(of(file), readOpener(key)));
const refusedAs = (code: string, text: RegExp) => (error: unknown) => {
  assert.ok(isBackupError(error), String(error));
  assert.equal(error.code, code);
  assert.match(error.message, text);
  return true;
};

const pair = await newKeyPair();

describe('backup: encryption', () => {
  const sealed = (bytes: Buffer, recipients = [pair.recipient]) => all(encrypted(of(bytes), recipients));

  it('opens a file that age encrypted', async () => {
    assert.equal((await opened(Buffer.from(SAMPLE, 'base64'), IDENTITY)).toString(), TEXT);
  });

  it('makes files that age opens', async function () {
    const root = await fetchedProgram(AGE);
    if (root === undefined) {
      console.log('      skipped: age is not in the cache (make test fetches it)');
      return this.skip();
    }
    const folder = mkdtempSync(join(tmpdir(), 'probeyard-age-'));
    try {
      writeFileSync(join(folder, 'key'), `${pair.identity}\n`);
      const input = await sealed(randomBytes(200_000));
      const { status, stdout, stderr } = spawnSync(join(root, AGE.program), ['-d', '-i', join(folder, 'key')], {
        input,
      });
      assert.equal(status, 0, stderr.toString());
      assert.deepEqual(stdout, await opened(input, pair.identity));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  for (const size of [0, 1, 65_535, 65_536, 65_537, 131_072, 300_000])
    it(`gives back ${size} bytes`, async () => {
      const plain = randomBytes(size);
      assert.deepEqual(await opened(await sealed(plain), pair.identity), plain);
    });

  it('opens with the identity of each recipient', async () => {
    const other = await newKeyPair();
    const file = await sealed(Buffer.from(TEXT), [pair.recipient, other.recipient]);
    for (const { identity } of [pair, other]) assert.equal((await opened(file, identity)).toString(), TEXT);
  });

  it('the key of one file opens that file and no other', async () => {
    const [one, other] = [await sealed(Buffer.from('one')), await sealed(Buffer.from('other'))];
    const key = fileKeyText(await fileKeyFor(of(one), readOpener(pair.identity)));
    assert.equal((await opened(one, key)).toString(), 'one');
    await assert.rejects(opened(other, key), refusedAs('key-wrong', /belongs to another backup/));
  });

  it('the key of one file needs no more than its header', async () => {
    const file = await sealed(randomBytes(500_000));
    const key = await fileKeyFor(of(file.subarray(0, 400)), readOpener(pair.identity));
    assert.equal((await opened(file, fileKeyText(key))).length, 500_000);
  });

  const changes: [string, (file: Buffer) => Buffer, string, RegExp][] = [
    ['a changed byte in the first chunk', (file) => flipped(file, 300), 'damaged', /is damaged/],
    ['a changed byte in the last chunk', (file) => flipped(file, file.length - 1), 'damaged', /is damaged/],
    ['a changed header', (file) => flipped(file, 40), 'key-wrong', /encrypted to another key/],
    ['an end within the header', (file) => file.subarray(0, 100), 'not-a-backup', /header of age/],
    ['an end before the first chunk', (file) => file.subarray(0, headerOf(file) + 10), 'damaged', /cut short/],
    ['an end within a chunk', (file) => file.subarray(0, -10), 'damaged', /cut short/],
    ['an end between two chunks', (file) => file.subarray(0, headerOf(file) + 16 + 65_552), 'damaged', /cut short/],
    ['something after its end', (file) => Buffer.concat([file, file]), 'damaged', /is damaged/],
    ['another file', () => Buffer.from('PGDMP and so on'), 'not-a-backup', /header of age/],
    ['an empty file', () => Buffer.alloc(0), 'not-a-backup', /header of age/],
  ];
  const flipped = (file: Buffer, at: number): Buffer => {
    const changed = Buffer.from(file);
    changed[at] = (changed[at] ?? 0) ^ 1;
    return changed;
  };
  const headerOf = (file: Buffer): number => file.indexOf('\n', file.indexOf('--- ')) + 1;
  for (const [what, change, code, text] of changes)
    it(`refuses ${what}`, async () => {
      const file = await sealed(randomBytes(150_000));
      await assert.rejects(opened(change(file), pair.identity), refusedAs(code, text));
    });

  it('refuses another identity', async () => {
    await assert.rejects(
      opened(await sealed(Buffer.from(TEXT)), (await newKeyPair()).identity),
      refusedAs('key-wrong', /another key/),
    );
  });

  for (const key of [
    '',
    'secret',
    `${IDENTITY}${IDENTITY}`,
    RECIPIENT,
    'probeyard-backup-key-AAAA',
    'AGE-SECRET-KEY-1QQ',
  ])
    it(`refuses the key ${JSON.stringify(key).slice(0, 30)}, without its text in the error`, () => {
      assert.throws(
        () => readOpener(key),
        (error: Error) => refusedAs('key-invalid', /neither/)(error) && (key === '' || !error.message.includes(key)),
      );
    });

  for (const recipient of ['', 'age1', RECIPIENT.replace('q', 'p'), `${RECIPIENT}q`, pair.identity])
    it(`refuses the recipient ${JSON.stringify(recipient).slice(0, 20)}`, () => {
      assert.throws(() => checkRecipients([recipient]), refusedAs('key-invalid', /not a public key of age/));
    });
});
