import assert from 'node:assert/strict';
import { truncateSync } from 'node:fs';
import { newAuthority, newSigner } from './pki.ts';
import { C2paRig, programs, WHY_SKIPPED, type Checked } from './rig.ts';
import { sampleOf } from './samples.ts';

/** Wraps content into a manifest store box. */
function jumbf(content: Buffer, size = content.length + 8): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(size, 0);
  head.write('jumb', 4, 'latin1');
  return Buffer.concat([head, content]);
}

const C2PA_TYPE = Buffer.from('63327061001100108000 00aa00389b71'.replaceAll(' ', ''), 'hex');
function description(label = 'c2pa'): Buffer {
  const content = Buffer.concat([C2PA_TYPE, Buffer.from([3]), Buffer.from(`${label}\0`)]);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length + 8, 0);
  head.write('jumd', 4, 'latin1');
  return Buffer.concat([head, content]);
}

function wavWith(store: Buffer, declared = store.length): Buffer {
  const wav = sampleOf('WAV').bytes;
  const head = Buffer.alloc(8);
  head.write('C2PA', 0, 'latin1');
  head.writeUInt32LE(declared, 4);
  const out = Buffer.concat([wav, head, store, Buffer.alloc(store.length % 2)]);
  out.writeUInt32LE(out.length - 8, 4);
  return out;
}

/** Boxes nested to this depth, to exhaust a recursive parser. */
function nested(depth: number): Buffer {
  const box = description();
  const sizes: Buffer[] = [];
  let size = box.length + 8;
  for (let level = 0; level < depth; level++) {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(size, 0);
    head.write('jumb', 4, 'latin1');
    sizes.push(head, box);
    size += 8 + box.length;
  }
  // Outermost first.
  const pairs: Buffer[] = [];
  for (let level = depth - 1; level >= 0; level--) pairs.push(sizes[level * 2]!, sizes[level * 2 + 1]!);
  return Buffer.concat(pairs);
}

