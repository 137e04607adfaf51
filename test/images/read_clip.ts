/** A clip read by a tool of an image, from a file and over HTTP: every version must see the same. */
import assert from 'node:assert/strict';
import { basename, dirname, join } from 'node:path';
import type { Entry } from '../../images/catalog.ts';
import { type Sandbox, versionArgs, versionIn } from '../../images/sandbox.ts';
import { startOrigin } from '../node/origin.ts';

export const clip = join(import.meta.dirname, '..', 'fixtures', 'tiny.mp4');
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

/** An origin of the clip on this machine, and its address there. */
export async function serveClip(): Promise<{ address: string; close(): Promise<void> }> {
  const { url, close } = await startOrigin('127.0.0.1', dirname(clip));
  return { address: `${url}/${basename(clip)}`, close };
}

/** Its version is the catalog's, nothing is missing that the loader would warn of, and it reads the clip. */
export async function readsClip(entry: Entry, sandbox: Sandbox, sources: readonly string[]): Promise<void> {
  const said = await sandbox.run(versionArgs(entry));
  assert.equal(said.stderr, '', 'nothing is missing that the loader would warn of');
  assert.equal(versionIn(entry, said.stdout), entry.exact);
  for (const source of sources) await READ[entry.tool]?.(sandbox, source);
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
