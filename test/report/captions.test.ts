/** Channels and services of captions, in packets as ffprobe prints them. */
import assert from 'node:assert/strict';
import { captionGatherer } from '../../src/media/report/captions.ts';
import { random } from '../../bench/report/random.ts';
import { heldBytes } from '../held.ts';

type Construct = [type: number, first: number, second: number];

/** With an odd number of ones, as CEA-608 has it. */
const odd = (byte: number): number =>
  ([...byte.toString(2)].filter((bit) => bit === '1').length % 2 === 0 ? 0x80 : 0) | byte;
const pair = (field: number, first: number, second: number): Construct => [field, odd(first), odd(second)];

/** A packet with the constructs, as the SEI of H.264 has them: with bytes that keep zeros apart. */
function packet(constructs: readonly Construct[], { flags = 0x40, valid = 4, escape = true } = {}): Buffer {
  const data = [
    flags | constructs.length,
    0xff,
    ...constructs.flatMap(([type, ...two]) => [0xf8 | valid | type, ...two]),
  ];
  const escaped: number[] = [];
  for (const byte of [...data, 0xff]) {
    if (escape && byte <= 3 && escaped.at(-1) === 0 && escaped.at(-2) === 0) escaped.push(3);
    escaped.push(byte);
  }
  const head = [0, 0, 0, 1, 6, 4, 0x29, 0xb5, 0, 0x31];
  return Buffer.from([...head, ...Buffer.from('GA94\x03', 'latin1'), ...escaped, 0x80, 0, 0, 0, 1, 0x65, 1, 2, 3]);
}

/** A service of CEA-708 with one block of data, in a packet of its own. */
function service(number: number, data: readonly number[], sequence = 0): Construct[] {
  const block = number < 7 ? [(number << 5) | data.length] : [0xe0 | data.length, number];
  const bytes = [...block, ...data];
  if (bytes.length % 2 === 0) bytes.push(0);
  const all = [(sequence << 6) | ((bytes.length + 1) / 2), ...bytes];
  return Array.from({ length: all.length / 2 }, (_, index): Construct => {
    return [index === 0 ? 3 : 2, all[index * 2]!, all[index * 2 + 1]!];
  });
}

function printed(packets: readonly (readonly [seconds: number | 'N/A', bytes: Buffer])[]): string {
  const dump = (bytes: Buffer): string =>
    Array.from({ length: Math.ceil(bytes.length / 16) }, (_, row) => {
      const hex = bytes
        .subarray(row * 16, row * 16 + 16)
        .toString('hex')
        .replace(/(.{4})/g, '$1 ')
        .trim();
      return `${(row * 16).toString(16).padStart(8, '0')}: ${hex.padEnd(40)} ................\n`;
    }).join('');
  return packets
    .map(([seconds, bytes]) => `[PACKET]\npts_time=${seconds}\ndata=\n${dump(bytes)}\n[/PACKET]\n`)
    .join('');
}

function told(text: string, piece = 1_000): ReturnType<ReturnType<typeof captionGatherer>['told']> {
  const gatherer = captionGatherer();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += piece) gatherer.push(bytes.subarray(at, at + piece));
  return gatherer.told();
}
const named = (text: string): string[] =>
  told(text).captions.map(({ kind, service: name, first_time: at }) => `${kind} ${name ?? '-'} ${at}`);

