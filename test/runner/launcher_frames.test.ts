import assert from 'node:assert/strict';
import {
  encodeRequest,
  encodeStart,
  type Event,
  frameReader,
  type Limits,
} from '../../src/service/runner/launcher_frames.ts';

const frame = (type: number, ...parts: (number | Buffer)[]): Buffer => {
  const payload = Buffer.concat(
    parts.map((part) => {
      if (typeof part !== 'number') return part;
      const bytes = Buffer.alloc(4);
      bytes.writeInt32BE(part);
      return bytes;
    }),
  );
  const head = Buffer.alloc(5);
  head.writeUInt32BE(payload.length + 1);
  head[4] = type;
  return Buffer.concat([head, payload]);
};
const big = Buffer.from(Array.from({ length: 65_536 }, (_, index) => index & 255));
const stream = Buffer.concat([
  frame(17, 1, Buffer.from('abc')),
  frame(17, 1, big),
  frame(18, 2, Buffer.from('x')),
  frame(19, 1, -1, 9, 1, 0, 8),
  frame(20, 2, 2, 1),
  frame(21, 0, 2),
  frame(21, 1, 9),
  frame(21, 1, 3),
]);

/** Joins outputs of the same id and kind that follow each other. */
function joined(events: Event[]): unknown[] {
  const out: { parts: Buffer[]; event: Event }[] = [];
  for (const event of events) {
    const last = out.at(-1);
    if (!('bytes' in event)) out.push({ parts: [], event });
    else if (last && 'bytes' in last.event && last.event.type === event.type && last.event.id === event.id)
      last.parts.push(event.bytes);
    else out.push({ parts: [event.bytes], event });
  }
  return out.map(({ parts, event }) => ('bytes' in event ? { ...event, bytes: Buffer.concat(parts) } : event));
}

const EXPECTED = [
  { type: 'out', id: 1, bytes: Buffer.concat([Buffer.from('abc'), big]) },
  { type: 'err', id: 2, bytes: Buffer.from('x') },
  {
    type: 'exit',
    id: 1,
    exit: {
      code: null,
      signal: 9,
      timedOut: true,
      capped: false,
      killed: false,
      wallUs: 8,
    },
  },
  { type: 'failed', id: 2, errno: 2, stage: 1 },
  { type: 'clean', clean: false, wall: 'filtered' },
  { type: 'clean', clean: true, wall: 'none' },
  { type: 'clean', clean: true, wall: 'watched' },
];

describe('frames of the launcher', () => {
  for (const size of [1, 2, 3, 4, 5, 7, 9, 10, 64, 4096, 65_536, stream.length]) {
    it(`parse to the same events in pieces of ${size} bytes`, () => {
      const events: Event[] = [];
      const read = frameReader((event) => events.push(event));
      for (let at = 0; at < stream.length; at += size) read(stream.subarray(at, at + size));
      assert.deepEqual(joined(events), EXPECTED);
    });
  }

  for (const [what, bytes] of [
    ['a frame without a length', frame(21)],
    ['a length over the maximum', Buffer.from('ffffffff15', 'hex')],
    ['an unknown kind', frame(99, 1)],
    ['an event that is too long', frame(21, Buffer.alloc(300))],
  ] as const) {
    it(`refuses ${what}`, () => assert.throws(() => frameReader(() => {})(bytes), RangeError));
  }

  const limits: Limits = {
    wallMs: 1,
    cpuSeconds: 1,
    dataBytes: 0,
    fileBytes: 0,
    processes: 0,
    files: 0,
    stdoutBytes: 1,
    stderrBytes: 1,
  };

  it('refuses an argument with a NUL', () => {
    assert.throws(() => encodeStart(1, { argv: ['/bin/true', 'a\0-i'], env: {}, limits }), TypeError);
    assert.equal(
      encodeStart(1, { argv: ['/bin/true', ''], env: { A: 'b' }, limits }).readUInt32BE(0),
      1 + 64 + 10 + 1 + 4,
    );
    assert.equal(encodeRequest(3).toString('hex'), '0000000103');
  });
});
