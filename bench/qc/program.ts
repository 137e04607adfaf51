/** The content checks of a file on this machine: the image's own ffmpeg, with the product's graph and reader. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, dirname } from 'node:path';
import { unpack } from '../../images/archive.ts';
import { cachedTools } from '../../images/cached.ts';
import { qcGatherer } from '../../src/media/qc/gather.ts';
import { graphOf, type QcStream } from '../../src/media/qc/graph.ts';
import type { QcReport } from '../../src/media/qc/schema.ts';
import { streamsIn } from '../../src/service/runner/qc.ts';
import { qc } from '../../src/media/tools/qc.ts';
import { keepsPictures, thresholdsOf } from '../../src/media/tools/qc_options.ts';
import { withoutResult, type AssignedTool } from '../../src/platform/bus/messages.ts';
import { serveFile } from '../../test/node/origin.ts';

/** A tool of an image, unpacked into a folder. */
export async function toolIn(name: 'qc' | 'ffprobe', folder: string, wanted?: string): Promise<AssignedTool> {
  const found = (await cachedTools()).find(
    // The newest stands first.
    ({ entry, image }) => entry.tool === name && image && (wanted === undefined || entry.version === wanted),
  );
  if (!found?.image) throw new Error(`the image of ${name} is not built: make images`);
  const { entry, image } = found;
  mkdirSync(folder, { recursive: true });
  await unpack(image.archive, folder);
  const command = entry.command.map((part) => part.replaceAll('{root}', folder));
  return { name, version: entry.version, timeoutMs: 60_000, options: {}, command };
}

/** As a runner takes them from ffprobe. */
function streamsOf(file: string): QcStream[] {
  const args = ['-v', 'error', '-show_streams', '-show_format', '-of', 'json', file];
  // It ends with an error where the file is damaged.
  const { stdout } = spawnSync('ffprobe', args, { maxBuffer: 64 << 20 });
  return (
    streamsIn({
      ...withoutResult({ name: 'ffprobe', version: 'any' }),
      success: true,
      format: 'json',
      output: stdout,
    }) ?? []
  );
}

/** Null: nothing in it can be checked. */
export async function checked(
  [program, ...first]: readonly string[],
  file: string,
  options: Record<string, string> = {},
): Promise<QcReport | null> {
  const streams = streamsOf(file);
  const thresholds = thresholdsOf(options);
  const graph = graphOf(streams, thresholds, keepsPictures(options));
  if (graph.checked.length === 0) return null;
  const gathered = qcGatherer(graph, thresholds);
  const server = createServer((request, response) => void serveFile(dirname(file), request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${basename(file)}`;
  const args = [...first, ...qc.args(options, address, { wallMs: 0, streams })];
  const running = spawn(program!, args, { cwd: dirname(file), stdio: ['ignore', 'pipe', 'ignore'] });
  running.stdout.on('data', (bytes: Buffer) => gathered.push(bytes));
  const [code] = (await once(running, 'close')) as [number | null];
  server.close();
  return gathered.told(code === 0 ? undefined : `exit code ${code}`);
}
