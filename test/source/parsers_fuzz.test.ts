import assert from 'node:assert/strict';
import { rewriteDash } from '../../src/source/playlist/dash.ts';
import { SourceError } from '../../src/source/error.ts';
import { tagsIn } from '../../src/source/http/object_tags.ts';
import { ChunkedBody } from '../../src/source/http/connection.ts';
import { headEnd, parseHead, ResponseError } from '../../src/source/http/response_head.ts';
import { encodeAmf } from '../../src/source/protocols/rtmp/amf0.ts';
import { ChunkReader, encodeMessage, RtmpProtocolError } from '../../src/source/protocols/rtmp/chunks.ts';
import { encodeRtsp, RtspReader } from '../../src/source/protocols/rtsp/message.ts';
import { keysOf, makeKeys, openKeys } from '../../src/source/protocols/srt/keys.ts';
import { PacketOrder } from '../../src/source/protocols/srt/order.ts';
import {
  CONTROL,
  controlPacket,
  encodeHandshake,
  readHandshake,
  readPacket,
  seqDistance,
} from '../../src/source/protocols/srt/packet.ts';
import { mutations, seeded, type Random } from '../fuzz/media/mutate.ts';

/** Damaged input ends in the parser's own error, with output no larger than the input. `SEED` repeats a run. */

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32));
const rounds = Number(process.env['ROUNDS'] ?? 300);
const damages = Object.values(mutations);

function damaged(bytes: Buffer, random: Random): Buffer {
  const damage = damages[Math.floor(random() * damages.length)]!;
  const result = damage(Buffer.from(bytes), random, Buffer.from(bytes));
  return result.subarray(0, 1 << 16);
}

function* cutUp(bytes: Buffer, random: Random): Generator<Buffer> {
  for (let at = 0; at < bytes.length;) {
    const end = at + 1 + Math.floor(random() * (random() < 0.5 ? 5 : 2000));
    yield bytes.subarray(at, end);
    at = end;
  }
}

/** Any error other than the known ones is a failure. */
function tried(
  known: (error: unknown) => boolean,
  sample: Buffer,
  parse: (bytes: Buffer, random: Random) => void,
): void {
  const random = seeded(seed);
  for (let round = 0; round < rounds; round++) {
    const bytes = damaged(sample, random);
    try {
      parse(bytes, random);
    } catch (error) {
      if (!known(error))
        throw new Error(`round ${round}: ${bytes.subarray(0, 200).toString('base64')}`, { cause: error });
    }
  }
}

