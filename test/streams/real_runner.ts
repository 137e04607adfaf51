/**
 * The path of a real runner from an assignment to results, with the tools of the images that are built here: launcher,
 * source proxy, verdict on the output.
 */
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unpack } from '../../images/archive.ts';
import { cachedTools } from '../../images/cached.ts';
import type { Entry } from '../../images/catalog.ts';
import { runJob } from '../../src/service/runner/job.ts';
import { Launcher } from '../../src/service/runner/launcher.ts';
import { JobSource } from '../../src/service/runner/source.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import type { ParseOptions } from '../../src/source/protocols/protocol.ts';
import { startProxy, type ProxyOptions } from '../../src/source/proxy.ts';
import { startLauncher } from '../runner/built_launcher.ts';

const NAMES = ['ffprobe', 'mediainfo', 'qc'] as const;
export type ToolName = (typeof NAMES)[number];
export type ToolEntry = Entry & { tool: ToolName };
export interface Outcome {
  tool: ToolName;
  version: string;
  success: boolean;
  failure: string | undefined;
  error: string | undefined;
  output: string;
  ms: number;
}
export interface Answered {
  tools: Outcome[];
  io: number;
  source: { failure: string; status?: number; message: string } | undefined;
  /** Everything that was logged meanwhile. */ log: string;
}

export interface RealRunner {
  entries: readonly ToolEntry[];
  /** Of the launcher, whose children are the tools. */
  pid: number;
  /** Several may run at once. */
  run(
    source: string,
    options?: {
      timeoutMs?: number;
      of?: (entry: ToolEntry) => boolean;
      options?: Partial<Record<ToolName, Record<string, string>>>;
    },
  ): Promise<Answered>;
  close(): Promise<void>;
}

/** Tool images that are built here; none if the tests run without them. */
export async function builtTools(
  which: (entry: ToolEntry) => boolean,
): Promise<{ entry: ToolEntry; archive: string }[]> {
  const all = await cachedTools();
  return all.flatMap(({ entry, image }) =>
    NAMES.some((name) => name === entry.tool) && image !== undefined && which(entry as ToolEntry)
      ? [{ entry: entry as ToolEntry, archive: image.archive }]
      : [],
  );
}

export async function startRealRunner(
  which: (entry: ToolEntry) => boolean,
  proxyOptions: ProxyOptions,
  parse: ParseOptions = {},
): Promise<RealRunner> {
  const directory = await mkdtemp(join(tmpdir(), 'probeyard-tools-'));
  await chmod(directory, 0o755);
  const built = await builtTools(which);
  for (const { entry, archive } of built) {
    const place = join(directory, entry.tool, entry.version);
    if (existsSync(place)) continue;
    await mkdir(place, { recursive: true });
    await unpack(archive, place);
  }
  const lines: string[] = [];
  const note = (fields: object, message: string): void => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  const launched = await startLauncher();
  const launcher: Launcher = new Launcher(launched.socket, { cleanMs: 3_000 });
  const proxy = await startProxy({ ...proxyOptions, log: { debug: note, warn: note } });
  await launcher.whenConnected(10_000);
  const settings = { toolsDir: directory, nodePath: process.execPath, outputBytes: 64 << 20, memoryBytes: 2 ** 30 };
  return {
    entries: built.map(({ entry }) => entry),
    pid: launched.pid,
    async run(source, { timeoutMs = 60_000, of = () => true, options = {} } = {}) {
      const tools = built
        .filter(({ entry }) => of(entry))
        .map(({ entry: { tool, version, command } }) => ({
          name: tool,
          version,
          timeoutMs,
          options: options[tool] ?? {},
          command: [...command],
        }));
      const assignment = {
        kind: 'file' as const,
        source: parseSource(source, parse),
        tools,
        timeoutMs,
        maxBytes: 1e9,
        allow: [],
        report: { enabled: false, diff: false, prefer: null },
      };
      const opened = new JobSource(proxy, assignment);
      try {
        void opened.prepare();
        const { signal } = new AbortController();
        const body = await runJob({ assignment, remainingMs: timeoutMs, launcher, source: opened, settings, signal });
        const found = body.tools.map(({ name, version, success, failure, error, output, durationMs }) => ({
          tool: name as ToolName,
          version,
          success,
          failure,
          error,
          output: output === null ? '' : opened.redact(output.toString()),
          ms: Math.round(durationMs),
        }));
        return { tools: found, io: body.ioUsage, source: body.source, log: lines.splice(0).join('\n') };
      } finally {
        opened.close();
      }
    },
    async close() {
      launcher.close();
      await proxy.close();
      await launched.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
