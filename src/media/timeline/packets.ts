/** Reads what ffprobe prints of packets and streams as CSV, piece by piece. Holds no more than the begun line. */

/** The options of ffprobe that print it. */
export const PACKET_OPTIONS: Readonly<Record<string, string>> = {
  output_format: 'csv',
  show_entries: 'packet=stream_index,pts_time,dts_time,duration_time,size,flags:stream=index,codec_name,codec_type',
  show_format: 'false',
  show_streams: 'false',
  show_programs: 'false',
  show_chapters: 'false',
  show_error: 'false',
};

export interface Packet {
  stream: number;
  /** In seconds; null: not known. */
  pts: number | null;
  dts: number | null;
  duration: number | null;
  bytes: number;
  key: boolean;
}

export interface StreamLine {
  index: number;
  type: string | null;
  codec: string | null;
}

/** Longer lines are none of packets or streams. */
const LONGEST = 1_024;
const INDEX = /^\d{1,6}$/;
const SECONDS = /^-?\d{1,9}(?:\.\d{1,9})?$/;
const BYTES = /^\d{1,12}$/;
const NAME = /^[a-z0-9_]{1,40}$/;

const secondsIn = (text: string | undefined): number | null =>
  text !== undefined && SECONDS.test(text) ? Number(text) : null;
const nameIn = (text: string | undefined): string | null => (text !== undefined && NAME.test(text) ? text : null);

/** Undefined: the line is not one of a packet. Side data may follow the fields. */
export function packetIn(line: string): Packet | undefined {
  const [section, stream = '', pts, dts, duration, bytes = '', flags = ''] = line.split(',', 7);
  if (section !== 'packet' || !INDEX.test(stream)) return undefined;
  return {
    stream: Number(stream),
    pts: secondsIn(pts),
    dts: secondsIn(dts),
    duration: secondsIn(duration),
    bytes: BYTES.test(bytes) ? Number(bytes) : 0,
    key: flags.startsWith('K'),
  };
}

export function streamIn(line: string): StreamLine | undefined {
  const [section, index = '', codec, type] = line.split(',', 4);
  if (section !== 'stream' || !INDEX.test(index)) return undefined;
  return { index: Number(index), codec: nameIn(codec), type: nameIn(type) };
}

export function packetReader(onPacket: (packet: Packet) => void, onStream: (stream: StreamLine) => void) {
  let begun = '';
  const take = (line: string): void => {
    if (line.length > LONGEST) return;
    const packet = packetIn(line);
    if (packet) return onPacket(packet);
    const stream = streamIn(line);
    if (stream) onStream(stream);
  };
  return {
    push(bytes: Buffer): void {
      // Everything that counts is ASCII.
      const lines = (begun + bytes.toString('latin1')).split('\n');
      // Cut, so that it is dropped when it ends.
      begun = lines.pop()!.slice(0, LONGEST + 1);
      for (const line of lines) take(line.endsWith('\r') ? line.slice(0, -1) : line);
    },
    end(): void {
      take(begun);
      begun = '';
    },
  };
}
