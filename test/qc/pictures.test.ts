/** Pictures of content checks: their size, their file, and how they are shown. */
import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import { bytesIn, nearest, waveformPath } from '../../src/media/qc/drawn.ts';
import { MOST_PICTURE_BYTES, MOST_PICTURES, MOST_STORED_BYTES } from '../../src/media/qc/limits.ts';
import { pictureArgs, picturesIn, pictureSize } from '../../src/media/qc/pictures.ts';
import { QcPicturesSchema } from '../../src/media/qc/pictures_schema.ts';
import { PICTURES } from './reports.ts';

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const SIZE = { width: 160, height: 90 };
/** A comment, the size, and nothing to be seen. */
function jpegOf(bytes: number, { width, height } = SIZE): Buffer {
  const sized = [0xff, 0xc0, 0, 17, 8, height >> 8, height & 255, width >> 8, width & 255];
  const head = Buffer.from([0xff, 0xd8, 0xff, 0xfe, 0, 2, ...sized]);
  return Buffer.concat([head, Buffer.alloc(bytes - head.length - 2), Buffer.from([0xff, 0xd9])]);
}
const part = (tag: string, data: Buffer, ...before: Buffer[]): Buffer =>
  Buffer.concat([Buffer.from(tag), ...before, u32(data.length), data]);
const picture = (data: Buffer, ms = 0): Buffer => part('vidD', data, u32(ms));
const START = Buffer.from('\0\nSMJPEG\0\0\0\0\0\0\0\0', 'latin1');
const HEAD = Buffer.concat([
  START,
  part('_TXT', Buffer.from('a = b')),
  part('_VID', Buffer.alloc(12)),
  Buffer.from('HEND'),
]);
const file = (...parts: Buffer[]): Buffer => Buffer.concat([HEAD, ...parts]);
const atsIn = (bytes: Buffer): number[] => picturesIn(bytes, SIZE).map(({ at }) => at);

describe('content checks: pictures', () => {
  it('are read with their times', () => {
    const [first, second] = [jpegOf(100), jpegOf(200)];
    assert.deepEqual(picturesIn(file(picture(first), picture(second, 2_500), Buffer.from('DONE')), SIZE), [
      { at: 0, jpeg: first.toString('base64') },
      { at: 2.5, jpeg: second.toString('base64') },
    ]);
  });

  it('of a file that breaks off are those before that, wherever it does', () => {
    const whole = file(picture(jpegOf(30), 1_000), picture(jpegOf(20), 2_000));
    for (let to = 0; to <= whole.length; to += 1) {
      const complete = to < whole.length - 32 ? [] : to < whole.length ? [1] : [1, 2];
      assert.deepEqual(atsIn(whole.subarray(0, to)), complete, `${to} of ${whole.length}`);
    }
  });

  const good = picture(jpegOf(30), 7_000);
  for (const [what, bytes, expected] of [
    ['is no such file', Buffer.concat([Buffer.alloc(HEAD.length), good]), []],
    ['is empty', Buffer.alloc(0), []],
    ['has a part of another kind', file(part('sndD', jpegOf(30), u32(0)), good), []],
    ['has a part named as a member of every object', file(Buffer.from('toString'), good), []],
    ['has a length beyond its end', file(Buffer.from('vidD'), u32(1), u32(0xffffffff), jpegOf(30)), []],
    ['has a picture that is too large', file(picture(jpegOf(MOST_PICTURE_BYTES + 1)), good), [7]],
    ['has a picture without its first bytes', file(picture(jpegOf(30).subarray(1)), good), [7]],
    ['has a picture without its last bytes', file(picture(jpegOf(30).subarray(0, -1)), good), [7]],
    ['has a picture of another size', file(picture(jpegOf(30, { width: 65_000, height: 65_000 })), good), [7]],
    ['has a picture that tells no size', file(picture(Buffer.from('ffd8fffe0008000000000000ffd9', 'hex')), good), [7]],
    ['has an empty picture', file(picture(Buffer.alloc(0)), good), [7]],
  ] as const)
    it(`of a file that ${what} are ${expected.length}`, () => assert.deepEqual(atsIn(bytes), expected));

  it('are bounded in number and bytes, which the schema and the answer allow', () => {
    const list = picturesIn(file(...Array.from({ length: 100 }, () => picture(jpegOf(MOST_PICTURE_BYTES)))), SIZE);
    assert.equal(list.length, MOST_PICTURES);
    const peaks = Buffer.alloc(400).toString('base64');
    const audio = Array.from({ length: 8 }, (_, stream) => ({ stream, step: 0.1, peaks }));
    const most = { video: { ...PICTURES.video!, list }, audio };
    const isValid = new Ajv({ strict: false }).compile(QcPicturesSchema);
    assert.ok(isValid(most), JSON.stringify(isValid.errors));
    assert.ok(isValid(PICTURES), JSON.stringify(isValid.errors));
    assert.ok(JSON.stringify(most).length <= Math.min(200_000, MOST_STORED_BYTES), `${JSON.stringify(most).length}`);
  });

  for (const [size, expected] of [
    [
      [1920, 1080],
      [160, 90],
    ],
    [
      [1080, 1920],
      [90, 160],
    ],
    [
      [64, 48],
      [64, 48],
    ],
    [
      [1, 1],
      [2, 2],
    ],
    [
      [16_384, 2],
      [160, 2],
    ],
    [
      [0, 0],
      [2, 2],
    ],
  ] as const)
    it(`of ${size.join(' x ')} are ${expected.join(' x ')}`, () => {
      const { width, height } = pictureSize({ index: 0, type: 'video', declared: null, size: [...size, 8] });
      assert.deepEqual([width, height], expected);
    });

  it('are spread over the declared duration, else ten seconds apart', () => {
    const stepOf = (declared: number | null) =>
      /,([\d.]+)\)'/.exec(pictureArgs({ index: 0, type: 'video', declared, size: [64, 48, 8] }).join(' '))?.[1];
    assert.deepEqual([stepOf(240), stepOf(null), stepOf(0)], ['10.000000', '10.000000', '10.000000']);
    assert.equal(stepOf(2_400), '100.000000');
  });

  it('the nearest one is named for a finding', () => {
    assert.deepEqual(
      [0, 1.2, 1.3, 99].map((time) => nearest(PICTURES.video!, time).at),
      [0, 0, 2.5, 5],
    );
  });

  it('a waveform is an area around the middle', () => {
    const { peaks } = PICTURES.audio[0]!;
    assert.equal(waveformPath(bytesIn(peaks), 30, 10), 'M0 4.5h10v1h-10zM10 2.5h10v5h-10zM20 0h10v10h-10z');
    assert.equal(waveformPath(bytesIn(''), 30, 10), '');
  });
});
