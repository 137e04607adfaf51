/** A result as the record keeps it: the runner's ResultBody, compressed. */
import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { zstdDecompress, zstdDecompressSync } from 'node:zlib';
import type { ResultBody } from '../bus/messages.ts';
import { lifter } from './lift.ts';

/** Two tools at the agent's cap on their output, a report and the JSON around them: what collectors take, too. */
const MAX_INFLATED = 256 * 1024 * 1024;
/** Inflated at once: a turn of the thread pool would take longer. */
const SMALL = 64 * 1024;
/** From here on long outputs stay bytes. */
const LARGE = 1024 * 1024;
const SLICE = 1024 * 1024;

/** The bytes of long outputs, escaped as they stand in JSON, by the name that stands for them in the result. Reading one as JSON uses it up. */
export type LongOutputs = ReadonlyMap<string, Buffer>;

export interface Unpacked { result: ResultBody; long: LongOutputs }

const inflate = promisify(zstdDecompress);

export async function unpackResult(packed: Buffer, large = LARGE): Promise<Unpacked> {
  const options = { maxOutputLength: MAX_INFLATED };
  const bytes = packed.length <= SMALL ? zstdDecompressSync(packed, options) : await inflate(packed, options);
  return bytes.length < large ? { result: JSON.parse(bytes.toString()) as ResultBody, long: new Map() } : lifted(bytes);
}

async function lifted(bytes: Buffer): Promise<Unpacked> {
  // Nothing that a runner wrote can be such a name.
  const nonce = randomUUID();
  const lift = lifter((index) => `${nonce}/${index}`);
  for (let at = 0; at < bytes.length; at += SLICE) {
    lift.push(bytes.subarray(at, at + SLICE));
    await turn();
  }
  const { text, strings } = lift.end();
  return { result: JSON.parse(text) as ResultBody, long: new Map(strings.map(({ from, to }, index) => [`${nonce}/${index}`, bytes.subarray(from, to)])) };
}

/** As it was before anything was lifted: for readers of strings. */
export function whole({ result, long }: Unpacked): ResultBody {
  const back = <T extends { output: string | null }>(tool: T): T => {
    const bytes = tool.output === null ? undefined : long.get(tool.output);
    return bytes ? { ...tool, output: JSON.parse(`"${bytes.toString()}"`) as string } : tool;
  };
  return long.size === 0 ? result : { ...result, tools: result.tools.map(back), ...(result.report ? { report: back(result.report) } : {}) };
}
