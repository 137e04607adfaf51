/** Decode errors: from lines as ffprobe prints them. */
import assert from 'node:assert/strict';
import { errorGatherer, type ErrorStream } from '../../src/media/qc/decode_errors.ts';
import { MOST_ERRORS } from '../../src/media/qc/limits.ts';

const VIDEO: ErrorStream = { index: 0, type: 'video', codec: 'h264', interlaced: false };
const AUDIO: ErrorStream = { index: 1, type: 'audio', codec: 'aac', interlaced: false };
const LOG = 'log|level=16|message=[h264 @ 0x55d0c8a0] error while decoding MB 5 6, bytestream -7\\n';

const packet = (stream: number, time: number | string, pos: number | string, flags = 'K__'): string =>
  `packet|stream_index=${stream}|pts_time=${time}|dts_time=${time}|pos=${pos}|flags=${flags}\n`;
const frame = (stream: number, pos: number | string, log = ''): string =>
  `frame|stream_index=${stream}|pkt_pos=${pos}${log === '' ? '' : `|${log}\n`}\n`;

function told(text: string, { stream = VIDEO, whole = true, piece = text.length } = {}) {
  const gathered = errorGatherer([VIDEO, { ...AUDIO, index: 2 }, stream]);
  for (let at = 0; at < text.length; at += piece) gathered.push(Buffer.from(text.slice(at, at + piece)));
  return gathered.told(stream.index, whole);
}
const listed = (text: string, more = {}) =>
  told(text, more).errors.list.map(({ at, byte, what }) => [at, byte, what] as const);

describe('decode errors', () => {
  it('are of the packet that was decoded, not of the picture that came of it', () => {
    const text =
      packet(0, 0, 100) +
      packet(0, 0.04, 200) +
      frame(0, 100, LOG) +
      packet(0, 0.08, 300, '___') +
      frame(0, 200) +
      frame(0, 300);
    assert.deepEqual(listed(text), [[0.04, 200, 'error while decoding MB 5 6, bytestream -7']]);
    for (const piece of [1, 2, 7]) assert.deepEqual(told(text, { piece }), told(text));
  });

  it('are read of versions that print no sign before the log', () => {
    const text = packet(0, 0, 980) + frame(0, `980${LOG}\n`) + packet(0, 1, 999) + frame(0, 999);
    assert.deepEqual(listed(text), [[0, 980, 'error while decoding MB 5 6, bytestream -7']]);
  });

  it('are counted once for each packet', () => {
    const { errors, packets, frames } = told(
      packet(0, 0, 1) + frame(0, 1, `${LOG}\n${LOG}`) + packet(0, 1, 2) + frame(0, 2),
    );
    assert.deepEqual([errors.count, packets, frames], [1, 2, 2]);
  });

  it('are packets of which no picture comes, once all have come', () => {
    const text = packet(0, 0, 1) + packet(0, 1, 2, '___') + packet(0, 2, 3, '___') + frame(0, 1) + frame(0, 3);
    assert.deepEqual(listed(text), [[1, 2, 'not decoded']]);
    assert.deepEqual(listed(text, { whole: false }), []);
  });

  for (const [what, stream] of [
    ['interlaced HEVC, of which each field is a picture', { ...VIDEO, codec: 'hevc', interlaced: true }],
    ['AV1, whose hidden pictures are in the packet of a shown one', { ...VIDEO, codec: 'av1' }],
  ] as const)
    it(`are also those of ${what}`, () => {
      const text = packet(0, 0, 1) + packet(0, 1, 2, '___') + packet(0, 2, 3, '___') + frame(0, 1) + frame(0, 3);
      assert.deepEqual(listed(text, { stream }), [[1, 2, 'not decoded']]);
    });

  it('are packets that the container marks', () => {
    assert.deepEqual(listed(packet(0, 3, 4, 'K_C') + frame(0, 4)), [[3, 4, 'the container marks it as corrupt']]);
  });

  for (const [what, text, stream] of [
    ['pictures before the first key frame', packet(0, 0, 1, '___') + packet(0, 1, 2) + frame(0, 2)],
    ['pictures that are shown before it', packet(0, 1, 1) + packet(0, 0.5, 2, '___') + frame(0, 1, LOG)],
    ['packets that are not to be shown', packet(0, 0, 1) + packet(0, 1, 2, '_D_') + frame(0, 1)],
    [
      'packets of interlaced H.264',
      packet(0, 0, 1) + packet(0, 0, 2, '___') + frame(0, 1),
      { ...VIDEO, interlaced: true },
    ],
    ['hidden pictures of VP8', packet(0, 0, 1) + packet(0, 0, 2, '___') + frame(0, 1), { ...VIDEO, codec: 'vp8' }],
    ['sound that prepares the decoder', packet(1, 0, 1) + packet(1, 1, 2) + frame(1, 2), AUDIO],
    ['padding at the end of sound', packet(1, 0, 1) + frame(1, 1) + packet(1, 1, 2), AUDIO],
    ['packets of one page', packet(1, 0, 1) + frame(1, 1) + packet(1, 1, 1) + frame(1, 1), AUDIO],
    ['other streams', packet(0, 0, 1) + frame(0, 1) + packet(7, 0, 1, '__C') + frame(7, 1, LOG)],
    ['nothing', ''],
  ] as const)
    it(`are not ${what}`, () => assert.equal(told(text, stream ? { stream } : {}).errors.count, 0));

  it('of sound are packets of which nothing comes before the next', () => {
    const text = packet(1, 0, 1) + frame(1, 1) + packet(1, 1, 2) + packet(1, 2, 3) + frame(1, 3) + packet(1, 3, 4);
    assert.deepEqual(listed(text, { stream: AUDIO }), [[1, 2, 'not decoded']]);
  });

  it('of a packet in the middle of what carries it have the byte of that', () => {
    const text = packet(1, 0, 188) + frame(1, 188) + packet(1, 1, 'N/A') + frame(1, 'N/A', LOG) + packet(1, 2, 'N/A');
    assert.deepEqual(listed(text, { stream: AUDIO }), [[1, 188, 'error while decoding MB 5 6, bytestream -7']]);
  });

  it('have no time or byte where none is printed, and messages of one line', () => {
    const log = 'log|level=16|message=[a @ 0x1] [b @ 0x2] so\\|log\\|\u0007bad';
    assert.deepEqual(listed(packet(0, 'N/A', 'N/A') + frame(0, 'N/A', log)), [[null, null, 'so/log/ bad']]);
  });

  it('are listed up to a bound, and lines of any length are read', () => {
    const text = Array.from({ length: MOST_ERRORS + 5 }, (_, at) => packet(0, at, at + 1) + frame(0, at + 1, LOG)).join(
      '',
    );
    const { errors } = told(`${'x'.repeat(100_000)}\n${text}`);
    assert.deepEqual([errors.count, errors.list.length, errors.more], [MOST_ERRORS + 5, MOST_ERRORS, 5]);
  });
});
