/**
 * What a head says of an output, found from its bytes: by the runner that sends it, and by the collector, which accepts
 * no head that says anything else. So answers are made from the head alone, and copy outputs without looking at them.
 */
import { isAscii } from 'node:buffer';
import { LONG } from '../../platform/bus/packing.ts';
import type { Output } from '../../platform/bus/result_body.ts';
import { REPORT_MEMBERS, SECTIONS } from '../../media/tools/table.ts';
import { isJson, JsonScanner } from './json_scanner.ts';

/** Top-level members that answers need: those that other sections could collide with, and those of envelopes. */
const WANTED: readonly string[] = [...SECTIONS, ...REPORT_MEMBERS];

/** JSON.stringify escapes ASCII alone, so that the bytes of other characters may be taken for characters. */
export const escaped = (bytes: Buffer): Buffer =>
  Buffer.from(JSON.stringify(bytes.toString('latin1')).slice(1, -1), 'latin1');
const escapedLength = (bytes: Buffer): number => JSON.stringify(bytes.toString('latin1')).length - 2;

/** How much longer a byte is in a string. */
const LONGER = Uint8Array.from({ length: 256 }, (_, byte) => escapedLength(Buffer.from([byte])) - 1);
/** The same for many slices: 28 MB take 30 ms in place of 110, but more where few kilobytes are all there is. */
function countEscaped(slice: Buffer): number {
  let length = slice.length;
  for (let at = 0; at < slice.length; at++) length += LONGER[slice[at]!]!;
  return length;
}

/** An output as it is found; `isJson`: it is declared as JSON, and is. */
export interface FoundOutput {
  output: Output;
  isJson: boolean;
}

/** Of an output in memory, of a result whose outputs are not long. */
export function foundIn(bytes: Buffer, from: number, asJson: boolean): FoundOutput {
  return {
    output: { from, to: from + bytes.length, escaped: escapedLength(bytes) },
    isJson: asJson && isJson(bytes),
  };
}

/** Of an output of any length, in slices. */
export function scanOutput(from: number, asJson: boolean) {
  const scanner = asJson ? new JsonScanner(WANTED) : undefined;
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let decoding = false;
  let [bytes, length] = [0, 0];
  return {
    /** Throws a TypeError if it is not UTF-8. */
    push(slice: Buffer): void {
      decoding ||= !isAscii(slice);
      if (decoding) decoder.decode(slice, { stream: true });
      bytes += slice.length;
      length += countEscaped(slice);
      scanner?.push(slice);
    },
    end(): FoundOutput {
      decoder.decode();
      const json = scanner?.end() ?? null;
      const output = { from, to: from + bytes, escaped: length };
      return { output: json ? { ...output, json } : output, isJson: json !== null };
    },
  };
}

/** Whether outputs of so many bytes together are described with the shape of their JSON. */
export const hasShapes = (bytes: number): boolean => bytes > LONG;

/** The shape of JSON that its head does not describe, because it is short. */
export function shapeOf(text: Buffer): NonNullable<Output['json']> | null {
  const scanner = new JsonScanner(WANTED);
  scanner.push(text);
  return scanner.end();
}
