/** Checksums that containers keep, and the hashes of a file, however its bytes come. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileSums } from '../../src/media/qc/file_sums.ts';
import { MOST_WRONG_PAGES } from '../../src/media/qc/limits.ts';

const film = readFileSync(join(import.meta.dirname, '../policy/media/archive.mkv'));

/** Written as the specification of Ogg has it, bit by bit. */
function oggCrc(page: Buffer): number {
  let register = 0n;
  for (const byte of page)
    for (let bit = 7; bit >= 0; bit -= 1) {
      const top = (register >> 31n) & 1n;
      register = (register << 1n) & 0xffffffffn;
      if (top !== BigInt((byte >> bit) & 1)) register ^= 0x04c11db7n;
    }
  return Number(register);
}

function oggPage(number: number, body: Buffer): Buffer {
  const head = Buffer.alloc(28);
  head.write('OggS', 'latin1');
  head.writeUInt32LE(number, 18);
  head[26] = 1;
  head[27] = body.length;
  const page = Buffer.concat([head, body]);
  page.writeUInt32LE(oggCrc(page), 22);
  return page;
}
const sound = Buffer.concat([0, 1, 2, 3, 4].map((at) => oggPage(at, Buffer.alloc(100 + at, at))));

function told(file: Buffer, piece = file.length, isWhole = true) {
  const sums = fileSums(['sha256', 'md5']);
  for (let at = 0; at < file.length; at += piece) {
    // Its memory is used again: nothing of it may be held.
    const bytes = Buffer.from(file.subarray(at, at + piece));
    sums.push(bytes);
    bytes.fill(0xff);
  }
  return sums.told(isWhole);
}
const turned = (file: Buffer, at: number): Buffer => {
  const copy = Buffer.from(file);
  copy[at]! ^= 0x10;
  return copy;
};
const hex = (name: string, bytes: Buffer): string => createHash(name).update(bytes).digest('hex');

describe('sums of a file', () => {
  for (const [kind, file, checked] of [
    ['matroska-crc32', film, told(film).checksums[0]?.checked],
    ['ogg-crc32', sound, 5],
  ] as const) {
    it(`${kind}: all are right, in pieces of any size`, () => {
      for (const piece of [file.length, 1, 7, 64, 4_096]) {
        const { bytes, hashes, checksums } = told(file, piece);
        assert.deepEqual([bytes, hashes], [file.length, { sha256: hex('sha256', file), md5: hex('md5', file) }]);
        assert.deepEqual(checksums, [{ kind, checked, wrong: 0, first_wrong_byte: null }], `pieces of ${piece}`);
      }
      assert.ok(checked! >= 5, `${checked}`);
    });

    it(`${kind}: a bit that is turned is in a sum that is wrong, or in none`, () => {
      let [found, tried] = [0, 0];
      for (let at = 4; at < file.length; at += Math.ceil(file.length / 200)) {
        tried += 1;
        const { checksums, hashes } = told(turned(file, at), 1_000);
        assert.notEqual(hashes.sha256, hex('sha256', file));
        const [{ wrong, first_wrong_byte: byte } = { wrong: 0, first_wrong_byte: null }] = checksums;
        if (wrong === 0) continue;
        found += 1;
        assert.ok(byte! <= at, `${byte} is behind ${at}`);
      }
      assert.ok(found > tried * (kind === 'ogg-crc32' ? 0.95 : 0.5), `${found} of ${tried}`);
    });
  }

  for (const file of [film, sound])
    it(`${told(file).checksums[0]!.kind}: of a file that was cut off anywhere, the last is wrong`, () => {
      let borders = 0;
      for (let end = Math.ceil(file.length / 3); end < file.length; end += file === film ? 97 : 1) {
        const [whole, part] = [true, false].map((isWhole) => told(file.subarray(0, end), 1_000, isWhole).checksums[0]!);
        assert.equal(part!.wrong, 0, `at ${end}`);
        // Pages of Ogg do not say how many there are.
        if (file === sound && whole!.wrong === 0) borders += 1;
        else assert.deepEqual([whole!.wrong, whole!.first_wrong_byte! <= end], [1, true], `at ${end}`);
      }
      assert.equal(borders, file === film ? 0 : 3);
    });

  it('ogg-crc32: a page that is not where it should be is wrong once, and the next are right', () => {
    const [{ checked, wrong, first_wrong_byte: byte } = assert.fail()] = told(turned(sound, 128)).checksums;
    assert.deepEqual([checked, wrong, byte], [5, 1, 128]);
  });

  it('ogg-crc32: pages that are claimed at each few bytes are summed up to a bound', () => {
    const claims = Buffer.alloc(2 << 20, Buffer.concat([Buffer.from('OggS'), Buffer.alloc(5, 0xff)]));
    const [{ checked, wrong, first_wrong_byte: byte } = assert.fail()] = told(claims, 1 << 16).checksums;
    assert.deepEqual([checked, wrong, byte], [MOST_WRONG_PAGES, MOST_WRONG_PAGES, 0]);
  });

  it('of a file without checksums are its hashes', () => {
    assert.deepEqual(told(Buffer.from('RIFF....WAVE')).checksums, []);
    assert.deepEqual(fileSums([]).told(true), { bytes: 0, hashes: {}, checksums: [] });
  });
});
