/**
 * A real API server for tests. Uses the local cluster if .local/env names one that responds. Otherwise starts a bare
 * control plane (etcd and kube-apiserver with TLS, tokens and RBAC, without nodes and controllers) on free ports of
 * 127.0.0.1, in about 5 s.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { CRDS, NAMESPACES, type KubeClient, type KubeObject } from '../../src/platform/kube/client.ts';
import { kubeClient } from './kubeconfig.ts';
import { atEnd } from '../at_end.ts';
import { freePort } from '../free_port.ts';
import { RUN_FOLDER } from '../once_per_run.ts';
import { PATIENCE } from '../patience.ts';
import { pauseProcess, signalAll } from '../processes.ts';
import { SERVERS_FOLDER } from '../server_process.ts';
import { until as eventually } from '../until.ts';

export interface TestApiServer {
  kubeconfig: string;
  client: KubeClient;
  /** Host and port, for relays. */
  host: string;
  port: number;
  /** Only of a control plane that is alone. */
  etcd: string | undefined;
  folder: string | undefined;
  /** A kubeconfig for the same server at another address, such as that of a relay. */
  kubeconfigAt(port: number): string;
  /** Creates a namespace. All of them are deleted at the end. */
  namespace(prefix?: string): Promise<string>;
  /** Discards the history of etcd. Older watches and page tokens of config maps then get 410. */
  compact(): Promise<void>;
  /** Pauses etcd until it is resumed. */
  pauseEtcd(): Promise<void>;
  resumeEtcd(): void;
  stop(): Promise<void>;
}

export interface Settings {
  /** A separate control plane even if the local cluster runs: that of the run, or one per process. */
  own?: boolean;
  /** One for this call, which the caller stops: the test pauses it, or changes what all namespaces share. */
  alone?: boolean;
  /** Writes to disk as in production, for benchmarks. */
  fsync?: boolean;
  /** Of a control plane that runs already and is the caller's: `own` of this process from now on. */
  kubeconfig?: string;
}

/** Names another program of the API server, of another version: the tests then run against that one. */
export const SERVER_PROGRAM = 'PROBEYARD_KUBE_APISERVER';
const REPOSITORY = new URL('../../', import.meta.url).pathname;
const shared = new Map<boolean, Promise<TestApiServer>>();

/** One per run or process (and one of the local cluster), stopped at its end. */
export function testApiServer(settings: Settings = {}): Promise<TestApiServer> {
  if (settings.alone === true) return startOwn(false);
  const own = settings.own === true;
  let server = shared.get(own);
  if (server === undefined) {
    server = start(settings);
    shared.set(own, server);
  }
  return server;
}

export async function stopApiServers(): Promise<void> {
  const started = [...shared.values()];
  shared.clear();
  await Promise.all([...new Set(await Promise.all(started))].map((server) => server.stop()));
}

atEnd(stopApiServers);

async function start(settings: Settings): Promise<TestApiServer> {
  if (settings.kubeconfig !== undefined) {
    const client = await kubeClient({ kubeconfig: settings.kubeconfig });
    await applyCrds(client);
    return serverOf(settings.kubeconfig, client, {});
  }
  const own = settings.own === true || settings.fsync === true || process.env[SERVER_PROGRAM] !== undefined;
  const local = own ? undefined : localKubeconfig();
  if (local !== undefined) {
    const client = await kubeClient({ kubeconfig: local, namespace: 'default' });
    const answers = await client.get(NAMESPACES, 'default', { deadlineMs: 2000 }).then(
      () => true,
      () => false,
    );
    if (answers) return serverOf(local, client, {});
    await client.close();
  }
  if (settings.own !== true && settings.fsync !== true) return testApiServer({ own: true });
  return (settings.fsync === true ? undefined : await ofRun()) ?? startOwn(settings.fsync === true);
}

/** What the processes of a run know of its API server. */
interface OfRun {
  /** Of its custom resources. */
  repository: string;
  kubeconfig?: string;
  error?: string;
}

const placeOf = (run: string) => join(run, 'api-server');
const stateOf = (run: string) => join(placeOf(run), 'state.json');
const IN_RUN_WITHIN_MS = 90_000;

/** For all processes of the run with this folder. They wait for it, so the caller need not. */
export async function startForRun(run: string): Promise<() => Promise<void>> {
  mkdirSync(placeOf(run));
  const tell = (state: OfRun) => {
    writeFileSync(`${stateOf(run)}.half`, JSON.stringify(state), { mode: 0o600 });
    renameSync(`${stateOf(run)}.half`, stateOf(run));
  };
  try {
    const { kubeconfig, stop } = await startOwn(false, run);
    tell({ repository: REPOSITORY, kubeconfig });
    return stop;
  } catch (error) {
    tell({ repository: REPOSITORY, error: (error as Error).message });
    return async () => {};
  }
}

