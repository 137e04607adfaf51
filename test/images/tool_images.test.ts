import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { cachedTools } from '../../images/cached.ts';
import { type Sandbox, versionArgs, versionIn, withSandbox } from '../../images/sandbox.ts';

const awaited = await cachedTools();
const clip = join(import.meta.dirname, '..', 'fixtures', 'tiny.mp4');
const FFPROBE = ['-v', 'error', '-show_format', '-show_streams', '-of', 'json', '/tiny.mp4'];
const MEDIAINFO = ['--Output=JSON', '--Language=raw', '--ParseSpeed=0.5', '/tiny.mp4'];

interface Ffprobe {
  format: { format_name: string; duration: string; nb_streams: number };
  streams: { codec_name: string; width?: number; height?: number; channels?: number; nb_frames?: string }[];
}
interface Mediainfo {
  media: { '@ref': string; track: Record<string, string>[] };
}

describe('tool images, each alone in an empty root', function () {
  this.timeout(120_000);

  if (process.getuid?.() !== 0) {
    it.skip('skipped: chroot needs root');
    return;
  }

  for (const { entry, image } of awaited) {
    const name = `${entry.tool} ${entry.version}`;
    if (image === undefined) {
      it.skip(`${name}: skipped, its image is not built here (npm exec -- node images/build.ts ${entry.tool}-${entry.version})`);
      continue;
    }
    it(`${name} holds the tool and its libraries, reports ${entry.exact}, and reads a clip`, () =>
      withSandbox(entry, image, [clip], async (sandbox) => {
        const place = join(sandbox.root, 'tools', entry.tool, entry.version);
        assert.deepEqual((await readdir(place)).filter((folder) => folder !== 'bin' && folder !== 'lib'), []);
        const said = await sandbox.run(versionArgs(entry));
        assert.equal(said.stderr, '', 'nothing is missing that the loader would warn of');
        assert.equal(versionIn(entry, said.stdout), entry.exact);
        await (entry.tool === 'ffprobe' ? readWithFfprobe(sandbox) : readWithMediainfo(sandbox));
      }));
  }
});

async function readWithFfprobe(sandbox: Sandbox): Promise<void> {
  const { code, stdout, stderr } = await sandbox.run(FFPROBE);
  assert.equal(code, 0, stderr);
  const { format, streams } = JSON.parse(stdout) as Ffprobe;
  assert.match(format.format_name, /mp4/);
  assert.equal(Number(format.duration), 2);
  assert.deepEqual(streams.map(({ codec_name }) => codec_name), ['h264', 'aac']);
  assert.deepEqual([streams[0]?.width, streams[0]?.height, streams[0]?.nb_frames, streams[1]?.channels], [128, 72, '50', 2]);
}

async function readWithMediainfo(sandbox: Sandbox): Promise<void> {
  const { code, stdout, stderr } = await sandbox.run(MEDIAINFO);
  assert.equal(code, 0, stderr);
  const { media } = JSON.parse(stdout) as Mediainfo;
  assert.equal(media['@ref'], '/tiny.mp4');
  const [general, video, audio] = media.track;
  assert.deepEqual([general?.['@type'], general?.['Format'], Number(general?.['Duration'])], ['General', 'MPEG-4', 2]);
  assert.deepEqual([video?.['Format'], video?.['Width'], video?.['Height'], video?.['FrameCount']], ['AVC', '128', '72', '50']);
  assert.deepEqual([audio?.['Format'], audio?.['Channels']], ['AAC', '2']);
}
