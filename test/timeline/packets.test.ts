import assert from 'node:assert/strict';
import { packetIn, packetReader, streamIn, type Packet, type StreamLine } from '../../src/media/timeline/packets.ts';

const packet = (change: Partial<Packet> = {}): Packet => ({
  stream: 0,
  pts: 0,
  dts: -0.08,
  duration: 0.04,
  bytes: 1042,
  key: true,
  ...change,
});

describe('a line of the packet list', () => {
  for (const [what, line, expected] of [
    ['of a key frame', 'packet,0,0.000000,-0.080000,0.040000,1042,K__', packet()],
    ['of another frame', 'packet,1,0.000000,-0.080000,0.040000,1042,___', packet({ stream: 1, key: false })],
    ['of an old version', 'packet,0,0.000000,-0.080000,0.040000,1042,K_', packet()],
    ['of a discarded frame with side data', 'packet,0,0.000000,-0.080000,0.040000,1042,KD_,Skip Samples,1', packet()],
    ['without times', 'packet,0,N/A,N/A,N/A,1042,K__', packet({ pts: null, dts: null, duration: null })],
    ['without a size', 'packet,0,0.000000,-0.080000,0.040000,N/A,K__', packet({ bytes: 0 })],
    ['with a time out of range', 'packet,0,1e300,99999999999,0.040000,1042,K__', packet({ pts: null, dts: null })],
    [
      'with other numbers',
      'packet,0,0x10,Infinity,NaN,1.5,K__',
      packet({ pts: null, dts: null, duration: null, bytes: 0 }),
    ],
    ['that is cut', 'packet,0,0.00', { ...packet({ pts: 0, dts: null, duration: null, bytes: 0 }), key: false }],
    ['of no stream', 'packet,,0.000000,-0.080000,0.040000,1042,K__', undefined],
    ['of a negative stream', 'packet,-1,0.000000,-0.080000,0.040000,1042,K__', undefined],
    ['of something else', 'stream,0,h264,video', undefined],
    ['that is empty', '', undefined],
  ] as const) {
    it(what, () => assert.deepEqual(packetIn(line), expected));
  }
});

describe('a line of the list of streams', () => {
  for (const [what, line, expected] of [
    ['of a video stream', 'stream,0,h264,video', { index: 0, codec: 'h264', type: 'video' }],
    ['of an unknown codec', 'stream,7,unknown,data', { index: 7, codec: 'unknown', type: 'data' }],
    ['with names that are none', 'stream,1,"<script>",Vidéo', { index: 1, codec: null, type: null }],
    ['without names', 'stream,1', { index: 1, codec: null, type: null }],
    ['of no number', 'stream,x,h264,video', undefined],
    ['of a packet', 'packet,0,0.000000', undefined],
  ] as const) {
    it(what, () => assert.deepEqual(streamIn(line), expected));
  }
});

describe('the packet list', () => {
  function read(chunks: Buffer[]): { packets: Packet[]; streams: StreamLine[] } {
    const [packets, streams]: [Packet[], StreamLine[]] = [[], []];
    const reader = packetReader(
      (one) => packets.push(one),
      (one) => streams.push(one),
    );
    for (const chunk of chunks) reader.push(chunk);
    reader.end();
    return { packets, streams };
  }
  const text = Buffer.from(
    'packet,0,0.000000,0.000000,0.040000,10,K__\r\npacket,0,0.040000,0.040000,0.040000,5,___\n\nstream,0,h264,video',
  );

  it('is the same however it is cut', () => {
    const whole = read([text]);
    assert.deepEqual([whole.packets.length, whole.streams.length], [2, 1]);
    for (let size = 1; size < 50; size++) {
      const chunks: Buffer[] = [];
      for (let at = 0; at < text.length; at += size) chunks.push(text.subarray(at, at + size));
      assert.deepEqual(read(chunks), whole, `chunks of ${size} bytes`);
    }
  });

  it('a line without an end is not held, and the line after it is read', () => {
    const chunks = Array.from({ length: 1_000 }, () => Buffer.alloc(10_000, 'packet,0,'));
    const { packets } = read([...chunks, Buffer.from('\npacket,0,1.0,1.0,1.0,7,K__\n')]);
    assert.deepEqual(
      packets.map(({ bytes }) => bytes),
      [7],
    );
  });
});