async function ofRun(): Promise<TestApiServer | undefined> {
  const run = process.env[RUN_FOLDER];
  if (run === undefined || !existsSync(placeOf(run))) return undefined;
  await eventually('the API server of the run is told', () => existsSync(stateOf(run)), IN_RUN_WITHIN_MS);
  const { repository, kubeconfig, error } = JSON.parse(readFileSync(stateOf(run), 'utf8')) as OfRun;
  if (repository !== REPOSITORY) return undefined;
  if (kubeconfig === undefined) throw new Error(error);
  return serverOf(kubeconfig, await kubeClient({ kubeconfig }), {});
}

function localKubeconfig(): string | undefined {
  const file = join(REPOSITORY, '.local/env');
  if (!existsSync(file)) return undefined;
  const path = /^(?:export )?KUBECONFIG=['"]?([^'"\n]+)/m.exec(readFileSync(file, 'utf8'))?.[1];
  return path !== undefined && existsSync(path) ? path : undefined;
}

/** The folder of a part that is not of another version: `kubernetes-` and its key, not `kubernetes-1.33-` and a key. */
const OWN_VERSION = /^[a-z-]+-[0-9a-f]{16}$/;

export function binary(name: string): string {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'probeyard/bin');
  const built = globSync(`${cache}/*/${name}`).filter((path) => OWN_VERSION.test(basename(dirname(path))));
  const found = [...built, `/tmp/bin/${name}`, `/usr/bin/${name}`].find((path) => existsSync(path));
  if (found === undefined) throw new Error(`no ${name} in ${cache}: make up builds it`);
  return found;
}

