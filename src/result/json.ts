/**
 * Whether a text is one JSON value, without building it: outputs reach tens of megabytes, and what JSON.parse makes of
 * them takes several times their size.
 */
import { jsonScanner } from './json_scanner.ts';

/** Below this JSON.parse is quicker and its garbage small. */
const SMALL = 256 * 1024;

export function isJson(text: string | Buffer): boolean {
  if (text.length < SMALL) {
    try {
      JSON.parse(text.toString());
      return true;
    } catch {
      return false;
    }
  }
  return scan(typeof text === 'string' ? Buffer.from(text) : text);
}

/** Exported for its test, which compares it with JSON.parse. */
export function scan(text: Buffer): boolean {
  const scanner = jsonScanner();
  scanner.push(text);
  return scanner.end() !== null;
}