describe(`sources: damaged input (SEED=${seed})`, function () {
  this.timeout(60_000);

  it('DASH: a manifest ends in a SourceError, or grows by its addresses alone', () => {
    const sample = Buffer.from(`<?xml version="1.0"?><MPD xmlns:xlink="http://www.w3.org/1999/xlink">
      <!-- <BaseURL>x</BaseURL> --><BaseURL>http://a.example/b/</BaseURL>
      <Period xlink:href="p.xml?a=1&amp;b=2"><AdaptationSet>
      <SegmentTemplate media="$Number$.m4s" initialization='../i.mp4'/>
      <SegmentList>${'<SegmentURL media="s.mp4" mediaRange="0-1"/>'.repeat(20)}</SegmentList>
      <BaseURL><![CDATA[c/]]></BaseURL></AdaptationSet></Period></MPD>`);
    const place = { requested: 'http://host/b/m.mpd', final: 'http://host/b/m.mpd' };
    tried(
      (error) => error instanceof SourceError,
      sample,
      (bytes) => {
        const written = rewriteDash(bytes.toString('latin1'), place, {
          near: '../../../',
          full: 'http://127.0.0.1:1/x/',
        });
        // An address of one letter becomes one below the proxy, at most 100 characters longer.
        assert.ok(written.length <= 100 * (bytes.length + 1), `${written.length} characters of ${bytes.length}`);
      },
    );
  });

  it('S3: tags of an object end in a SourceError, or are parts of the answer, no two of the same', () => {
    const tags = '<Tag><Key>a&amp;b</Key><Value><![CDATA[c]]></Value></Tag><Tag><Value/><Key>d&#x1f600;</Key></Tag>';
    tried(
      (error) => error instanceof SourceError,
      Buffer.from(`<?xml version="1.0"?><Tagging xmlns="x"><TagSet>${tags.repeat(20)}</TagSet></Tagging>`),
      (bytes) => {
        const text = bytes.toString('latin1');
        const found = [...tagsIn(text).values()];
        assert.ok(found.every((tag) => text.includes(tag)));
        assert.ok(found.join('').length <= text.length);
      },
    );
  });

  it('HTTP: the end of a head is the same in pieces of any length', () => {
    const ending = (pieces: Iterable<Buffer>): number | string | undefined => {
      let held = Buffer.alloc(0);
      try {
        for (const piece of pieces) {
          const before = held.length;
          held = Buffer.concat([held, piece]);
          const end = headEnd(held, before);
          if (end !== undefined) return end;
        }
        return undefined;
      } catch (error) {
        assert.ok(error instanceof ResponseError);
        return error.message;
      }
    };
    tried(
      () => false,
      Buffer.from('HTTP/1.1 206 Partial Content\r\ncontent-length: 5\r\netag: "x"\r\n\r\nabcde'),
      (bytes, random) => assert.equal(ending(cutUp(bytes, random)), ending([bytes])),
    );
  });

  it('HTTP: heads and chunks end in a ResponseError, and bodies are no larger than the input', () => {
    const fields = ['content-length: 5', 'transfer-encoding: chunked', 'keep-alive: timeout=5', 'connection: close'];
    for (const field of fields)
      tried(
        (error) => error instanceof ResponseError,
        Buffer.from(`HTTP/1.1 206 Partial Content\r\n${field}\r\ncontent-range: bytes 0-4/9\r\netag: "x"`),
        (bytes) => {
          const { status, body } = parseHead(bytes.toString('latin1'));
          assert.ok(status >= 0 && status < 1000);
          assert.ok(typeof body === 'string' || (Number.isSafeInteger(body) && body >= 0));
        },
      );
    tried(
      (error) => error instanceof ResponseError,
      Buffer.from(`${'10;a=b\r\n0123456789abcdef\r\n'.repeat(8)}0\r\nx: y\r\n\r\n`),
      (bytes, random) => {
        const body = new ChunkedBody();
        let length = 0;
        let taken = 0;
        for (const piece of cutUp(bytes, random)) {
          taken += body.take(piece, (data) => {
            length += data.length;
          });
          if (body.isComplete) break;
        }
        assert.ok(length <= taken && taken <= bytes.length);
      },
    );
  });

  it('RTMP: chunks end in a protocol error, and bodies are no larger than the input', () => {
    const sample = Buffer.concat([
      encodeMessage(3, 20, 0, encodeAmf('_result', 1, {}, { code: 'NetConnection.Connect.Success' })),
      encodeMessage(2, 1, 0, Buffer.from([0, 0, 1, 0])),
      encodeMessage(5, 9, 1, Buffer.alloc(3000, 1)),
      encodeMessage(6, 8, 1, Buffer.alloc(40)),
      encodeMessage(4, 18, 1, encodeAmf('onMetaData', { width: 1 })),
    ]);
    tried(
      (error) => error instanceof RtmpProtocolError,
      sample,
      (bytes, random) => {
        const reader = new ChunkReader();
        reader.chunkSize = 1 + Math.floor(random() * 200);
        let messages = 0;
        let given = 0;
        for (const piece of cutUp(bytes, random)) {
          for (const { body } of reader.read(piece)) {
            messages++;
            given += body.length;
          }
        }
        assert.ok(messages + given <= bytes.length, `${messages} messages with ${given} bytes of ${bytes.length}`);
      },
    );
  });

  it('RTSP: messages end in a RangeError, which the relay handles, and are no larger than the input', () => {
    const frame = Buffer.concat([Buffer.from([0x24, 0, 0, 100]), Buffer.alloc(100)]);
    const sample = Buffer.concat([
      encodeRtsp(
        'RTSP/1.0 200 OK',
        [
          ['CSeq', '1'],
          ['Content-Type', 'application/sdp'],
        ],
        Buffer.from('v=0\r\nm=video 0 RTP/AVP 96\r\n'.repeat(10)),
      ),
      frame,
      frame,
      Buffer.from('\r\n'),
      encodeRtsp('OPTIONS * RTSP/1.0', [
        ['CSeq', '2'],
        ['X', 'folded'],
      ]),
      frame,
      encodeRtsp('RTSP/1.0 404 Not Found', [['CSeq', '3']]),
    ]);
    tried(
      (error) => error instanceof RangeError,
      sample,
      (bytes, random) => {
        const reader = new RtspReader();
        let given = 0;
        for (const piece of cutUp(bytes, random)) {
          for (const item of reader.read(piece))
            given += item.kind === 'frame' ? item.raw.length : item.start.length + item.body.length;
        }
        assert.ok(given <= bytes.length, `${given} bytes of ${bytes.length}`);
      },
    );
  });

  it('SRT: packets, handshakes and keys are read or refused without an exception', async () => {
    const keyOf = keysOf('a good passphrase');
    const { message } = await makeKeys(keyOf, 16);
    const shake = {
      version: 5,
      encryption: 2,
      extensionField: 7,
      seq: 1,
      mtu: 1500,
      window: 8192,
      type: 0xffffffff,
      socket: 7,
      cookie: 9,
    };
    const body = encodeHandshake({
      ...shake,
      extensions: [
        { type: 4, body: message },
        { type: 5, body: Buffer.from('abcd') },
      ],
    });
    const opened: Promise<unknown>[] = [];
    const none = (): boolean => false;
    tried(none, controlPacket(CONTROL.handshake, { time: 1, peer: 0, body }), (bytes) => {
      const packet = readPacket(bytes);
      const read = packet?.kind === 'control' ? readHandshake(packet.body) : undefined;
      const given = (read?.extensions ?? []).reduce((sum, extension) => sum + 4 + extension.body.length, 0);
      assert.ok(given <= bytes.length);
    });
    tried(none, message, (bytes) => void opened.push(openKeys(keyOf, bytes)));
    await Promise.all(opened);
  });

  it('SRT: packets come out once and in order, for any sequence numbers', () => {
    const random = seeded(seed);
    const order = new PacketOrder<number>(0x7fffff00);
    let last: number | undefined;
    let came = 0;
    let went = 0;
    const check = (ready: readonly number[]): void => {
      for (const seq of ready) {
        went++;
        // A number far ahead restarts the stream.
        if (last !== undefined && Math.abs(seqDistance(seq, last)) <= 8192)
          assert.ok(seqDistance(seq, last) > 0, `${seq} after ${last}`);
        last = seq;
      }
    };
    for (let i = 0; i < 20 * rounds; i++) {
      const seq = (order.next + Math.floor((random() - 0.2) * (random() < 0.01 ? 20_000 : 300))) & 0x7fffffff;
      if (random() < 0.05) check(order.skip(seq));
      else {
        came++;
        check(order.add(seq, seq).ready);
      }
    }
    assert.ok(went <= came, `${went} of ${came}`);
  });
});
