import assert from 'node:assert/strict';
import { ChunkedBody } from '../../src/source/http/connection.ts';
import { SourceError } from '../../src/source/error.ts';
import { ResponseError } from '../../src/source/http/response_head.ts';

/** In pieces of this length. */
function decode(text: string, length: number): { data: string; rest: string; isComplete: boolean } {
  const body = new ChunkedBody();
  const bytes = Buffer.from(text, 'latin1');
  let data = '';
  let taken = 0;
  for (let at = 0; at < bytes.length && !body.isComplete; at += length)
    taken += body.take(bytes.subarray(at, at + length), (piece) => {
      data += piece.toString('latin1');
    });
  return { data, rest: text.slice(taken), isComplete: body.isComplete };
}

describe('body in chunks', () => {
  const right: [string, string, ReturnType<typeof decode>][] = [
    ['of two chunks', '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n', { data: 'abcde', rest: '', isComplete: true }],
    ['of none', '0\r\n\r\nHTTP', { data: '', rest: 'HTTP', isComplete: true }],
    ['with extensions', 'A;x=y;z\r\n0123456789\r\n00 \r\n\r\n', { data: '0123456789', rest: '', isComplete: true }],
    ['with trailers', '1\r\na\r\n0\r\nx: y\r\nz: 1\r\n\r\n', { data: 'a', rest: '', isComplete: true }],
    ['with line ends in its data', '4\r\n\r\n\r\n\r\n0\r\n\r\n', { data: '\r\n\r\n', rest: '', isComplete: true }],
    ['that breaks off', '5\r\nab', { data: 'ab', rest: '', isComplete: false }],
  ];
  for (const [title, text, expected] of right)
    it(`is read ${title}, in pieces of any length`, () => {
      for (let length = 1; length <= text.length; length++) {
        const { data, rest, isComplete } = decode(text, length);
        assert.deepEqual({ data, isComplete }, { data: expected.data, isComplete: expected.isComplete });
        if (length === text.length) assert.equal(rest, expected.rest);
      }
    });

  it('is passed on as one piece of all that is there, whatever its chunks', () => {
    const pieces: string[] = [];
    new ChunkedBody().take(Buffer.from('1\r\na\r\n'.repeat(1000)), (data) => pieces.push(data.toString()));
    assert.deepEqual(pieces, ['a'.repeat(1000)]);
  });

  const wrong: [string, string][] = [
    ['a size that is no number', 'x\r\n'],
    ['no size', '\r\n'],
    ['a negative size', '-1\r\n'],
    ['a size of too many digits', `${'f'.repeat(13)}\r\n`],
    ['a line that ends in LF alone', '1\na\r\n'],
    ['more data than its size', '1\r\nab\r\n'],
  ];
  for (const [title, text] of wrong)
    it(`cannot have ${title}`, () => {
      for (const length of [1, 7, text.length]) assert.throws(() => decode(text, length), ResponseError);
    });

  const framing: [title: string, text: string][] = [
    ['a size without an end', '0'.repeat(20_000)],
    ['an extension of more than 256 bytes', `1;x=${'y'.repeat(300)}\r\na\r\n0\r\n\r\n`],
    ['extensions of more than twice the data', `1;x=${'y'.repeat(200)}\r\na\r\n`.repeat(6000)],
    ['one byte in each of its chunks, and media', '1\r\na\r\n'.repeat(400_000)],
    ['a trailer without an end', `0\r\n${'x'.repeat(20_000)}`],
    ['endless trailers', `0\r\n${'x: y\r\n'.repeat(10_000)}`],
  ];
  for (const [title, text] of framing)
    it(`cannot have ${title}`, () => {
      for (const length of [700, 65_536])
        assert.throws(
          () => decode(text, length),
          (error) => error instanceof SourceError && error.message === 'the host sends more framing than data',
        );
    });

  for (const [title, text, length] of [
    [
      'an extension of 250 bytes in each chunk',
      `${`200;${'x'.repeat(250)}\r\n${'a'.repeat(512)}\r\n`.repeat(4000)}`,
      512 * 4000,
    ],
    ['one byte in each chunk of a playlist', '1\r\na\r\n'.repeat(200_000), 200_000],
    ['three bytes in each chunk', '3\r\nabc\r\n'.repeat(400_000), 1_200_000],
  ] as const)
    it(`may have ${title}`, () => {
      assert.equal(decode(`${text}0\r\n\r\n`, 65_536).data.length, length);
    });
});