describe('captions in packets', () => {
  const ROWS: [what: string, packets: [number | 'N/A', Buffer][], captions: string[]][] = [
    ['resume caption loading of field 1', [[1, packet([pair(0, 0x14, 0x20)])]], ['cea-608 CC1 1']],
    ['the second channel of field 1', [[1, packet([pair(0, 0x1c, 0x25)])]], ['cea-608 CC2 1']],
    ['roll-up in field 2', [[1, packet([pair(1, 0x15, 0x26)])]], ['cea-608 CC3 1']],
    ['field 2 with the command of field 1', [[1, packet([pair(1, 0x1c, 0x29)])]], ['cea-608 CC4 1']],
    ['text mode', [[1, packet([pair(0, 0x14, 0x2a)])]], ['cea-608 T1 1']],
    ['only padding', [[1, packet([[0, 0x80, 0x80]])]], ['a53 - 1']],
    ['only the command that erases', [[1, packet([pair(0, 0x14, 0x2c)])]], ['a53 - 1']],
    ['letters without a mode', [[1, packet([pair(0, 0x41, 0x42)])]], ['a53 - 1']],
    ['bytes that are not valid', [[1, packet([pair(0, 0x14, 0x20)], { valid: 0 })]], ['a53 - 1']],
    ['data that are not to be used', [[1, packet([pair(0, 0x14, 0x20)], { flags: 0 })]], ['a53 - 1']],
    ['service 1', [[1, packet(service(1, [0x41, 0x42]))]], ['cea-708 1 1']],
    ['service 9, in an extended header', [[1, packet(service(9, [0x41]))]], ['cea-708 9 1']],
    [
      'a packet of a service over two pictures',
      [
        [1, packet(service(2, [0x41, 0x42, 0x43, 0x44]).slice(0, 1))],
        [1.1, packet(service(2, [0x41, 0x42, 0x43, 0x44]).slice(1))],
      ],
      ['cea-708 2 1.1'],
    ],
    ['a packet that begins in another picture', [[1, packet(service(2, [0x41, 0x42]).slice(1))]], ['a53 - 1']],
    ['data with three zeros', [[1, packet(service(1, [0, 0, 0, 1, 0, 0, 3]))]], ['cea-708 1 1']],
    [
      'pictures in another order than they are shown',
      [
        [2, packet([pair(0, 0x14, 0x20)])],
        [1, packet([pair(0, 0x14, 0x20)])],
      ],
      ['cea-608 CC1 1'],
    ],
    [
      'two of one picture',
      [[1, Buffer.concat([packet([pair(0, 0x14, 0x20)]), packet([pair(1, 0x15, 0x20)])])]],
      ['cea-608 CC1 1', 'cea-608 CC3 1'],
    ],
    ['a picture without a time', [['N/A', packet([pair(0, 0x14, 0x20)])]], []],
  ];
  for (const [what, packets, captions] of ROWS)
    it(what, () => {
      assert.deepEqual(named(printed(packets)), captions);
    });

  it('the pieces of what is printed do not matter, and MPEG-2 has no escapes', () => {
    const text = printed([[1, packet([pair(0, 0x14, 0x20), ...service(1, [0, 0, 1, 0])], { escape: false })]]);
    for (const piece of [1, 7, 64, 10_000]) assert.equal(told(text, piece).captions.length, 2);
  });

  it('the time that was looked at is from the first picture shown to the last', () => {
    assert.equal(
      told(
        printed([
          [3, packet([])],
          [1.5, packet([])],
          [2, packet([])],
        ]),
      ).seconds,
      1.5,
    );
  });

  it('whatever is printed, it ends, and names only what exists', () => {
    const { next } = random(20_261_126);
    const good = printed([[1, packet([pair(0, 0x14, 0x20), ...service(3, [1, 2, 3])])]]);
    for (let round = 0; round < 2_000; round++) {
      const bytes = Buffer.from(good.repeat(1 + (round % 3)));
      for (let change = 0; change < 1 + (round % 20); change++)
        bytes[Math.floor(next() * bytes.length)] = Math.floor(next() * 256);
      for (const { kind, service: name } of told(bytes.toString('latin1')).captions)
        assert.match(`${kind} ${name}`, /^(?:cea-608 (?:CC|T)[1-4]|cea-708 [1-9]\d?|a53 undefined)$/);
    }
  });

  it('a packet that is full of places for captions is read in part', () => {
    const place = packet(Array.from({ length: 31 }, () => pair(0, 0x14, 0x20)));
    const text = printed([[1, Buffer.concat([...Array.from({ length: 4 }, () => packet([])), place])]]);
    assert.deepEqual(named(text), ['a53 - 1']);
  });

  it('a packet without an end is held in part', () => {
    const line = `00000000: ${'0102 '.repeat(8)} ................\n`;
    const before = heldBytes('arrayBuffers');
    const gatherer = captionGatherer();
    gatherer.push(Buffer.from('[PACKET]\npts_time=1\n'));
    for (let times = 0; times < 200; times++) gatherer.push(Buffer.from(line.repeat(5_000)));
    gatherer.push(Buffer.from('x'.repeat(1_000_000)));
    assert.ok(heldBytes('arrayBuffers') - before < 16_000_000);
    assert.deepEqual(gatherer.told().captions, []);
  });
});
