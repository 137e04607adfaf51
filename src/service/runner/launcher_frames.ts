/** Binary encoding of the launcher's frames, documented in images/probeyard/launcher/launcher.c. */

export const TYPE = {
  start: 1,
  killAll: 3,
  renew: 8,
  out: 17,
  err: 18,
  exit: 19,
  failed: 20,
  clean: 21,
} as const;
const FLAG = { timedOut: 1, capped: 2, killed: 4 } as const;

/** 0 leaves a limit unchanged. */
export interface Limits {
  wallMs: number;
  cpuSeconds: number;
  dataBytes: number;
  fileBytes: number;
  processes: number;
  files: number;
  stdoutBytes: number;
  stderrBytes: number;
}

export interface Spawn {
  argv: string[];
  env: Record<string, string>;
  limits: Limits;
  /** Ports on 127.0.0.1, at most two: the tool can connect to nothing else. */
  ports?: readonly number[];
}

export interface Exit {
  /** Null if a signal ended the process. */
  code: number | null;
  signal: number | null;
  timedOut: boolean;
  capped: boolean;
  killed: boolean;
  wallUs: number;
}

/** Confinement of the tools in addition to the container: see images/probeyard/launcher/wall.c. */
export type Wall = (typeof WALLS)[number];
const WALLS = ['none', 'filtered', 'watched'] as const;

export type Event =
  | { type: 'out'; id: number; bytes: Buffer }
  | { type: 'err'; id: number; bytes: Buffer }
  | { type: 'exit'; id: number; exit: Exit }
  | { type: 'failed'; id: number; errno: number; stage: number }
  | { type: 'clean'; clean: boolean; wall: Wall };

const MAX_OUTPUT = 64 * 1024 + 5;
const MAX_EVENT = 256;

/** A request of its type alone. */
export const encodeRequest = (type: number): Buffer => Buffer.from([0, 0, 0, 1, type]);

/** Rejects strings with NUL: in C they would end early and shift the arguments after them. */
export function encodeStart(id: number, { argv, env, limits, ports = [] }: Spawn): Buffer {
  const environment = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const texts = [...argv, ...environment];
  if (texts.some((text) => text.includes('\0'))) throw new TypeError('an argument contains a NUL byte');
  const strings = Buffer.from(texts.map((text) => `${text}\0`).join(''));
  const head = Buffer.alloc(5 + 64);
  head.writeUInt32BE(1 + 64 + strings.length, 0);
  head[4] = TYPE.start;
  let at = 5;
  const u32 = (value: number) => {
    at = head.writeUInt32BE(Math.min(Math.ceil(value), 0xffff_ffff), at);
  };
  const u64 = (value: number) => {
    at = head.writeBigUInt64BE(BigInt(Math.ceil(value)), at);
  };
  u32(id);
  u32(limits.wallMs);
  u32(limits.cpuSeconds);
  u64(limits.dataBytes);
  u64(limits.fileBytes);
  u32(limits.processes);
  u32(limits.files);
  u64(limits.stdoutBytes);
  u64(limits.stderrBytes);
  u32((ports[0] ?? 0) * 0x1_0000 + (ports[1] ?? 0));
  u32(argv.length);
  u32(environment.length);
  return Buffer.concat([head, strings]);
}

function decode(type: number, body: Buffer): Event {
  const id = body.readUInt32BE(0);
  switch (type) {
    case TYPE.exit: {
      const code = body.readInt32BE(4);
      const flags = body.readUInt32BE(12);
      return {
        type: 'exit',
        id,
        exit: {
          code: code === -1 ? null : code,
          signal: code === -1 ? body.readUInt32BE(8) : null,
          timedOut: (flags & FLAG.timedOut) !== 0,
          capped: (flags & FLAG.capped) !== 0,
          killed: (flags & FLAG.killed) !== 0,
          wallUs: Number(body.readBigUInt64BE(16)),
        },
      };
    }
    case TYPE.failed:
      return { type: 'failed', id, errno: body.readUInt32BE(4), stage: body.readUInt32BE(8) };
    case TYPE.clean:
      return { type: 'clean', clean: id === 1, wall: WALLS[body.readUInt32BE(4) - 1] ?? 'none' };
    default:
      throw new RangeError(`unknown event type: ${type}`);
  }
}

/** Length, type and id: the header of an output frame. */
const OUTPUT_HEAD = 9;

/**
 * Decodes a byte stream into events. Output is passed on in the pieces in which it arrives, without a copy: joining and
 * copying cost three bytes of garbage per byte of a large output. Throws on invalid frames.
 */
export function frameReader(onEvent: (event: Event) => void): (bytes: Buffer) => void {
  /** The current frame, as far as it must be complete. */
  let head: Buffer = Buffer.alloc(0);
  /** The current output frame: its id, and the bytes still to come. */
  let output: { type: 'out' | 'err'; id: number; left: number } | undefined;
  return (chunk) => {
    let bytes = chunk;
    while (bytes.length > 0) {
      if (output) {
        const piece = bytes.subarray(0, output.left);
        bytes = bytes.subarray(piece.length);
        output.left -= piece.length;
        onEvent({ type: output.type, id: output.id, bytes: piece });
        if (output.left === 0) output = undefined;
        continue;
      }
      const wanted = wantedOf(head);
      const taken = bytes.subarray(0, wanted - head.length);
      bytes = bytes.subarray(taken.length);
      head = head.length === 0 && taken.length === wanted ? taken : Buffer.concat([head, taken]);
      if (head.length < wanted || wantedOf(head) > wanted) continue;
      const type = head[4];
      if (type === TYPE.out || type === TYPE.err) {
        const left = head.readUInt32BE(0) - 5;
        if (left > 0) output = { type: type === TYPE.out ? 'out' : 'err', id: head.readUInt32BE(5), left };
      } else onEvent(decode(type as number, head.subarray(5)));
      head = Buffer.alloc(0);
    }
  };
}

/** Number of bytes of a frame that must have arrived, as far as it is known. */
function wantedOf(head: Buffer): number {
  if (head.length < 5) return 5;
  const length = head.readUInt32BE(0);
  const isOutput = head[4] === TYPE.out || head[4] === TYPE.err;
  if (length < 5 || length > (isOutput ? MAX_OUTPUT : MAX_EVENT))
    throw new RangeError(`invalid frame length: ${length} bytes`);
  return isOutput ? OUTPUT_HEAD : 4 + length;
}
