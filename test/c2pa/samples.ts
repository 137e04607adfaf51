/** A small unsigned file of each format in docs/c2pa.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sampleWav } from '../../src/service/runner/verify_sample.ts';

const fixtures = join(import.meta.dirname, '..', 'fixtures');
const file = (name: string): Buffer => readFileSync(join(fixtures, name));

/** The same boxes with another brand. The check reads the same boxes in all of these image formats. */
function branded(bytes: Buffer, major: string): Buffer {
  const out = Buffer.from(bytes);
  out.write(major, 8, 'latin1');
  for (let at = 16; at < out.readUInt32BE(0); at += 4)
    if (out.toString('latin1', at, at + 4) === 'avif') out.write(major, at, 'latin1');
  return out;
}

/** One grey pixel with the required TIFF tags, and the tag that makes it a DNG. */
function dng(): Buffer {
  const tags: [number, number, number, number][] = [
    [256, 3, 1, 1],
    [257, 3, 1, 1],
    [258, 3, 1, 8],
    [259, 3, 1, 1],
    [262, 3, 1, 1],
    [273, 4, 1, 8],
    [277, 3, 1, 1],
    [278, 3, 1, 1],
    [279, 4, 1, 4],
    [50706, 1, 4, 0x00000401],
  ];
  const out = Buffer.alloc(12 + 2 + tags.length * 12 + 4);
  out.write('II*\0', 0, 'latin1');
  out.writeUInt32LE(12, 4);
  out.writeUInt32LE(0x7f7f7f7f, 8);
  out.writeUInt16LE(tags.length, 12);
  tags.forEach(([tag, type, count, value], index) => {
    const at = 14 + index * 12;
    out.writeUInt16LE(tag, at);
    out.writeUInt16LE(type, at + 2);
    out.writeUInt32LE(count, at + 4);
    out.writeUInt32LE(value, at + 8);
  });
  return out;
}

/** The manifest is an associated file in the last object. Signing only has to fill in its length. */
function pdf(): Buffer {
  const objects = [
    '1 0 obj\n<</Type/Catalog/Pages 2 0 R/AF[4 0 ' +
      'R]/Names<</EmbeddedFiles<</Names[(Content Credentials)4 0 ' +
      'R]>>>>>>\nendobj\n',
    '2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n',
    '3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>\nendobj\n',
    '4 0 obj\n<</Type/Filespec/F(manifest.c2pa)/UF(manifest.c2pa)/AFRelationship/C2PA_Manifest' +
      '/EF<</F 5 0 R>>>>\nendobj\n',
  ];
  let text = '%PDF-1.7\n';
  const places = objects.map((object) => {
    const at = text.length;
    text += object;
    return at;
  });
  const xref = text.length;
  const entry = (at: number) => `${String(at).padStart(10, '0')} 00000 n \n`;
  const tail = (at: number) =>
    `xref\n0 6\n0000000000 65535 f \n${[...places, at].map(entry).join('')}trailer\n<</Size 6/Root 1 0 R>>\n`;
  const last = xref + tail(0).length;
  return Buffer.from(
    `${text}${tail(last)}5 0 obj\n<</Type/EmbeddedFile/Subtype/application#2Fx-c2pa-manifest-store/Length ` +
      `@@LENGTH@@>>\nstream\n@@MANIFEST@@\nendstream\nendobj\nstartxref\n${xref}\n%%EOF\n`,
    'latin1',
  );
}

export interface Sample {
  name: string;
  format: string;
  bytes: Buffer;
  marker?: string;
}

export const SAMPLES: readonly Sample[] = [
  { name: 'JPEG', format: 'image/jpeg', bytes: file('c2pa/a.jpg') },
  { name: 'PNG', format: 'image/png', bytes: file('c2pa/a.png') },
  { name: 'AVIF', format: 'image/avif', bytes: file('c2pa/a.avif') },
  { name: 'HEIC', format: 'image/heic', bytes: branded(file('c2pa/a.avif'), 'heic') },
  { name: 'HEIF', format: 'image/heif', bytes: branded(file('c2pa/a.avif'), 'mif1') },
  { name: 'DNG', format: 'image/dng', bytes: dng() },
  { name: 'TIFF', format: 'image/tiff', bytes: file('c2pa/a.tiff') },
  { name: 'WebP', format: 'image/webp', bytes: file('c2pa/a.webp') },
  { name: 'MP4', format: 'video/mp4', bytes: file('tiny.mp4') },
  { name: 'MOV', format: 'video/quicktime', bytes: file('c2pa/a.mov') },
  { name: 'AVI', format: 'video/avi', bytes: file('c2pa/a.avi') },
  { name: 'MP3', format: 'audio/mpeg', bytes: file('c2pa/a.mp3') },
  { name: 'M4A', format: 'audio/mp4', bytes: file('c2pa/a.m4a') },
  { name: 'WAV', format: 'audio/wav', bytes: sampleWav() },
  { name: 'PDF', format: 'application/pdf', bytes: pdf(), marker: '@@MANIFEST@@' },
  {
    name: 'SVG',
    format: 'image/svg+xml',
    bytes: Buffer.from(
      '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="8" ' +
        'height="8"><rect width="8" height="8" fill="teal"/></svg>\n',
    ),
  },
];

export const sampleOf = (name: string): Sample => SAMPLES.find((sample) => sample.name === name)!;
