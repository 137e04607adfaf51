import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { ResultBody } from '../../src/platform/bus/result_body.ts';
import { joinResult, unpackBody } from '../../src/platform/bus/packing.ts';
import { packBody, pieces, type RawBody, type RawToolResult } from '../../src/service/runner/output.ts';

const OF = { job: 'j', attempt: 1, epoch: 2, podUid: 'u' };
const tool = (output: Buffer | null, more: Partial<RawToolResult> = {}): RawToolResult => ({
  name: 'ffprobe',
  version: '7',
  success: true,
  durationMs: 1,
  usageMs: 1,
  exitCode: 0,
  signal: null,
  format: 'json',
  output,
  ...more,
});
const roundTrip = async (body: RawBody, redact = (text: string) => text): Promise<ResultBody> => {
  const packed = await packBody(body, redact, OF);
  assert.deepEqual(
    { ...packed.header, inline: '', sha256: '', size: 0, chunks: 0 },
    { protocol: 1, ...OF, encoding: 'zstd', inline: '', sha256: '', size: 0, chunks: 0 },
  );
  return unpackBody(joinResult(packed.header, packed.chunks), 1 << 30, packed.header.size);
};

describe('output of a result', function () {
  // Tens of megabytes are packed and unpacked.
  this.timeout(20_000);
  const lines = Buffer.from(
    Array.from({ length: 60_000 }, (_, index) => `"line ${index}": "ä\u{1f3ac}\\" ${'x'.repeat(index % 97)}",`).join(
      '\n',
    ),
  );
  const noLines = Buffer.from('é\u{1f3ac}'.repeat(2_000_000));
  const outputs: [string, Buffer][] = [
    ['only an empty text', Buffer.alloc(0)],
    ['a small text', Buffer.from('{"a":"ä\u{1f3ac}\\n"}\n')],
    ['a large text of lines', lines],
    ['a large text of one line, cut inside characters', noLines],
    ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0xc3, 0x28, 0xe2, 0x82])],
  ];
  for (const [what, output] of outputs) {
    it(`is unchanged: ${what}`, async () => {
      assert.equal([...pieces(output, (text) => text)].join(''), output.toString());
      const body = await roundTrip({
        tools: [tool(output), tool(null, { name: 'mediainfo', success: false, error: 'x', failure: 'failed' })],
        ioUsage: 7,
        source: { failure: 'source-cut', message: 'm' },
      });
      assert.equal(
        createHash('sha1')
          .update(body.tools[0]?.output ?? '')
          .digest('hex'),
        createHash('sha1').update(output.toString()).digest('hex'),
      );
      assert.deepEqual(
        [body.tools[1]?.output, body.tools[1]?.error, body.ioUsage, body.source?.message],
        [null, 'x', 7, 'm'],
      );
    });
  }

  it('is redacted at any position of a large text', async () => {
    const secret = 'http://127.0.0.1:40000/0123456789abcdef/ffprobe/a.mp4';
    const text = Array.from({ length: 80_000 }, (_, index) => `"${index}": "${secret}"`).join('\n');
    const body = await roundTrip({ tools: [tool(Buffer.from(text))], ioUsage: 0 }, (piece) =>
      piece.replaceAll(secret, 'REDACTED'),
    );
    assert.equal(body.tools[0]?.output, text.replaceAll(secret, 'REDACTED'));
  });

  const cut = 8 * 1024 * 1024;
  const wide = '\u00e9';
  for (const [what, lead] of [
    ['begins before', 10],
    ['ends at', 18],
    ['begins at', 0],
  ] as const) {
    it(`is redacted in an endless line if a secret ${what} the cut`, async () => {
      const secret = '://user:password@h';
      const before = cut - lead;
      const text = `${wide.repeat(1000)}${'x'.repeat(before - 2000)}${secret}${wide.repeat(100_000)}`;
      const body = await roundTrip({ tools: [tool(Buffer.from(text))], ioUsage: 0 }, (piece) =>
        piece.replaceAll(secret, 'REDACTED'),
      );
      assert.ok(body.tools[0]?.output === text.replace(secret, 'REDACTED'));
    });
  }

  it('with no tools, or several, is unchanged', async () => {
    assert.deepEqual(await roundTrip({ tools: [], ioUsage: 0 }), { tools: [], ioUsage: 0 });
    const body = await roundTrip({
      tools: [tool(Buffer.from('1')), tool(Buffer.from('2'), { name: 'mediainfo' })],
      ioUsage: 0,
    });
    assert.deepEqual(
      body.tools.map(({ name, output }) => [name, output]),
      [
        ['ffprobe', '1'],
        ['mediainfo', '2'],
      ],
    );
  });
});