async function startOwn(fsync: boolean, run?: string): Promise<TestApiServer> {
  const folder = mkdtempSync(join(fsync ? tmpdir() : SERVERS_FOLDER, 'probeyard-api-'));
  const [etcdPort, peerPort, port] = await Promise.all([freePort(run), freePort(run), freePort(run)]);
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  const token = randomUUID();
  writeFileSync(join(folder, 'sa.key'), key, { mode: 0o600 });
  writeFileSync(join(folder, 'tokens.csv'), `${token},admin,admin,"system:masters"\n`, { mode: 0o600 });
  const children: ChildProcess[] = [];
  const launch = (name: string, args: string[]): ChildProcess => {
    const child = spawn(
      name === 'kube-apiserver' ? (process.env[SERVER_PROGRAM] ?? binary(name)) : binary(name),
      args,
      // Collected more rarely, 600 creations and 200 lists take 3.0 s of CPU in place of 3.9.
      { stdio: ['ignore', 'ignore', 'pipe'], env: { GOGC: '400', ...process.env } },
    );
    let last = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      last = (last + chunk.toString()).slice(-4000);
    });
    child.once('exit', (code, signal) => {
      if (code !== 0 && signal === null) console.error(`${name} ended with ${code}:\n${last}`);
    });
    children.push(child);
    return child;
  };
  const stop = async (): Promise<void> => {
    // The API server first, because it would wait for etcd.
    for (const child of children.toReversed()) await finish(child);
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', () => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const etcd = launch('etcd', [
    // Otherwise the bookmarks of a quiet kind do not advance.
    '--watch-progress-notify-interval',
    '1s',
    '--data-dir',
    join(folder, 'etcd'),
    '--log-level',
    'error',
    '--initial-cluster',
    `default=${peerUrl}`,
    '--listen-client-urls',
    etcdUrl,
    '--advertise-client-urls',
    etcdUrl,
    '--listen-peer-urls',
    peerUrl,
    '--initial-advertise-peer-urls',
    peerUrl,
    ...(fsync ? [] : ['--unsafe-no-fsync']),
  ]);
  const apiServer = launch('kube-apiserver', [
    '--etcd-servers',
    etcdUrl,
    '--bind-address',
    '127.0.0.1',
    '--secure-port',
    String(port),
    '--advertise-address',
    '127.0.0.1',
    '--cert-dir',
    folder,
    '--token-auth-file',
    join(folder, 'tokens.csv'),
    '--authorization-mode',
    'RBAC',
    '--service-account-issuer',
    'https://kubernetes.default.svc',
    '--service-account-key-file',
    join(folder, 'sa.key'),
    '--service-account-signing-key-file',
    join(folder, 'sa.key'),
    '--service-cluster-ip-range',
    '10.96.0.0/16',
    '--endpoint-reconciler-type',
    'none',
    '--disable-admission-plugins',
    'ServiceAccount',
    // Without a cache in front of etcd, watches of config maps notice a compaction at once.
    '--watch-cache-sizes',
    'configmaps#0',
    '--v',
    '0',
  ]);
  const kubeconfig = join(folder, 'kubeconfig');
  try {
    await until(() => existsSync(join(folder, 'apiserver.crt')), apiServer, 10_000);
    writeFileSync(
      kubeconfig,
      stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'test',
        clusters: [
          {
            name: 'test',
            cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority': join(folder, 'apiserver.crt') },
          },
        ],
        users: [{ name: 'admin', user: { token } }],
        contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin', namespace: 'default' } }],
      }),
      { mode: 0o600 },
    );
    const client = await kubeClient({ kubeconfig });
    await until(
      () =>
        client.get(NAMESPACES, 'default', { deadlineMs: 1000 }).then(
          () => true,
          () => false,
        ),
      apiServer,
      60_000,
    );
    await applyCrds(client);
    return serverOf(kubeconfig, client, { etcd: etcdUrl, etcdProcess: etcd, folder, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

async function applyCrds(client: KubeClient): Promise<void> {
  const folder = join(REPOSITORY, 'crds');
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml'))) {
    const crd = parse(readFileSync(join(folder, file), 'utf8')) as KubeObject;
    await client.apply(CRDS, crd, { fieldManager: 'test', force: true });
    for (;;) {
      const { status } = (await client.get(CRDS, crd.metadata.name)) as {
        status?: { conditions?: { type: string; status: string; message: string }[] };
      };
      const established = status?.conditions?.find(({ type }) => type === 'Established');
      const structural = status?.conditions?.find(({ type }) => type === 'NonStructuralSchema');
      if (structural?.status === 'True') throw new Error(`${file}: ${structural.message}`);
      if (established?.status === 'True') break;
      await pause(50);
    }
  }
}

function serverOf(
  kubeconfig: string,
  client: KubeClient,
  own: { etcd?: string; etcdProcess?: ChildProcess; folder?: string; stop?: () => Promise<void> },
): TestApiServer {
  const address = new URL(client.config.access().origin);
  const namespaces: string[] = [];
  const copies: string[] = [];
  const etcdPid = (): number => {
    if (own.etcdProcess?.pid === undefined) throw new Error('etcd is paused only with testApiServer({ alone: true })');
    return own.etcdProcess.pid;
  };
  return {
    kubeconfig,
    client,
    etcd: own.etcd,
    folder: own.folder,
    host: address.hostname,
    port: Number(address.port || 443),
    kubeconfigAt(port) {
      const content = parse(readFileSync(kubeconfig, 'utf8')) as { clusters: { cluster: Record<string, unknown> }[] };
      const cluster = content.clusters[0]!.cluster;
      cluster['server'] = `https://127.0.0.1:${port}`;
      if (address.hostname !== '127.0.0.1') cluster['tls-server-name'] = address.hostname;
      const file = join(own.folder ?? tmpdir(), `kubeconfig-${randomUUID()}`);
      writeFileSync(file, stringify(content), { mode: 0o600 });
      copies.push(file);
      return file;
    },
    async namespace(prefix = 'test') {
      const name = `${prefix}-${randomUUID().slice(0, 8)}`;
      await client.create(NAMESPACES, { metadata: { name } });
      namespaces.push(name);
      return name;
    },
    async compact() {
      if (own.etcd === undefined) throw new Error('compaction needs testApiServer({ alone: true })');
      const call = async (path: string, body: object) => {
        const response = await fetch(`${own.etcd}/v3/kv/${path}`, {
          method: 'POST',
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(5000),
        });
        if (!response.ok) throw new Error(`etcd ${path}: ${await response.text()}`);
        return (await response.json()) as { header: { revision: string } };
      };
      const { header } = await call('range', { key: Buffer.from('/none').toString('base64') });
      await call('compaction', { revision: header.revision, physical: true });
    },
    pauseEtcd: () => pauseProcess(etcdPid()),
    resumeEtcd: () => signalAll([etcdPid()], 'SIGCONT'),
    async stop() {
      // One of our own goes with all of them.
      if (own.stop === undefined) for (const name of namespaces) await client.delete(NAMESPACES, name).catch(() => {});
      for (const file of copies) rmSync(file, { force: true });
      await client.close();
      await own.stop?.();
    },
  };
}

async function until(ready: () => boolean | Promise<boolean>, child: ChildProcess, deadlineMs: number): Promise<void> {
  const longestMs = PATIENCE * deadlineMs;
  const end = performance.now() + longestMs;
  while (!(await ready())) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('the API server ended while it started');
    if (performance.now() > end) throw new Error(`the API server is not ready after ${longestMs} ms`);
    await pause(50);
  }
}

async function finish(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => {
    child.once('exit', resolve);
  });
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await ended;
  clearTimeout(timer);
}
