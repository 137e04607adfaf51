/**
 * One installation in this process: API, controller and an agent with the real tools, on real servers. The command line
 * runs beside it as a process of its own.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { unpack } from '../../images/archive.ts';
import { cachedTools } from '../../images/cached.ts';
import type { Settings } from '../../src/service/api/deps.ts';
import { DEFAULTS } from '../api/default_settings.ts';
import { listen, type HttpServer } from '../../src/service/api/http/http_server.ts';
import { makeApp } from '../../src/service/api/server.ts';
import { wire, type Wired } from '../../src/service/api/wire.ts';
import { connectBus, type Bus } from '../../src/platform/bus/connect.ts';
import { RUNNER_PROTOCOL } from '../../src/platform/bus/messages.ts';
import { INBOX } from '../../src/platform/bus/permissions.ts';
import { KINDS } from '../../src/platform/kube/probe_job.ts';
import type { ProbeToolSpec } from '../../src/platform/kube/probe_tool.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { Agent } from '../../src/service/runner/agent.ts';
import { Launcher } from '../../src/service/runner/launcher.ts';
import { startProxy, type ProxyOptions, type SourceProxy } from '../../src/source/proxy.ts';
import { serveUploads } from '../../src/source/upload/serve.ts';
import { openSpool, type Spool } from '../../src/source/upload/spool.ts';
import { accountSettings } from '../api/fixture.ts';
import { startCluster, type Cluster } from '../controller/cluster_parts.ts';
import { startOrigin, type Handler, type Origin } from '../node/origin.ts';
import { PATIENCE } from '../patience.ts';
import { startLauncher, type LauncherProcess } from '../runner/built_launcher.ts';
import { ADMIN } from '../store/fixture.ts';

const allow = [{ cidr: '127.0.0.1/32' }];
const root = join(import.meta.dirname, '../..');

export interface Printed {
  code: number | null;
  stdout: Buffer;
  stderr: string;
}
export interface RunOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  input?: string | Buffer;
  timeoutMs?: number;
  /** The program; by default the sources. */
  program?: readonly string[];
}
export type Child = ChildProcessByStdio<null, Readable, Readable>;

const SOURCES = [process.execPath, join(root, 'src/cli/main.ts')];
const DEADLINE_MS = 60_000;
/** With the cache of compiled sources, a start of the command line takes a third of the CPU. */
const { PATH, NODE_COMPILE_CACHE } = process.env;
const COMMON = { PATH, NODE_COMPILE_CACHE };

/** Runs a program to its end; a hang is an error that shows what it printed. */
export function execute(
  command: readonly string[],
  { env, cwd, input = '', timeoutMs = DEADLINE_MS }: RunOptions = {},
): Promise<Printed> {
  const longestMs = PATIENCE * timeoutMs;
  return new Promise((resolve, reject) => {
    const child = spawn(command[0]!, command.slice(1), { cwd, env: { ...COMMON, ...env } });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    const late = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`not within ${longestMs} ms: ${command.join(' ')}\n${Buffer.concat(err).toString()}`));
    }, longestMs);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(late);
      resolve({ code, stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString() });
    });
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

export interface Installation {
  url: string;
  token: string;
  cluster: Cluster;
  /** Environment of the command line. */
  env: NodeJS.ProcessEnv;
  /** The command of a tool's own binary, to run it beside the service. */
  binary(tool: 'ffprobe' | 'mediainfo', version: string): readonly string[];
  origin(from: string | Handler): Promise<Origin>;
  probeyard(args: readonly string[], options?: RunOptions): Promise<Printed>;
  start(args: readonly string[], more?: NodeJS.ProcessEnv): Child;
  /** Files that are sent, on the disk of the API. */
  uploads(): { files: number; bytes: number };
  stop(): Promise<void>;
}

export interface WantedTool {
  tool: 'ffprobe' | 'mediainfo' | 'qc';
  version: string;
  latest?: boolean;
}

