/** The text of each page of a PDF that Chromium printed, by the fonts' own tables: what a reader can select. */
import { inflateSync } from 'node:zlib';

export interface PrintedPdf {
  /** In points. */
  size: number[];
  pages: string[];
}

type Objects = ReadonlyMap<string, string>;

function objectsIn(file: string): Objects {
  const found = [...file.matchAll(/(?:^|\n)(\d+) 0 obj\n(.*?)\nendobj/gs)];
  return new Map(found.map(([, number, body]) => [number!, body!]));
}

function streamOf(body: string): string {
  const [, bytes = ''] = /stream\r?\n(.*)\r?\nendstream/s.exec(body) ?? [];
  return body.includes('/FlateDecode') ? inflateSync(Buffer.from(bytes, 'latin1')).toString('latin1') : bytes;
}

const hex = (text: string): number => Number.parseInt(text, 16);
const charactersOf = (text: string): string => Buffer.from(text, 'hex').swap16().toString('utf16le');

/** Characters by the number of their glyph. */
function glyphsOf(objects: Objects, font: string): Map<number, string> {
  const glyphs = new Map<number, string>();
  const [, table] = /\/ToUnicode (\d+) 0 R/.exec(objects.get(font)!) ?? [];
  const text = streamOf(objects.get(table!)!);
  for (const [, part] of text.matchAll(/beginbfchar(.*?)endbfchar/gs))
    for (const [, from, to] of part!.matchAll(/<(\w+)> <(\w+)>/g)) glyphs.set(hex(from!), charactersOf(to!));
  for (const [, part] of text.matchAll(/beginbfrange(.*?)endbfrange/gs))
    for (const [, from, to, first] of part!.matchAll(/<(\w+)> <(\w+)> <(\w+)>/g))
      for (let at = hex(from!); at <= hex(to!); at++)
        glyphs.set(at, String.fromCodePoint(hex(first!) + at - hex(from!)));
  return glyphs;
}

function textOf(objects: Objects, page: string, fonts: ReadonlyMap<string, Map<number, string>>): string {
  const [, contents] = /\/Contents (\d+) 0 R/.exec(page)!;
  let glyphs = new Map<number, string>();
  let text = '';
  for (const [, font, shown] of streamOf(objects.get(contents!)!).matchAll(
    /\/(F\d+) \S+ Tf|((?:<\w*>|\[[^\]]*\]) ?T[jJ])/g,
  ))
    if (font !== undefined) glyphs = fonts.get(font)!;
    else
      for (const [, codes] of shown!.matchAll(/<(\w+)>/g))
        for (const code of codes!.match(/.{4}/g)!) text += glyphs.get(hex(code)) ?? '\ufffd';
  return text.replaceAll(/\s+/g, ' ');
}

export function readPdf(file: Buffer): PrintedPdf {
  const objects = objectsIn(file.toString('latin1'));
  const fonts = new Map<string, Map<number, string>>();
  for (const body of objects.values())
    for (const [, name, font] of body.matchAll(/\/(F\d+) (\d+) 0 R/g)) fonts.set(name!, glyphsOf(objects, font!));
  const pages = [...objects.values()].filter((body) => /\/Type ?\/Page\b/.test(body) && body.includes('/Contents'));
  const box = /\/MediaBox ?\[([^\]]*)\]/.exec(file.toString('latin1'))![1]!;
  return {
    size: box
      .trim()
      .split(' ')
      .slice(2)
      .map((one) => Math.round(Number(one))),
    pages: pages.map((page) => textOf(objects, page, fonts)),
  };
}
