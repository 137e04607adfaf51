/** Samples that are made of others: changed, cut, damaged, or beside segments of others. */

export type Read = (path: string) => Buffer;

const half = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length >> 1);
const lines = (...text: string[]): Buffer => Buffer.from(`${text.join('\n')}\n`);

/** The display matrix of the first track: a quarter turn. */
function rotated(bytes: Buffer): Buffer {
  const out = Buffer.from(bytes);
  const matrix = out.indexOf('tkhd') + 4 + 40;
  for (const [index, value] of [0, 0x10000, 0, -0x10000, 0, 0, 180 * 0x10000, 0, 0x40000000].entries())
    out.writeInt32BE(value, matrix + 4 * index);
  return out;
}

/** A tenth of a transport stream, in its middle. */
function hole(bytes: Buffer): Buffer {
  const out = Buffer.from(bytes);
  return out.fill(0xff, Math.floor(out.length * 0.45), Math.floor(out.length * 0.55));
}

/** A bit of the picture, behind the manifest. */
function tampered(signed: Buffer): Buffer {
  const out = Buffer.from(signed);
  out[out.length - 12]! ^= 1;
  return out;
}

interface Rate {
  peak: number;
  average: number;
}

/** Bits per second of a media playlist under hls/. A last segment of a few frames is no peak. */
function rateOf(read: Read, path: string): Rate {
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const segments = [
    ...read(`hls/${path}`)
      .toString()
      .matchAll(/^#EXTINF:([\d.]+),.*\n(.+)$/gm),
  ].map(([, seconds, uri]) => ({ seconds: Number(seconds), bits: 8 * read(`hls/${folder}${uri}`).length }));
  const [bits, seconds] = [
    segments.reduce((sum, segment) => sum + segment.bits, 0),
    segments.reduce((sum, segment) => sum + segment.seconds, 0),
  ];
  const rates = segments.filter((segment) => segment.seconds >= 1).map((segment) => segment.bits / segment.seconds);
  return { peak: Math.max(...rates, bits / seconds), average: bits / seconds };
}

const SOUND = 'sound/index.m3u8';
const kilobits = (rate: number): number => Math.ceil(rate / 1_000) * 1_000;

/** ffmpeg writes the bit rate that it was given for the picture: this one has what was measured, with the sound. */
function ladder(read: Read): Buffer {
  const sound = rateOf(read, SOUND);
  const text = read('hls/main.m3u8')
    .toString()
    .replace(/^(#EXT-X-VERSION:\d+)\n(?!#EXT-X-INDEPENDENT)/m, '$1\n#EXT-X-INDEPENDENT-SEGMENTS\n')
    .replace(/^#EXT-X-MEDIA:TYPE=AUDIO(?!.*,LANGUAGE=).*$/m, '$&,LANGUAGE="en"')
    .replaceAll(/^#EXT-X-STREAM-INF:(.*)\n(.+)$/gm, (_, given: string, uri: string) => {
      const own = rateOf(read, uri);
      const added = uri === SOUND ? { peak: 0, average: 0 } : sound;
      const others = given.replaceAll(/(?:^|,)(?:AVERAGE-)?BANDWIDTH=\d+/g, '').replace(/^,/, '');
      const picture = uri === SOUND || others.includes('FRAME-RATE') ? '' : ',FRAME-RATE=25.000,CLOSED-CAPTIONS=NONE';
      const peak = `BANDWIDTH=${kilobits(own.peak + added.peak)}`;
      const average = `AVERAGE-BANDWIDTH=${kilobits(own.average + added.average)}`;
      return `#EXT-X-STREAM-INF:${peak},${average},${others}${picture}\n${uri}`;
    });
  return Buffer.from(text);
}

export const DERIVED: Readonly<Record<string, (read: Read) => Buffer>> = {
  'h264-rotated.mp4': (read) => rotated(read('h264-plain.mp4')),

  'c2pa/tampered.jpg': (read) => tampered(read('c2pa/signed.jpg')),

  'broken/cut.mp4': (read) => half(read('h264-aac-index-last.mp4')),
  'broken/cut-index-first.mp4': (read) => half(read('h264-aac.mp4')),
  'broken/hole.ts': (read) => hole(read('mpeg2-interlaced.ts')),
  'broken/renamed.mkv': (read) => read('h264-aac.mp4'),
  'broken/text.mp4': () => Buffer.from('This is text, whatever its name says.\n'),
  'broken/empty.mp4': () => Buffer.alloc(0),

  'hls/main.m3u8': ladder,

  'hls-faults/main.m3u8': () =>
    lines(
      '#EXTM3U',
      '#EXT-X-VERSION:6',
      '#EXT-X-STREAM-INF:BANDWIDTH=50000,RESOLUTION=1920x1080,CODECS="avc1.4d400d"',
      'low.m3u8',
    ),
  'hls-faults/low.m3u8': () =>
    lines(
      '#EXTM3U',
      '#EXT-X-VERSION:6',
      '#EXT-X-TARGETDURATION:2',
      '#EXT-X-PLAYLIST-TYPE:VOD',
      '#EXT-X-MAP:URI="init.mp4"',
      '#EXTINF:2.000,',
      '0.m4s',
      '#EXTINF:9.000,',
      '1.m4s',
      '#EXTINF:2.000,',
      'missing.m4s',
      '#EXT-X-ENDLIST',
    ),
  'hls-faults/init.mp4': (read) => read('hls/low/init_0.mp4'),
  'hls-faults/0.m4s': (read) => read('hls/low/0.m4s'),
  'hls-faults/1.m4s': (read) => read('hls/low/1.m4s'),
};
