/** `probeyard ffprobe` and `probeyard mediainfo` beside the same binaries, on real files: byte for byte. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { execute, startInstallation, type Installation } from './rig.ts';

const root = join(import.meta.dirname, '../..');
const policyMedia = join(root, 'test/policy/media');

const FFPROBE: string[][] = [
  [],
  ['-show_format'],
  ['-v', 'quiet', '-print_format', 'json', '-show_format', '-show_streams'],
  ['-loglevel', 'error', '-of', 'xml', '-show_streams', '-show_chapters', '-show_programs'],
  ['-of', 'csv', '-show_packets', '-select_streams', 'v:0', '-read_intervals', '%+#5'],
  ['-of', 'flat', '-show_entries', 'stream=index,codec_name:format=duration,filename'],
  ['-of', 'ini', '-show_format', '-pretty'],
  ['-of', 'json', '-show_frames', '-select_streams', 'a:0', '-read_intervals', '%+#3'],
  ['-of', 'json', '-count_packets', '-show_streams', '-show_data_hash', 'md5'],
  ['-of', 'json', '-show_error'],
  ['-hide_banner', '-show_streams', '-probesize', '100000'],
  ['-v', 'error', '-show_entries', 'format=duration', '-of', 'default=noprint_wrappers=1:nokey=1'],
  ['-v', 'error', '-select_streams', 'v:0', '-show_entries', 'stream=width,height', '-of', 'csv=s=x:p=0'],
  ['-of', 'json=compact=1', '-show_format', '-show_entries', 'stream=codec_name', '-show_entries', 'stream=index'],
  ['-of', 'compact=p=0', '-show_streams', '-probesize', '1M'],
];

/** Writers, with options that change how an error and the name of a file are printed. */
const WRITTEN = [
  'default',
  'default=nw=1:nk=1',
  'compact',
  'compact=s=x:nk=1:p=0',
  'csv',
  'csv=p=0',
  'csv=s=x:nk=0',
  'flat',
  'flat=s=_',
  'ini',
  'json',
  'json=c=1',
  'xml',
  'xml=q=1',
];

const MEDIAINFO: string[][] = [
  [],
  ['-f'],
  ['--Output=JSON'],
  ['--Output=XML'],
  ['--Output=HTML'],
  ['--Language=raw', '--Output=Text'],
  ['--Language=de'],
];

