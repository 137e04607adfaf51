/** Decodes a playlist to text. It continues with any encoding, and notes what is wrong with it. */
import type { Note } from './rules/catalog.ts';

export function decodePlaylist(bytes: Buffer, note: Note): string {
  const utf16 = utf16Of(bytes);
  if (utf16 !== undefined) {
    note('encoding-utf8', 1, `it is in UTF-16 (${utf16} endian)`);
    const even = Buffer.from(bytes.subarray(0, bytes.length & ~1));
    return (utf16 === 'big' ? even.swap16() : even).toString('utf16le').replace(/^\ufeff/, '');
  }
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  if (marked) note('encoding-bom', 1);
  const body = marked ? bytes.subarray(3) : bytes;
  const badAt = isAscii(body) ? -1 : firstInvalid(body);
  const text = badAt === -1 ? body.toString('utf8') : body.toString('latin1');
  if (badAt !== -1) note('encoding-utf8', lineOf(body, badAt), 'its bytes are not valid UTF-8');
  // oxlint-disable-next-line no-control-regex
  const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/.exec(text);
  if (control !== null && badAt === -1)
    note(
      'encoding-control',
      lineOf(Buffer.from(text.slice(0, control.index)), Infinity),
      `U+${control[0].charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`,
    );
  const tab = text.indexOf('\t');
  if (tab !== -1) note('encoding-tab', lineOf(Buffer.from(text.slice(0, tab)), Infinity));
  if (badAt === -1 && body.length !== text.length && text.length < 1 << 20 && text.normalize('NFC') !== text)
    note('encoding-nfc', firstDifferent(text));
  return text;
}

function isAscii(bytes: Buffer): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i]! > 127) return false;
  return true;
}

function utf16Of(bytes: Buffer): 'little' | 'big' | undefined {
  if (bytes.length < 4) return undefined;
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'little';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'big';
  if (bytes[0] === 0x23 && bytes[1] === 0 && bytes[3] === 0) return 'little';
  return bytes[0] === 0 && bytes[1] === 0x23 && bytes[2] === 0 ? 'big' : undefined;
}

function firstInvalid(bytes: Buffer): number {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    decoder.decode(bytes);
    return -1;
  } catch {
    // Bisects to the first invalid byte: the whole text was already found invalid.
    let [good, bad] = [0, bytes.length];
    while (bad - good > 64) {
      const middle = (good + bad) >> 1;
      try {
        new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, middle), { stream: true });
        good = middle;
      } catch {
        bad = middle;
      }
    }
    return good;
  }
}

function lineOf(bytes: Buffer, end: number): number {
  let line = 1;
  for (let at = bytes.indexOf(10); at !== -1 && at < end; at = bytes.indexOf(10, at + 1)) line++;
  return line;
}

const firstDifferent = (text: string): number =>
  text.split('\n').findIndex((line) => line.normalize('NFC') !== line) + 1;