describe('C2PA check of hostile files', function () {
  this.timeout(120_000);
  if (!programs) {
    it.skip(`skipped: ${WHY_SKIPPED}`);
    return;
  }
  const rig = new C2paRig();
  let signed: Buffer;
  let config: string;
  before(async () => {
    const authority = await newAuthority('Root');
    [signed] = rig.sign([{ ...sampleOf('WAV'), signer: await newSigner(authority) }]) as [Buffer];
    config = rig.trusting(authority);
  });
  after(() => rig.close());

  function sound({ code, signal, stdout, stderr }: Checked, what: string): void {
    assert.equal(signal, null, `${what}: ended by ${signal}`);
    if (code === 0)
      assert.ok(
        [null, 'Invalid'].includes(JSON.parse(stdout).validation_state),
        `${what}: ${JSON.parse(stdout).validation_state}`,
      );
    else {
      assert.match(stderr, /^[^\n]+\n$/, `${what}: one line says what is wrong`);
      assert.equal(stdout, '', what);
    }
  }

  const files: [string, () => Buffer][] = [
    ['nothing at all', () => Buffer.alloc(0)],
    ['one byte', () => Buffer.from('R')],
    ['random bytes', () => Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 7919) & 255))],
    ['an HTML page', () => Buffer.from('<!doctype html><html><body>404</body></html>')],
    ['a playlist', () => Buffer.from('#EXTM3U\n#EXT-X-VERSION:3\n')],
    ['an archive', () => Buffer.from('PK\x03\x04aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'latin1')],
    ['an empty store', () => wavWith(Buffer.alloc(0))],
    ['a store of zeros', () => wavWith(Buffer.alloc(4096))],
    ['a store that is not a box', () => wavWith(Buffer.from('no box at all, only text'))],
    ['a box larger than the file', () => wavWith(jumbf(description(), 0x7fffffff))],
    ['a chunk larger than the file', () => wavWith(jumbf(description()), 0xfffffff0)],
    ['a box of size 0', () => wavWith(jumbf(description(), 0))],
    ['a box of size 1 and no larger size', () => wavWith(jumbf(description(), 1))],
    ['a box of size 7', () => wavWith(jumbf(description(), 7))],
    ['a store without manifests', () => wavWith(jumbf(description()))],
    ['boxes nested 100 deep', () => wavWith(nested(100))],
    ['boxes nested 100,000 deep', () => wavWith(nested(100_000))],
    [
      'the head of an MP4 whose first box has no end',
      () => Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isomiso2\xff\xff\xff\xffmoov', 'latin1'),
    ],
    [
      'an MP4 of boxes of size 0',
      () => Buffer.concat([Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isomiso2', 'latin1'), Buffer.alloc(4096)]),
    ],
    [
      'an MP4 whose C2PA box says 4 GB',
      () =>
        Buffer.concat([
          Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isomiso2', 'latin1'),
          Buffer.from('00000001757569640000000100000000d8fec3d61b0e483c92975828877ec481', 'hex'),
          Buffer.alloc(64),
        ]),
    ],
    [
      'a PNG whose chunk says 2 GB',
      () =>
        Buffer.concat([
          sampleOf('PNG').bytes.subarray(0, 33),
          Buffer.from('7fffffff63614258', 'hex'),
          Buffer.alloc(32),
        ]),
    ],
    [
      'a TIFF whose directory leads to itself',
      () => Buffer.from('49492a0008000000010000010400010000000100000008000000', 'hex'),
    ],
    [
      'an SVG of 20,000 open elements',
      () => Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${'<g>'.repeat(20_000)}`),
    ],
    [
      'an SVG with entities',
      () =>
        Buffer.from(
          `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa">${'bcdefghij'
            .split('')
            .map((name, index) => `<!ENTITY ${name} "${`&${'abcdefghij'[index]};`.repeat(10)}">`)
            .join('')}]><svg>&j;</svg>`,
        ),
    ],
    [
      'a PDF whose length leads to itself',
      () =>
        Buffer.from(
          '%PDF-1.7\n1 0 obj\n<</Length 1 0 R>>\nstream\n\nendstream\nendobj\nxref\n0 2\n0000000000 65535 f ' +
            '\n0000000009 00000 n \ntrailer\n<</Size 2/Root 1 0 R/Prev 9>>\nstartxref\n70\n%%EOF\n',
        ),
    ],
    [
      'a PDF of brackets',
      () =>
        Buffer.from(
          `%PDF-1.7\n1 0 obj\n${'['.repeat(50_000)}\nendobj\ntrailer\n<</Root 1 0 R>>\nstartxref\n9\n%%EOF\n`,
        ),
    ],
    [
      'an MP3 whose tag says 256 MB',
      () => Buffer.from('ID3\x04\0\0\x7f\x7f\x7f\x7fGEOB\x7f\x7f\x7f\x7f\0\0', 'latin1'),
    ],
  ];
  for (const [what, make] of files) {
    it(`ends with a result or an error for ${what}`, async () => sound(await rig.check(make(), config), what));
  }

  it('ends with a result or an error at any cut of a signed file', async () => {
    for (let length = 1; length < signed.length; length += Math.ceil(signed.length / 60))
      sound(await rig.check(signed.subarray(0, length), config), `cut at ${length}`);
  });

  it('reports that a file needs too much memory, instead of being killed', async () => {
    // Read completely by the library. A sparse JPEG of 400 MB, which takes no disk space.
    const path = rig.file(sampleOf('JPEG').bytes);
    truncateSync(path, 400 * 1024 * 1024);
    const { code, stderr, stdout } = await rig.check(path, config);
    assert.deepEqual([code, stdout], [3, '']);
    assert.equal(stderr, 'the check of this file needs more than the 512 MB of memory that it may take\n');
  });
});
