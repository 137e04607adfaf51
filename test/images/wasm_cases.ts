/** What the outputs of MediaInfo's compiled versions are compared on: sources by name, and options. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { coveredWav } from '../../src/service/runner/verify_sample.ts';

/** An ID3 tag, by one text frame in UTF-16, before a frame of MPEG audio that is all zeros. */
function titledMp3(title: string): Buffer {
  const text = Buffer.concat([Buffer.from('\u0001\u00ff\u00fe', 'latin1'), Buffer.from(title, 'utf16le')]);
  const frame = Buffer.concat([Buffer.from('TIT2\0\0\0\0\0\0', 'latin1'), text]);
  frame.writeUInt32BE(text.length, 4);
  const head = Buffer.from('ID3\u0003\0\0\0\0\0', 'latin1');
  const audio = Buffer.alloc(417);
  audio.writeUInt32BE(0xff_fb_90_00);
  return Buffer.concat([head, Buffer.from([frame.length]), frame, audio, audio, audio]);
}

const tests = join(import.meta.dirname, '..');
const clip = await readFile(join(tests, 'fixtures', 'tiny.mp4'));

export const SOURCES: Readonly<Record<string, Buffer>> = {
  'tiny.mp4': clip,
  'cover.wav': coveredWav(),
  'two_tracks.mkv': await readFile(join(tests, 'policy', 'media', 'two_tracks.mkv')),
  'a.jpg': await readFile(join(tests, 'fixtures', 'c2pa', 'a.jpg')),
  'title.mp3': titledMp3('\u{1f3ac} \u00e9 \u4e2d'),
  // Broken: cut within its index, its head is missing, and not media at all.
  'cut.mp4': clip.subarray(0, 12_000),
  'headless.mp4': clip.subarray(48),
  'text.txt': Buffer.from('not media\n'.repeat(100)),
  'empty.mp4': Buffer.alloc(0),
};

const OF_RUNNERS = ['--Output=JSON', '--Language=raw', '--ParseSpeed=0.5', '--ReadByHuman=0'];

export const CASES: readonly (readonly [source: string, ...options: string[]])[] = [
  ...Object.keys(SOURCES).map((source): [string, ...string[]] => [source, ...OF_RUNNERS]),
  ['tiny.mp4'],
  ['tiny.mp4', '--Full'],
  ['tiny.mp4', '--Output=JSON', '--Full'],
  ['tiny.mp4', '--Output=XML'],
  ['tiny.mp4', '--Output=OLDXML'],
  ['tiny.mp4', '--Output=HTML'],
  ['tiny.mp4', '--Inform=General;%Format%: %FileSize% é\n'],
  ['tiny.mp4', '--Details=1', '--Output=Text', '--ParseSpeed=0'],
  ['two_tracks.mkv', '--Output=XML', '--Full'],
  ['cover.wav', '--Output=JSON', '--Cover_Data=base64'],
  ['title.mp3'],
  ['title.mp3', '--Output=XML'],
  ['cut.mp4'],
  ['text.txt', '--Output=XML'],
];
