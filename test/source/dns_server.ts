import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { isIPv4 } from 'node:net';

/** A foreign name server. It answers over UDP and TCP as the test says, validly or not. */

export interface Question {
  name: string;
  type: 'A' | 'AAAA' | string;
  over: 'udp' | 'tcp';
  id: number;
}
export interface Answer {
  /** Addresses, or `[name, target]` for a CNAME. */
  records?: readonly (string | readonly [string, string])[];
  /** 2 SERVFAIL, 3 NXDOMAIN, 5 REFUSED */
  code?: number;
  truncated?: boolean;
  /** Replaces the id of the question. */
  id?: number;
  delayMs?: number;
}
export interface DnsServer {
  address: string;
  asked: Question[];
  close(): Promise<void>;
}

/** Undefined means no answer. Several answers are sent one after the other. */
export async function startDns(
  reply: (question: Question) => Answer | readonly Answer[] | undefined,
): Promise<DnsServer> {
  const asked: Question[] = [];
  const timers = new Set<NodeJS.Timeout>();
  const sockets = new Set<Socket>();
  const tell = (bytes: Buffer, over: Question['over'], send: (bytes: Buffer) => void): void => {
    const question = read(bytes, over);
    asked.push(question);
    for (const answer of [reply(question) ?? []].flat() as Answer[]) {
      const timer = setTimeout(() => {
        timers.delete(timer);
        send(encode(bytes, question, answer));
      }, answer.delayMs ?? 0);
      timers.add(timer);
    }
  };
  const tcp = createServer((socket) => {
    sockets.add(socket);
    let held = Buffer.alloc(0);
    socket
      .on('error', () => {})
      .on('close', () => sockets.delete(socket))
      .on('data', (bytes: Buffer) => {
        held = Buffer.concat([held, bytes]);
        for (
          let length = held.length < 2 ? Infinity : held.readUInt16BE(0);
          held.length >= length + 2;
          length = held.length < 2 ? Infinity : held.readUInt16BE(0)
        ) {
          tell(held.subarray(2, length + 2), 'tcp', (answer) => {
            const size = Buffer.alloc(2);
            size.writeUInt16BE(answer.length);
            if (!socket.destroyed) socket.write(Buffer.concat([size, answer]));
          });
          held = held.subarray(length + 2);
        }
      });
  }).listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4');
  udp.on('message', (bytes: Buffer, from: RemoteInfo) =>
    tell(bytes, 'udp', (answer) => udp.send(answer, from.port, from.address)),
  );
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');
  return {
    address: `127.0.0.1:${port}`,
    asked,
    async close() {
      for (const timer of timers) clearTimeout(timer);
      for (const socket of sockets) socket.destroy();
      udp.close();
      tcp.close();
      await Promise.all([once(udp, 'close'), once(tcp, 'close')]);
    },
  };
}

const types: Readonly<Record<number, string>> = { 1: 'A', 28: 'AAAA' };

function read(bytes: Buffer, over: Question['over']): Question {
  const labels: string[] = [];
  let at = 12;
  for (let length = bytes[at]!; length > 0; at += length + 1, length = bytes[at]!)
    labels.push(bytes.toString('latin1', at + 1, at + 1 + length));
  const type = bytes.readUInt16BE(at + 1);
  return { name: labels.join('.').toLowerCase(), type: types[type] ?? String(type), over, id: bytes.readUInt16BE(0) };
}

const nameOf = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ]);

function encode(
  request: Buffer,
  question: Question,
  { records = [], code = 0, truncated = false, id = question.id }: Answer,
): Buffer {
  const end = request.indexOf(0, 12) + 5;
  const head = Buffer.alloc(12);
  head.writeUInt16BE(id, 0);
  head.writeUInt16BE(0x8180 | (truncated ? 0x0200 : 0) | code, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(records.length, 6);
  return Buffer.concat([
    head,
    request.subarray(12, end),
    ...records.map((record) =>
      typeof record === 'string' ? addressOf(question.name, record) : encoded(record[0], 5, nameOf(record[1])),
    ),
  ]);
}

function addressOf(name: string, address: string): Buffer {
  if (isIPv4(address)) return encoded(name, 1, Buffer.from(address.split('.').map(Number)));
  const [left = '', right] = address.split('::');
  const groups = (text: string | undefined): string[] => (text === undefined || text === '' ? [] : text.split(':'));
  const all = [
    ...groups(left),
    ...Array.from({ length: right === undefined ? 0 : 8 - groups(left).length - groups(right).length }, () => '0'),
    ...groups(right),
  ];
  return encoded(name, 28, Buffer.from(all.flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 255])));
}

function encoded(name: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt32BE(60, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameOf(name), fixed, data]);
}
