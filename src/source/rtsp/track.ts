import { accessUnits, marked, nalUnits, vp8Descriptor, whole, type Rtp, type Unpack } from './rtp.ts';
import type { SdpMedia } from './sdp.ts';

export type Frame = { /** milliseconds */ at: number; key: boolean; bytes: Buffer };

/** One medium of a stream on its way into Matroska. */
export type Track = {
  kind: 'video' | 'audio';
  codecId: string;
  rate: number;
  channels: number;
  bits: number;
  /** undefined: not known yet, the stream itself will say. */
  codecPrivate(): Buffer | undefined;
  /** Frames that are whole now. */
  take(packet: Rtp): Frame[];
};

type Simple = { id: string; unpack: Unpack; bits?: number; codecPrivate?: Buffer };

/** undefined for a codec that cannot be carried. */
export function trackOf(media: SdpMedia): Track | undefined {
  const clock = clockOf(media.clock);
  if (media.codec === 'H264' || media.codec === 'H265') return nalTrack(media, clock);
  const simple = simpleTrack(media);
  if (simple === undefined) return undefined;
  return {
    kind: media.kind === 'video' ? 'video' : 'audio', codecId: simple.id, rate: media.clock, channels: media.channels, bits: simple.bits ?? 0,
    codecPrivate: () => simple.codecPrivate ?? Buffer.alloc(0),
    take(packet) {
      const frames = simple.unpack(packet);
      const start = clock(packet.timestamp);
      // Several AAC frames of a packet follow one another by 1024 samples.
      return frames.map((bytes, i) => ({ at: start + (media.kind === 'audio' ? (i * 1024 * 1000) / media.clock : 0), key: media.kind === 'audio' || isKey(media.codec, bytes), bytes }));
    },
  };
}

function simpleTrack({ codec, parameters, channels, clock }: SdpMedia): Simple | undefined {
  switch (codec) {
    case 'MPEG4-GENERIC': {
      const config = parameters.get('config');
      if (config === undefined || !/^(?:[0-9a-f]{2}){2,64}$/i.test(config)) return undefined;
      return { id: 'A_AAC', unpack: accessUnits(Number(parameters.get('sizelength') ?? 13), Number(parameters.get('indexlength') ?? 3)), codecPrivate: Buffer.from(config, 'hex') };
    }
    case 'OPUS': {
      const head = Buffer.from('OpusHead\x01\x02\0\0\0\0\0\0\0\0\0', 'latin1');
      head[9] = channels;
      head.writeUInt32LE(48000, 12);
      return { id: 'A_OPUS', unpack: whole(), codecPrivate: head };
    }
    case 'PCMU':
    case 'PCMA':
      return { id: 'A_MS/ACM', unpack: whole(), bits: 8, codecPrivate: waveFormat(codec === 'PCMU' ? 7 : 6, channels, clock) };
    case 'L16':
      return { id: 'A_PCM/INT/BIG', unpack: whole(), bits: 16 };
    case 'MPA':
      return { id: 'A_MPEG/L3', unpack: whole(4) };
    case 'AC3':
      return { id: 'A_AC3', unpack: marked(() => 2) };
    case 'VP8':
      return { id: 'V_VP8', unpack: marked(vp8Descriptor) };
    case 'MPV':
      return { id: 'V_MPEG2', unpack: marked(() => 4) };
    case 'MP4V-ES': {
      const config = parameters.get('config');
      return { id: 'V_MPEG4/ISO/ASP', unpack: marked(() => 0), ...(config !== undefined && /^(?:[0-9a-f]{2}){1,1024}$/i.test(config) ? { codecPrivate: Buffer.from(config, 'hex') } : {}) };
    }
    default:
      return undefined;
  }
}

const isKey = (codec: string, bytes: Buffer): boolean => (codec === 'VP8' ? (bytes[0]! & 1) === 0 : codec === 'MPV' || codec === 'MP4V-ES' ? bytes.includes(Buffer.from([0, 0, 1, codec === 'MPV' ? 0xb3 : 0xb0])) : true);

