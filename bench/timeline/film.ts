/** A film of any length: the packets of a short one again and again, as FLV. Needs no encoder. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

interface Sample {
  isVideo: boolean;
  isKey: boolean;
  /** Milliseconds. */
  dts: number;
  pts: number;
  bytes: Buffer;
}

interface ListedPacket {
  stream_index: number;
  pts_time: string;
  dts_time: string;
  size: string;
  pos: string;
  flags: string;
}

function samplesOf(ffprobe: string, file: string): Sample[] {
  const content = readFileSync(file);
  const listed = execFileSync(ffprobe, ['-v', 'error', '-show_packets', '-of', 'json', file], { maxBuffer: 2 ** 28 });
  const { packets } = JSON.parse(listed.toString()) as { packets: ListedPacket[] };
  return packets
    .filter(({ dts_time: time }) => Number(time) >= 0)
    .map(({ stream_index: stream, pts_time: pts, dts_time: dts, size, pos, flags }) => ({
      isVideo: stream === 0,
      isKey: flags.startsWith('K'),
      dts: Math.round(Number(dts) * 1000),
      pts: Math.round(Number(pts) * 1000),
      bytes: content.subarray(Number(pos), Number(pos) + Number(size)),
    }));
}

/** What decoders are set up with: the boxes avcC and esds. */
function headersOf(file: string): { video: Buffer; audio: Buffer } {
  const content = readFileSync(file);
  const avc = content.indexOf('avcC');
  const esds = content.indexOf('esds');
  // The descriptor with the tag 5; its length takes one byte or four.
  const tag = content.indexOf(5, content.indexOf(4, esds + 8) + 15);
  const start = content[tag + 1] === 0x80 ? tag + 5 : tag + 2;
  return {
    video: content.subarray(avc + 4, avc - 4 + content.readUInt32BE(avc - 4)),
    audio: content.subarray(start, start + content[start - 1]!),
  };
}

function tagOf(type: 8 | 9, time: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(11);
  head[0] = type;
  head.writeUIntBE(body.length, 1, 3);
  head.writeUIntBE(time & 0xff_ffff, 4, 3);
  head[7] = time >>> 24;
  const size = Buffer.alloc(4);
  size.writeUInt32BE(head.length + body.length);
  return Buffer.concat([head, body, size]);
}

function videoTag(time: number, { isKey, pts, dts, bytes }: Sample): Buffer {
  const head = Buffer.from([isKey ? 0x17 : 0x27, 1, 0, 0, 0]);
  head.writeIntBE(pts - dts, 2, 3);
  return tagOf(9, time, head, bytes);
}

/** H.264 and AAC. `file`: two seconds of both, as MP4. */
export function filmOf(ffprobe: string, file: string, seconds: number): Buffer {
  const samples = samplesOf(ffprobe, file).sort((a, b) => a.dts - b.dts);
  const { video, audio } = headersOf(file);
  const parts = [
    Buffer.from([0x46, 0x4c, 0x56, 1, 5, 0, 0, 0, 9, 0, 0, 0, 0]),
    tagOf(9, 0, Buffer.from([0x17, 0, 0, 0, 0]), video),
    tagOf(8, 0, Buffer.from([0xaf, 0]), audio),
  ];
  for (let from = 0; from < seconds * 1000; from += 2_000)
    for (const sample of samples) {
      const time = from + sample.dts;
      parts.push(sample.isVideo ? videoTag(time, sample) : tagOf(8, time, Buffer.from([0xaf, 1]), sample.bytes));
    }
  return Buffer.concat(parts);
}
