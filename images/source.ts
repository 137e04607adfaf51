/**
 * Builds and runs the source recipes on the releases that Debian has unmodified (`proofs` in the catalog), and on every
 * version of the catalog that is built from source, if its release is available. `npm exec -- node images/source.ts
 * [version...]`.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type BuiltImage, realise } from './built_image.ts';
import { type Entry, readCatalog, type SourceOf } from './catalog.ts';
import { ImageError } from './image_error.ts';
import { say } from './progress.ts';
import { versionArgs, versionIn, withSandbox } from './sandbox.ts';
import { toolPlan } from './tool_image.ts';

const clip = join(import.meta.dirname, '..', 'test', 'fixtures', 'tiny.mp4');

interface Proof {
  entry: Entry;
  name: string;
}

function proofs(wanted: readonly string[]): Proof[] {
  const { tools, proofs: releases } = readCatalog();
  const ofCatalog = tools.filter(({ source }) => source.kind === 'upstream-source');
  const sample = ofCatalog.find(({ tool }) => tool === 'ffprobe');
  assert.ok(sample);
  const inCatalog = (tool: string, exact: string) =>
    ofCatalog.some((entry) => entry.tool === tool && entry.exact === exact);
  const extra = releases.filter(({ tool, exact }) => !inCatalog(tool, exact));
  const all = [
    ...extra.map(({ tool, exact, source }) => ({
      ...sample,
      tool: tool as Entry['tool'],
      version: exact,
      exact,
      command: commandOf(tool),
      source,
    })),
    ...ofCatalog,
  ];
  return all
    .map((entry) => ({ entry, name: `${entry.tool} ${entry.exact}` }))
    .filter(
      ({ entry, name }) =>
        wanted.length === 0 || wanted.some((word) => word === entry.exact || word === entry.version || word === name),
    );
}

async function prove({ entry }: Proof): Promise<BuiltImage> {
  const image = await realise(await toolPlan(entry));
  await withSandbox(entry, image, [clip], async ({ run }) => {
    const { stdout } = await run(versionArgs(entry));
    assert.equal(versionIn(entry, stdout), entry.exact);
    const read = await run(
      entry.tool === 'ffprobe'
        ? ['-v', 'error', '-show_streams', '-show_frames', '-of', 'json', '/tiny.mp4']
        : ['--Output=JSON', '/tiny.mp4'],
    );
    assert.equal(read.code, 0, read.stderr);
    const json = JSON.parse(read.stdout) as { frames?: unknown[]; media?: { track: unknown[] } | null };
    // 50 pictures and the sound, which shows that decoders are included, not only demuxers.
    if (entry.tool === 'ffprobe') assert.ok((json.frames?.length ?? 0) > 100, 'every frame was decoded');
    else assert.equal(json.media?.track.length, 3);
  });
  return image;
}

function commandOf(tool: string): string[] {
  const command = readCatalog().tools.find(
    (entry) => entry.tool === tool && entry.source.kind === 'upstream-source',
  )?.command;
  assert.ok(command, `the catalog builds no ${tool} from source`);
  return command;
}

function sourceOf({ entry }: Proof): string {
  return (entry.source as SourceOf<'upstream-source'>).tarballs
    .map(({ name, sha256 }) => `${name} ${sha256 === 'unknown' ? '(by its signature)' : sha256.slice(0, 12)}`)
    .join(', ');
}

let failed = 0;
for (const proof of proofs(process.argv.slice(2))) {
  try {
    const image = await prove(proof);
    say(`proven: ${proof.name} from ${sourceOf(proof)}, ${image.digest.slice(0, 19)}`);
  } catch (error) {
    const known =
      error instanceof ImageError && (error.code === 'SOURCE_UNAVAILABLE' || error.code === 'CHECKSUM_UNKNOWN');
    if (!known) failed++;
    say(`${known ? 'left out' : 'FAILED'}: ${proof.name}: ${(error as Error).message}`);
  }
}
process.exitCode = failed === 0 ? 0 : 1;