function waveFormat(tag: number, channels: number, rate: number): Buffer {
  const bytes = Buffer.alloc(18);
  bytes.writeUInt16LE(tag, 0);
  bytes.writeUInt16LE(channels, 2);
  bytes.writeUInt32LE(rate, 4);
  bytes.writeUInt32LE(rate * channels, 8);
  bytes.writeUInt16LE(channels, 12);
  bytes.writeUInt16LE(8, 14);
  return bytes;
}

/** NAL units of one time are one frame, which is whole when another time begins. */
function nalTrack({ codec, parameters }: SdpMedia, clock: (timestamp: number) => number): Track {
  const h264 = codec === 'H264';
  const unpack = nalUnits(h264 ? 'h264' : 'h265');
  const sets = new Map<number, Buffer>();
  const typeOf = (nal: Buffer): number => (h264 ? nal[0]! & 31 : (nal[0]! >> 1) & 63);
  const wanted = h264 ? [7, 8] : [32, 33, 34];
  const learn = (nal: Buffer): void => {
    if (nal.length > 3 && wanted.includes(typeOf(nal)) && !sets.has(typeOf(nal))) sets.set(typeOf(nal), Buffer.from(nal));
  };
  const given = h264 ? ['sprop-parameter-sets'] : ['sprop-vps', 'sprop-sps', 'sprop-pps'];
  for (const set of given.flatMap((name) => (parameters.get(name) ?? '').split(','))) learn(Buffer.from(set, 'base64'));
  let time: number | undefined;
  let units: Buffer[] = [];
  return {
    kind: 'video', codecId: h264 ? 'V_MPEG4/ISO/AVC' : 'V_MPEGH/ISO/HEVC', rate: 0, channels: 0, bits: 0,
    codecPrivate() {
      const found = wanted.map((type) => sets.get(type));
      if (found.some((set) => set === undefined)) return undefined;
      return h264 ? avcConfiguration(found[0]!, found[1]!) : hevcConfiguration(found as Buffer[]);
    },
    take(packet) {
      const nals = unpack(packet).map((nal) => Buffer.from(nal));
      nals.forEach(learn);
      const frames: Frame[] = [];
      if (time !== undefined && packet.timestamp !== time && units.length > 0) {
        frames.push({ at: clock(time), key: units.some((nal) => (h264 ? typeOf(nal) === 5 : typeOf(nal) >= 16 && typeOf(nal) <= 21)), bytes: Buffer.concat(units.flatMap((nal) => [length32(nal), nal])) });
        units = [];
      }
      time = packet.timestamp;
      units.push(...nals);
      return frames;
    },
  };
}

function length32(nal: Buffer): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(nal.length);
  return bytes;
}

const length16 = (nal: Buffer): Buffer => Buffer.from([nal.length >> 8, nal.length & 255]);

const avcConfiguration = (sps: Buffer, pps: Buffer): Buffer => Buffer.concat([Buffer.from([1, sps[1]!, sps[2]!, sps[3]!, 0xff, 0xe1]), length16(sps), sps, Buffer.from([1]), length16(pps), pps]);

/** Profile and level stand at the beginning of the SPS; what else the record repeats of it is left to its reader. */
function hevcConfiguration(sets: Buffer[]): Buffer {
  const plain = withoutEmulation(sets[1]!);
  const head = Buffer.concat([Buffer.from([1]), Buffer.concat([plain.subarray(3, 15), Buffer.alloc(12)]).subarray(0, 12), Buffer.from([0xf0, 0, 0xfc, 0xfd, 0xf8, 0xf8, 0, 0, 0x0f, sets.length])]);
  return Buffer.concat([head, ...sets.flatMap((nal, i) => [Buffer.from([0x80 | (32 + i), 0, 1]), length16(nal), nal])]);
}

function withoutEmulation(nal: Buffer): Buffer {
  const out: number[] = [];
  for (let i = 0; i < nal.length; i++) if (!(nal[i] === 3 && i > 1 && nal[i - 1] === 0 && nal[i - 2] === 0)) out.push(nal[i]!);
  return Buffer.from(out);
}

/** Milliseconds since the first packet, over the end of the 32 bits that a timestamp has. */
export function clockOf(rate: number): (timestamp: number) => number {
  let last: number | undefined;
  let ticks = 0;
  return (timestamp) => {
    if (last !== undefined) ticks += (timestamp - last) | 0;
    last = timestamp;
    return Math.max(0, (ticks * 1000) / rate);
  };
}
