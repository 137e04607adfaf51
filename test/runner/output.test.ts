import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { joinResult } from '../../src/platform/bus/packing.ts';
import { readResult } from '../../src/service/controller/collect/read_result.ts';
import { packResult, pieces, type RawBody, type RawToolResult } from '../../src/service/runner/output.ts';
import { unpackText, type TextBody } from '../result/text_body.ts';

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
const roundTrip = async (body: RawBody, redact = (text: string) => text): Promise<TextBody> => {
  const packed = await packResult(body, redact, OF);
  assert.deepEqual(
    { ...packed.header, inline: '', sha256: '', size: 0, chunks: 0 },
    { protocol: 1, ...OF, encoding: 'zstd', inline: '', sha256: '', size: 0, chunks: 0 },
  );
  const joined = joinResult(packed.header, packed.chunks);
  // A collector takes it.
  await readResult(joined, packed.header.size);
  return unpackText(joined);
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

  const printed: [string, string, 'json' | 'text'][] = [
    ['short JSON', '{"a":1}\n', 'json'],
    ['short text in place of JSON', '{"a":', 'text'],
    ['nothing but space', ' \n', 'text'],
    ['long JSON', JSON.stringify({ a: 'é'.repeat(300_000) }), 'json'],
    ['long text in place of JSON', `{"a":"${'x'.repeat(600_000)}`, 'text'],
    ['JSON that is long once an address is restored', JSON.stringify(Array(20_000).fill('ADDRESS')), 'json'],
    ['JSON that is short once an address is restored', JSON.stringify(Array(20_000).fill('A'.repeat(12))), 'json'],
    ['JSON that is none once a secret is removed', '{"a":"SECRET"}', 'text'],
  ];
  for (const [what, output, format] of printed) {
    it(`is described as ${format}: ${what}`, async () => {
      const redact = (text: string) =>
        text.replaceAll('ADDRESS', 'https://a.example/').replaceAll('A'.repeat(12), 'x').replaceAll('SECRET', '"');
      const failed = { success: false, failure: 'failed', error: 'x' } as const;
      const { tools } = await roundTrip({ tools: [tool(Buffer.from(output), failed)], ioUsage: 0 }, redact);
      assert.equal(tools[0]?.format, format);
      assert.ok(tools[0].output === redact(output));
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