describe('the tools as services', function () {
  this.timeout(240_000);
  const media = mkdtempSync(join(tmpdir(), 'probeyard-media-'));
  let here: Installation;
  let base: string;
  before(async function () {
    cpSync(join(root, 'test/fixtures/tiny.mp4'), join(media, 'tiny.mp4'));
    for (const name of readdirSync(policyMedia)
      .filter((file) => /\.(?:mkv|mov|wav|m4a|ts|mp4)$/.test(file))
      .slice(0, 3))
      cpSync(join(policyMedia, name), join(media, name));
    writeFileSync(join(media, 'broken.mp4'), 'these are no media');
    here = await startInstallation(
      [
        { tool: 'ffprobe', version: '9.0', latest: true },
        { tool: 'ffprobe', version: '4.4' },
        { tool: 'mediainfo', version: '26.10', latest: true },
      ],
      this,
    );
    base = (await here.origin(media)).url;
  });
  after(async () => {
    await here?.stop();
    rmSync(media, { recursive: true, force: true });
  });

  async function same(tool: 'ffprobe' | 'mediainfo', version: string, args: readonly string[], source: string) {
    const own = await execute([...here.binary(tool, version), ...args, source]);
    const served = await here.probeyard([tool, ...args, source], {
      env: { [`PROBEYARD_${tool.toUpperCase()}_VERSION`]: version },
    });
    assert.equal(served.stdout.toString(), own.stdout.toString(), `${source}\n${served.stderr}`);
    assert.equal(served.code, own.code, `${source}: ${served.stderr}`);
  }
  /** Each set of flags on one file, and on another one that changes from set to set. */
  const files = (place: number): string[] => {
    const others = readdirSync(media).filter((name) => name !== 'tiny.mp4');
    return ['tiny.mp4', others[place % others.length]!];
  };

  for (const [place, args] of FFPROBE.entries())
    it(`ffprobe ${args.join(' ')}`, async () => {
      for (const file of files(place)) await same('ffprobe', '9.0', args, `${base}/${file}`);
    });
  it('a line that prints nothing else has the summary on stderr', async () => {
    const said = (stderr: string) =>
      stderr.split('\n').filter((line) => /^(?:Input #|  Duration:|  Stream #)/.test(line));
    for (const args of [[], ['-hide_banner'], ['-v', 'error'], ['-pretty', '-select_streams', 'a']]) {
      const [line, env] = [[...args, `${base}/tiny.mp4`], { PROBEYARD_FFPROBE_VERSION: '9.0' }];
      const own = await execute([...here.binary('ffprobe', '9.0'), ...line]);
      const served = await here.probeyard(['ffprobe', ...line], { env });
      assert.deepEqual(said(served.stderr), said(own.stderr));
      assert.equal(served.stdout.toString(), '');
    }
  });
  it('ffprobe of files of this machine, which are sent', async () => {
    for (const args of FFPROBE) await same('ffprobe', '9.0', args, join(media, 'tiny.mp4'));
    await same('ffprobe', '9.0', ['-show_format'], `file:${join(media, 'tiny.mp4')}`);
  });

  it('ffprobe of what cannot be opened, as it says itself', async () => {
    const places = [join(media, 'none.mp4'), media, join(media, 'tiny.mp4', 'inside.mp4')];
    for (const [number, place] of places.entries()) {
      for (const format of number === 0 ? WRITTEN : ['json'])
        for (const more of [[], ['-show_error']])
          await same('ffprobe', '9.0', ['-v', 'quiet', '-of', format, '-show_streams', ...more], place);
      const args = ['-v', 'error', place];
      const own = await execute([...here.binary('ffprobe', '9.0'), ...args]);
      assert.equal((await here.probeyard(['ffprobe', ...args])).stderr, own.stderr);
    }
  });

  it('a file with an odd name, in the escapes of each format', async () => {
    const odd = join(mkdtempSync(join(media, 'folder-')), 'a = b & c: "d" $e, <é>.mp4');
    cpSync(join(media, 'tiny.mp4'), odd);
    for (const format of [...WRITTEN, 'csv=e=c', 'compact=e=csv', 'compact=e=none'])
      await same('ffprobe', '9.0', ['-of', format, '-show_entries', 'format=filename'], odd);
    rmSync(join(odd, '..'), { recursive: true });
  });

  it('ffprobe of stdin', async () => {
    const input = readFileSync(join(media, 'tiny.mp4'));
    for (const name of ['-', 'pipe:0', 'pipe:', 'fd:']) {
      const args = ['-of', 'json', '-show_format', '-show_streams', name];
      const own = await execute([...here.binary('ffprobe', '9.0'), ...args], { input });
      const served = await here.probeyard(['ffprobe', ...args], { input, env: { PROBEYARD_FFPROBE_VERSION: '9.0' } });
      // A pipe has no size; the service has the whole file.
      const known = /^ +"(?:size|bit_rate)": .*\n/gm;
      assert.equal(
        served.stdout.toString().replaceAll(known, ''),
        own.stdout.toString().replaceAll(known, ''),
        served.stderr,
      );
    }
  });

  it('-version prints the line of the version', async () => {
    const served = await here.probeyard(['ffprobe', '-version'], { env: { PROBEYARD_FFPROBE_VERSION: '4' } });
    assert.match(served.stdout.toString(), /^ffprobe version 4\.4.*\n$/, served.stderr);
  });

  it('a default that a build lacks is left out of a second call, but stdin is sent once', async () => {
    const seen: boolean[] = [];
    // What the service answers for a build without languages, and an end for the second call.
    const lacking = createServer((incoming, outgoing) => {
      void text(incoming).then((body) => {
        seen.push(body.includes('"language"'));
        const error = seen.at(-1) ? 'mediainfo.language: mediainfo 24.06 does not have this option' : 'url: enough';
        outgoing.writeHead(400, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error }));
      });
    }).listen(0, '127.0.0.1');
    await once(lacking, 'listening');
    const env = { PROBEYARD_URL: `http://127.0.0.1:${(lacking.address() as AddressInfo).port}` };
    const again = await here.probeyard(['mediainfo', join(media, 'tiny.mp4')], { env });
    assert.match(again.stderr, /url: enough/);
    const input = readFileSync(join(media, 'tiny.mp4'));
    const stdin = await here.probeyard(['mediainfo', '-'], { env, input });
    lacking.close();
    assert.match(stdin.stderr, /mediainfo 24\.06 does not have this option/);
    assert.deepEqual(seen, [true, false, true]);
  });

  it('ffprobe of another version', () => same('ffprobe', '4.4', FFPROBE[2]!, `${base}/tiny.mp4`));

  for (const [place, args] of MEDIAINFO.entries())
    it(`mediainfo ${args.join(' ')}`, async () => {
      for (const file of files(place)) await same('mediainfo', '26.10', args, `${base}/${file}`);
    });
  for (const args of MEDIAINFO)
    it(`mediainfo ${args.join(' ')} of several inputs`, async () => {
      const others = [...files(0), 'broken.mp4'].map((file) => `${base}/${file}`);
      await same('mediainfo', '26.10', [...args, ...others], `${base}/tiny.mp4`);
    });
});
