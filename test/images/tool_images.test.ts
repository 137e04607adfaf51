import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { cachedTools } from '../../images/cached.ts';
import { type Sandbox, versionArgs, versionIn, withSandbox } from '../../images/sandbox.ts';

const awaited = await cachedTools();
const clip = join(import.meta.dirname, '..', 'fixtures', 'tiny.mp4');
const FFPROBE = ['-v', 'error', '-show_format', '-show_streams', '-of', 'json'];
const MEDIAINFO = ['--Output=JSON', '--Language=raw', '--ParseSpeed=0.5'];

interface Ffprobe {
  format: { format_name: string; duration: string; nb_streams: number };
  streams: { codec_name: string; width?: number; height?: number; channels?: number; nb_frames?: string }[];
}
interface Mediainfo {
  media: { '@ref': string; track: Record<string, string>[] };
}

const READ: Readonly<Record<string, (sandbox: Sandbox, source: string) => Promise<void>>> = {
  ffprobe: readWithFfprobe,
  mediainfo: readWithMediainfo,
  c2pa: readWithC2pa,
};

describe('tool images, each alone in an empty root', function () {
  this.timeout(120_000);

  if (process.getuid?.() !== 0) {
    it.skip('skipped: chroot needs root');
    return;
  }

  let origin: Server;
  let address: string;
  before(async () => {
    origin = await serve(await readFile(clip));
    address = `http://127.0.0.1:${(origin.address() as AddressInfo).port}/tiny.mp4`;
  });
  after(() => {
    origin.closeAllConnections();
    origin.close();
  });

  for (const { entry, image } of awaited) {
    const name = `${entry.tool} ${entry.version}`;
    if (image === undefined) {
      it.skip(
        `${name}: skipped, its image is not built here ` +
          `(npm exec -- node images/build.ts ${entry.tool}-${entry.version})`,
      );
      continue;
    }
    it(`${name} has its libraries, reports ${entry.exact}, and reads a clip from a file and over http`, () =>
      withSandbox(entry, image, [clip], async (sandbox) => {
        const place = join(sandbox.root, 'tools', entry.tool, entry.version);
        assert.deepEqual(
          (await readdir(place)).filter((folder) => folder !== 'bin' && folder !== 'lib'),
          [],
        );
        const said = await sandbox.run(versionArgs(entry));
        assert.equal(said.stderr, '', 'nothing is missing that the loader would warn of');
        assert.equal(versionIn(entry, said.stdout), entry.exact);
        await READ[entry.tool]?.(sandbox, '/tiny.mp4');
        await READ[entry.tool]?.(sandbox, address);
      }));
  }
});

/** With ranges, like the source proxy of a runner. */
async function serve(content: Buffer): Promise<Server> {
  const server = createServer((request, response) => {
    const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const part = content.subarray(Number(from), to === '' ? undefined : Number(to) + 1);
    if (request.headers.range === undefined)
      response.writeHead(200, { 'accept-ranges': 'bytes', 'content-length': part.length });
    else
      response.writeHead(206, {
        'content-range': `bytes ${from}-${Number(from) + part.length - 1}/${content.length}`,
        'content-length': part.length,
      });
    response.end(part);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function readWithFfprobe(sandbox: Sandbox, source: string): Promise<void> {
  const { code, stdout, stderr } = await sandbox.run([...FFPROBE, source]);
  assert.equal(code, 0, stderr);
  const { format, streams } = JSON.parse(stdout) as Ffprobe;
  assert.match(format.format_name, /mp4/);
  assert.equal(Number(format.duration), 2);
  assert.deepEqual(
    streams.map(({ codec_name }) => codec_name),
    ['h264', 'aac'],
  );
  assert.deepEqual(
    [streams[0]?.width, streams[0]?.height, streams[0]?.nb_frames, streams[1]?.channels],
    [128, 72, '50', 2],
  );
}

async function readWithMediainfo(sandbox: Sandbox, source: string): Promise<void> {
  const { code, stdout, stderr } = await sandbox.run([...MEDIAINFO, source]);
  assert.equal(code, 0, stderr);
  const { media } = JSON.parse(stdout) as Mediainfo;
  assert.equal(media['@ref'], source);
  const [general, video, audio] = media.track;
  assert.deepEqual([general?.['@type'], general?.['Format'], Number(general?.['Duration'])], ['General', 'MPEG-4', 2]);
  assert.deepEqual(
    [video?.['Format'], video?.['Width'], video?.['Height'], video?.['FrameCount']],
    ['AVC', '128', '72', '50'],
  );
  assert.deepEqual([audio?.['Format'], audio?.['Channels']], ['AAC', '2']);
}

async function readWithC2pa(sandbox: Sandbox, source: string): Promise<void> {
  const { code, stdout, stderr } = await sandbox.run([source]);
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), {
    active_manifest: null,
    manifests: {},
    validation_state: null,
    validation_results: null,
    summary: { state: 'none', signer: null, declared_ai: null, actions: [] },
  });
}
