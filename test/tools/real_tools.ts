/**
 * The tools' own binaries from the images that are built here, run like in a runner: launcher, source proxy, verdict on
 * the output.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpack } from '../../images/archive.ts';
import { cachedTools } from '../../images/cached.ts';
import type { Entry } from '../../images/catalog.ts';
import { Launcher } from '../../src/service/runner/launcher.ts';
import { runJob } from '../../src/service/runner/job.ts';
import type { RawToolResult } from '../../src/service/runner/output.ts';
import { JobSource } from '../../src/service/runner/source.ts';
import { verify } from '../../src/service/runner/verify.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import type { ProbeReport } from '../../src/media/report/schema.ts';
import type { ProofLine } from '../../src/media/tools/proof.ts';
import { startProxy, type SourceProxy } from '../../src/source/proxy.ts';
import { startLauncher, type LauncherProcess } from '../runner/built_launcher.ts';

type ToolEntry = Entry & { tool: 'ffprobe' | 'mediainfo' };

export interface RealTools {
  /** Tools whose image is built here. */
  entries: ToolEntry[];
  run(entry: Entry, options: Record<string, string>): Promise<RawToolResult>;
  /** The report of ffprobe alone on this file. */
  report(entry: Entry, file: Buffer, extension: string): Promise<ProbeReport>;
  prove(entry: ToolEntry): Promise<ProofLine>;
  stop(): Promise<void>;
}

const isTool = (entry: Entry): entry is ToolEntry => entry.tool === 'ffprobe' || entry.tool === 'mediainfo';

export async function startRealTools(): Promise<RealTools> {
  const directory = await mkdtemp(join(tmpdir(), 'probeyard-tools-'));
  await chmod(directory, 0o755);
  const built = (await cachedTools()).filter(({ entry, image }) => image !== undefined && isTool(entry));
  for (const { entry, image } of built) {
    const place = join(directory, entry.tool, entry.version);
    await mkdir(place, { recursive: true });
    await unpack(image!.archive, place);
  }
  let clip: Buffer = readFileSync(join(import.meta.dirname, '..', 'fixtures', 'tiny.mp4'));
  const origin: Server = createServer((request, response) => {
    const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const part = clip.subarray(Number(from), to === '' ? undefined : Number(to) + 1);
    const head = { 'content-type': 'video/mp4', 'accept-ranges': 'bytes', 'content-length': part.length };
    if (request.headers.range === undefined) response.writeHead(200, head);
    else
      response.writeHead(206, {
        ...head,
        'content-range': `bytes ${from}-${Number(from) + part.length - 1}/${clip.length}`,
      });
    response.end(part);
  });
  await new Promise<void>((resolve) => {
    origin.listen(0, '127.0.0.1', resolve);
  });
  const source = `http://127.0.0.1:${(origin.address() as AddressInfo).port}/dir/tiny.mp4?sig=s3cret`;
  const process_: LauncherProcess = await startLauncher();
  const launcher: Launcher = new Launcher(process_.socket, { cleanMs: 3_000 });
  const proxy: SourceProxy = await startProxy({ allow: [{ cidr: '127.0.0.1/32' }] });
  await launcher.whenConnected(5_000);
  const settings = { toolsDir: directory, nodePath: process.execPath, outputBytes: 64 << 20, memoryBytes: 2 ** 30 };

  return {
    entries: built.map(({ entry }) => entry as ToolEntry),
    async run({ tool, version, command }, options) {
      const assignment = {
        kind: 'file' as const,
        source: parseSource(source),
        tools: [{ name: tool, version, timeoutMs: 60_000, options, command: [...command] }],
        timeoutMs: 60_000,
        maxBytes: 1e9,
        allow: [],
        report: { enabled: false, diff: false, prefer: null },
      };
      const opened = new JobSource(proxy, assignment);
      try {
        const { signal } = new AbortController();
        const { tools } = await runJob({ assignment, remainingMs: 60_000, launcher, source: opened, settings, signal });
        const result = tools[0]!;
        return {
          ...result,
          output: result.output === null ? null : Buffer.from(opened.redact(result.output.toString())),
        };
      } finally {
        opened.close();
      }
    },
    async report({ tool, version, command }, file, extension) {
      clip = file;
      const assignment = {
        kind: 'file' as const,
        source: parseSource(source.replace('tiny.mp4', `own.${extension}`)),
        tools: [{ name: tool, version, timeoutMs: 60_000, options: {}, command: [...command] }],
        timeoutMs: 60_000,
        maxBytes: 1e9,
        allow: [],
        report: { enabled: true, diff: true, prefer: null },
      };
      const opened = new JobSource(proxy, assignment);
      try {
        const { signal } = new AbortController();
        const { report } = await runJob({
          assignment,
          remainingMs: 60_000,
          launcher,
          source: opened,
          settings,
          signal,
        });
        return JSON.parse(report!.output!.toString()) as ProbeReport;
      } finally {
        opened.close();
      }
    },
    prove: ({ tool, version, command }) => verify({ tool, version, command: [...command] }, settings),
    async stop() {
      launcher.close();
      await proxy.close();
      await process_.stop();
      origin.closeAllConnections();
      origin.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
