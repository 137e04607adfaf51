/**
 * What a source is that no tool recognises: a login page in place of a film is the commonest mistake with signed
 * addresses. By its first bytes, which belong to strangers: bounded work, and no character of theirs that misleads.
 */
import { isUtf8 } from 'node:buffer';
import { printable } from '../../base/printable.ts';
import { bytes as sizeText } from '../../base/scaled.ts';

export type ContentKind = 'empty' | 'page' | 'json' | 'xml' | 'text' | 'archive' | 'document' | 'image';

export interface Content {
  kind: ContentKind;
  /** `an HTML page, text/html, title "Login", 2.1 kB` */
  text: string;
}

/** How many of the first bytes are looked at. */
export const CONTENT_BYTES = 4096;
const LONGEST_TITLE = 100;
const LONGEST_ROOT = 40;

/* oxlint-disable no-control-regex */
const MAGIC: readonly [what: string, kind: ContentKind, form: RegExp][] = [
  ['a ZIP archive', 'archive', /^PK(?:\x03\x04|\x05\x06)/],
  ['gzip data', 'archive', /^\x1f\x8b\x08/],
  ['a 7z archive', 'archive', /^7z\xbc\xaf\x27\x1c/],
  ['a RAR archive', 'archive', /^Rar!\x1a\x07/],
  ['a PDF document', 'document', /^%PDF-/],
  ['a PNG image', 'image', /^\x89PNG\r\n\x1a\n/],
  ['a JPEG image', 'image', /^\xff\xd8\xff/],
  ['a GIF image', 'image', /^GIF8[79]a/],
  ['a WebP image', 'image', /^RIFF[\s\S]{4}WEBP/],
  ['a TIFF image', 'image', /^(?:II\*\0|MM\0\*)/],
  ['an AVIF or HEIF image', 'image', /^[\s\S]{4}ftyp(?:avif|heic|heix|mif1)/],
  ['a JPEG XL image', 'image', /^(?:\xff\x0a|\0\0\0\x0cJXL )/],
];

/** Text that tools read as media: why one has failed is another matter. */
const MEDIA_TEXT = /^(?:#EXTM3U|v=0|ffconcat |;FFMETADATA|WEBVTT|\[Script Info\])/;
const MEDIA_ROOT = /^(?:MPD|SmoothStreamingMedia|AssetMap|CompositionPlaylist|PackingList|tt|\w+:tt)$/;
const CONTROL = /[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]/;
/* oxlint-enable no-control-regex */
const JSON_TEXT = /^(?:\{\s*["}]|\[\s*(?:[[\]{"\d-]|true|false|null))/;
const MEDIA_TYPE = /^[a-z0-9.+-]{1,40}\/[a-z0-9.+-]{1,60}$/;

/** Undefined: nothing that is known here. `type`, `size`: as the host says. */
export function contentOf(
  first: Uint8Array,
  { type, size }: { type: string; size: number | undefined },
): Content | undefined {
  const found = recognised(Buffer.from(first.buffer, first.byteOffset, Math.min(first.length, CONTENT_BYTES)), size);
  if (found === undefined) return undefined;
  const [kind, what, more] = found;
  const parts = [what, MEDIA_TYPE.test(type) ? type : undefined, more, size ? sizeText(size) : undefined];
  return { kind, text: parts.filter((part) => part !== undefined).join(', ') };
}

type Found = [kind: ContentKind, what: string, more?: string | undefined];

function recognised(first: Buffer, size: number | undefined): Found | undefined {
  if (first.length === 0) return size === 0 ? ['empty', 'an empty file'] : undefined;
  const latin = first.toString('latin1', 0, 64);
  const magic = MAGIC.find(([, , form]) => form.test(latin));
  if (magic) return [magic[1], magic[0]];
  const text = textOf(first);
  if (text === undefined || MEDIA_TEXT.test(text)) return undefined;
  if (JSON_TEXT.test(text)) return ['json', 'a JSON document'];
  const isXml = text.startsWith('<?xml');
  const body = withoutPrologue(text);
  if (/^<(?:!doctype\s+html|html|head|body)\b/i.test(body)) return ['page', 'an HTML page', titleOf(body)];
  const root = /^<([A-Za-z_][\w.:-]*)/.exec(body.replace(/^<!DOCTYPE[^>]{0,500}>\s*/i, ''))?.[1];
  if (root !== undefined && MEDIA_ROOT.test(root)) return undefined;
  if (isXml || (root !== undefined && body.trimEnd().endsWith('>')))
    return ['xml', 'an XML document', root === undefined ? undefined : `root ${root.slice(0, LONGEST_ROOT)}`];
  return ['text', 'text'];
}

/** Undefined: it is not text. The last character may be cut. */
function textOf(bytes: Buffer): string | undefined {
  const whole = [0, 1, 2, 3].map((cut) => bytes.subarray(0, bytes.length - cut)).find((part) => isUtf8(part));
  if (whole === undefined) return undefined;
  const text = whole
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart();
  return CONTROL.test(text) ? undefined : text;
}

/** Without declarations and comments at its beginning. */
function withoutPrologue(text: string): string {
  let rest = text;
  for (;;) {
    const end = rest.startsWith('<!--') ? '-->' : rest.startsWith('<?') ? '?>' : undefined;
    const at = end === undefined ? -1 : rest.indexOf(end);
    if (at === -1) return rest;
    rest = rest.slice(at + end!.length).trimStart();
  }
}

function titleOf(page: string): string | undefined {
  const title = /<title\b[^>]{0,200}>([^<]{1,1000})/i.exec(page)?.[1];
  const shown = title === undefined ? '' : printable(title.replaceAll('"', "'"), 1000).replaceAll(/\s+/g, ' ').trim();
  if (shown === '') return undefined;
  const characters = [...shown];
  return `title "${characters.slice(0, LONGEST_TITLE).join('')}${characters.length > LONGEST_TITLE ? '…' : ''}"`;
}