/** The images of these tools, which are in the cache. `context`: the tests are skipped if one is not. */
async function imagesOf(wanted: readonly WantedTool[], context: Mocha.Context | undefined) {
  const cached = await cachedTools();
  return wanted.map((one) => {
    const { tool, version } = one;
    const { entry, image } =
      cached.find((known) => known.entry.tool === tool && known.entry.version === version && known.image) ?? {};
    if (entry && image) return { ...one, entry, image };
    const missing = `no image of ${tool} ${version} is built here: make images`;
    if (!context) throw new Error(missing);
    console.log(`    skipped: ${missing}`);
    return context.skip();
  });
}

/** Tools whose image is in the cache, unpacked. */
async function unpackTools(wanted: Awaited<ReturnType<typeof imagesOf>>, directory: string): Promise<ProbeToolSpec[]> {
  return Promise.all(
    wanted.map(async ({ tool, version, latest = false, entry, image }) => {
      const place = join(directory, tool, version);
      await mkdir(place, { recursive: true });
      await unpack(image.archive, place);
      return {
        tool,
        version,
        image: `tools/${tool}@sha256:${createHash('sha256').update(version).digest('hex')}`,
        latest,
        command: entry.command.map((part) => part.replaceAll('{root}', place)),
      };
    }),
  );
}

interface InstallationOptions {
  /** More of the source proxies of its runners. */
  proxy?: ProxyOptions;
  /** Of what its API serves. */
  folders?: Partial<Pick<Settings, 'consoleFolder' | 'clientFolder'>>;
}

export async function startInstallation(
  wanted: readonly WantedTool[],
  context?: Mocha.Context,
  { proxy = {}, folders = {} }: InstallationOptions = {},
): Promise<Installation> {
  const images = await imagesOf(wanted, context);
  const directory = mkdtempSync(join(tmpdir(), 'probeyard-cli-'));
  chmodSync(directory, 0o755);
  const home = mkdtempSync(join(tmpdir(), 'probeyard-home-'));
  const tools = await unpackTools(images, directory);
  const cluster = await startCluster({
    pools: { short: { minReady: 1, maxPods: 4, serves: { kinds: [...KINDS] } } },
    runners: { boot: false },
    tools,
  });
  await cluster.controller();
  const runners = startRunners(cluster, directory, proxy);
  const api = await startApi(cluster, folders);
  const url = `http://127.0.0.1:${api.server.port}`;
  const env = { HOME: home, PROBEYARD_URL: url, PROBEYARD_TOKEN: ADMIN.token };
  const origins: Origin[] = [];
  return {
    url,
    token: ADMIN.token,
    cluster,
    env,
    binary(tool, version) {
      const found = tools.find((one) => one.tool === tool && one.version === version);
      if (!found) throw new Error(`the installation has no ${tool} ${version}`);
      return found.command;
    },
    async origin(from) {
      const origin = await startOrigin('127.0.0.1', from);
      origins.push(origin);
      return origin;
    },
    probeyard: (args, { env: more = {}, program = SOURCES, ...options } = {}) =>
      execute([...program, ...args], { ...options, env: { ...env, ...more } }),
    start: (args, more = {}) =>
      spawn(SOURCES[0]!, [SOURCES[1]!, ...args], {
        env: { ...COMMON, ...env, ...more },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    uploads: () => api.spool.figures(),
    async stop() {
      for (const origin of origins) await origin.close();
      await api.stop();
      await runners.stop();
      await cluster.stop();
      rmSync(directory, { recursive: true, force: true });
      rmSync(home, { recursive: true, force: true });
    },
  };
}

interface Stoppable {
  stop(): Promise<void>;
}

/** An agent in place of the kubelet for each runner pod. A file that is sent takes a pod of its own. */
function startRunners(cluster: Cluster, toolsDir: string, proxyOptions: ProxyOptions): Stoppable {
  const running = new Map<string, Promise<Stoppable>>();
  const stopping = new AbortController();
  const stopAll = (uids: readonly string[]) =>
    Promise.all(
      uids.map(async (uid) => {
        const runner = running.get(uid);
        running.delete(uid);
        // One that did not start has ended itself; its jobs run on the next pod.
        await runner?.then(
          (started) => started.stop(),
          () => {},
        );
      }),
    );
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      const pods = await cluster.pods();
      const uids = new Set(pods.map(({ metadata }) => metadata.uid ?? ''));
      await stopAll([...running.keys()].filter((uid) => !uids.has(uid)));
      for (const pod of pods) {
        const uid = pod.metadata.uid ?? '';
        if (running.has(uid)) continue;
        const starting = startRunner(cluster, { toolsDir, proxyOptions }, pod);
        starting.catch((error: unknown) => console.log(`        a runner did not start: ${String(error)}`));
        running.set(uid, starting);
      }
      await pause(50);
    }
  })();
  loop.catch(() => {});
  return {
    async stop() {
      stopping.abort();
      await loop;
      await stopAll([...running.keys()]);
    },
  };
}

