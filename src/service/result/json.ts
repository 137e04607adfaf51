/**
 * Whether a text is a single JSON value, without building it: outputs may have tens of megabytes, and JSON.parse takes
 * several times that in memory.
 */
import { jsonScanner } from './json_scanner.ts';

/** Below this size JSON.parse is faster, and its garbage is small. */
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