/** It starts within milliseconds, unless the machine is busy. */
const LAUNCHER_MS = 30_000;
type RunnerPod = Awaited<ReturnType<Cluster['pods']>>[number];

async function startRunner(
  cluster: Cluster,
  { toolsDir, proxyOptions }: { toolsDir: string; proxyOptions: ProxyOptions },
  made: RunnerPod,
): Promise<Stoppable> {
  const uid = made.metadata.uid ?? '';
  const launcherProcess: LauncherProcess = await startLauncher();
  const launcher: Launcher = new Launcher(launcherProcess.socket, { cleanMs: 3_000 });
  await launcher.whenConnected(LAUNCHER_MS).catch(async (error: unknown) => {
    launcher.close();
    await launcherProcess.stop();
    throw error;
  });
  const proxy: SourceProxy = await startProxy({ allow, pace: { minBytes: 0 }, ...proxyOptions });
  const bus = await connectBus({ url: cluster.servers.nats.url, name: uid, inboxPrefix: INBOX.runner(uid) });
  const agent: Agent = new Agent({
    bus,
    launcher,
    proxy,
    log: pino({ level: process.env['PY_TEST_LOG'] ?? 'silent' }),
    heartbeatMs: 100,
    identity: {
      protocol: RUNNER_PROTOCOL,
      pod: made.metadata.name,
      uid,
      namespace: cluster.runnerNamespace,
      pool: 'short',
      generation: made.metadata.labels?.[LABEL.generation] ?? '',
    },
    settings: {
      toolsDir,
      nodePath: process.execPath,
      outputBytes: 16 << 20,
      memoryBytes: 1 << 30,
    },
  });
  return {
    async stop() {
      await agent.close();
      await Promise.all([bus.drain(), proxy.close()]);
      launcher.close();
      await launcherProcess.stop();
    },
  };
}

/** More than a socket holds on its way. */
export const MOST_FILE_BYTES = 32 << 20;

async function startApi(
  cluster: Cluster,
  folders: InstallationOptions['folders'],
): Promise<{ server: HttpServer; spool: Spool; stop(): Promise<void> }> {
  const { nats, stored, keys } = cluster.servers;
  const replica = 'api-cli';
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-uploads-'));
  const spool = await openSpool({ folder, maxBytes: 4 * MOST_FILE_BYTES });
  const files = await serveUploads(spool, { host: '127.0.0.1', port: 0 });
  const bus: Bus = await connectBus({ url: nats.url, name: replica, inboxPrefix: '_INBOX_cli' });
  const wired: Wired = wire({
    store: stored.store,
    bus,
    kube: cluster.kube,
    sealKeys: () => keys.public,
    log: pino({ level: process.env['PY_TEST_LOG'] ?? 'silent' }),
    accounts: accountSettings(),
    uploads: { spool, maxBytes: MOST_FILE_BYTES, host: '127.0.0.1', port: files.port },
    settings: { ...DEFAULTS, namespace: cluster.namespace, replica, allowSources: allow, denyCidrs: [], ...folders },
  });
  await wired.toolsRead;
  const server = await listen(
    makeApp(wired.deps, wired.checks).callback(),
    { host: '127.0.0.1', port: 0 },
    () => stored.store.newRequest().id,
  );
  return {
    server,
    spool,
    async stop() {
      await server.close(1_000);
      await wired.stop();
      await Promise.all([files.close(), spool.close(), bus.drain()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits for a process to end. */
export async function ended(child: Child): Promise<Printed> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  await once(child, 'close');
  return { code: child.exitCode, stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString() };
}
