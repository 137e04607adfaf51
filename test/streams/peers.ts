/**
 * Real servers of every kind of source: built or fetched once into the cache, started by a test and stopped with it.
 */
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { S3Keys } from '../../src/source/http/sign.ts';
import { once as keptOnce } from '../../images/cache.ts';
import { buildParts, cacheDir, isBuilt } from '../node/build.ts';
import type { PartName } from '../node/parts.ts';
import { freePort } from '../free_port.ts';
import { PATIENCE } from '../patience.ts';

export interface Peer {
  port: number;
  output(): string;
  close(): Promise<void>;
}

const pyftpdlib = '2.2.0';

/** Why a server is unavailable here, or undefined. */
export async function missingPeer(name: 'ffmpeg' | 'ftp' | 'mediamtx' | 'versitygw'): Promise<string | undefined> {
  if (name === 'ffmpeg')
    return spawnSync('ffmpeg', ['-version']).error === undefined ? undefined : 'ffmpeg is not on this machine';
  if (name === 'ftp') {
    if (spawnSync('python3', ['-m', 'pip', '--version']).status !== 0) return 'python3 with pip is not on this machine';
    return ftpLibrary().then(
      () => undefined,
      (error: unknown) => `pyftpdlib could not be fetched: ${String(error).slice(0, 200)}`,
    );
  }
  return (await isBuilt([name])) ? undefined : `${name} is not built here (make peers)`;
}

const ftpLibrary = (): Promise<string> =>
  keptOnce(join(cacheDir, 'peers', `pyftpdlib-${pyftpdlib}`), async (folder) => {
    const { status, stderr } = spawnSync(
      'python3',
      [
        '-m',
        'pip',
        'install',
        '--quiet',
        '--disable-pip-version-check',
        '--no-deps',
        '--target',
        folder,
        `pyftpdlib==${pyftpdlib}`,
        ...((await lacksAsyncore()) ? ['pyasyncore', 'pyasynchat'] : []),
      ],
      { timeout: 120_000 },
    );
    if (status !== 0) throw new Error(stderr.toString());
  });

/** The modules that it needs were removed in Python 3.12. */
const lacksAsyncore = (): Promise<boolean> =>
  Promise.resolve(spawnSync('python3', ['-c', 'import asyncore, asynchat']).status !== 0);

function start(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): { child: ChildProcess; output: () => string; close: () => Promise<void> } {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream!.on('data', (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-262_144);
    });
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve()).once('close', () => resolve());
  });
  return {
    child,
    output: () => text,
    async close() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function until(
  what: string,
  seconds: number,
  look: () => boolean | Promise<boolean>,
  output: () => string,
): Promise<void> {
  const end = performance.now() + PATIENCE * seconds * 1000;
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${seconds} s: ${output().slice(-2000)}`);
    await delay(50);
  }
}

const accepts = (port: number, host = '127.0.0.1'): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    socket
      .once('connect', () => {
        socket.destroy();
        resolve(true);
      })
      .once('error', () => resolve(false));
  });

export async function startFtp(
  folder: string,
  user: string,
  password: string,
  { mostPerIp = 0, host = '127.0.0.1', without = [] }: { mostPerIp?: number; host?: string; without?: string[] } = {},
): Promise<Peer> {
  const peer = start(
    'python3',
    [join(import.meta.dirname, 'ftp_server.py'), host, folder, user, password, String(mostPerIp), ...without],
    { env: { PYTHONPATH: await ftpLibrary(), PYTHONUNBUFFERED: '1' } },
  );
  await until('the FTP server listens', 20, () => /^\d+$/m.test(peer.output()), peer.output);
  return { ...peer, port: Number(/^(\d+)$/m.exec(peer.output())![1]) };
}

/** ffmpeg as the server of one stream for one caller: `rtmp` or `srt`. */
export async function listenWithFfmpeg(
  kind: 'rtmp' | 'srt',
  file: string,
  options: { query?: string; host?: string } = {},
): Promise<Peer> {
  const host = options.host ?? '127.0.0.1';
  const port = await freePort();
  const target =
    kind === 'rtmp'
      ? ['-f', 'flv', '-listen', '1', `rtmp://${host}:${port}/live/stream`]
      : ['-f', 'mpegts', `srt://${host}:${port}?mode=listener${options.query ?? ''}`];
  const peer = start('ffmpeg', ['-nostdin', '-v', 'error', '-re', '-i', file, '-c', 'copy', ...target]);
  // It accepts only one caller, so the test detects from outside that it listens.
  const [table, state] = kind === 'rtmp' ? ['tcp', '0A'] : ['udp', '07'];
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  await until(
    `ffmpeg listens for ${kind}`,
    20,
    () => {
      const { stdout } = spawnSync('cat', [`/proc/net/${table}`]);
      return stdout
        .toString()
        .split('\n')
        .some((line) => {
          const [, local, , at] = line.trim().split(/\s+/);
          return local?.endsWith(wanted) === true && at === state;
        });
    },
    peer.output,
  );
  return { ...peer, port };
}

export interface MediaServer {
  rtsp: number;
  rtsps: number;
  rtmp: number;
  rtmps: number;
  srt: number;
  output(): string;
  close(): Promise<void>;
  publish(file: string, path: string, args?: readonly string[]): Promise<void>;
}

/**
 * MediaMTX with RTSP, RTMP and SRT. Reading needs the user name and password; any process on this machine may publish.
 */
export async function startMediaServer(
  user: string,
  password: string,
  certificate?: { cert: string; key: string },
): Promise<MediaServer> {
  const program = await programOf('mediamtx');
  const folder = await mkdtemp(join(tmpdir(), 'probeyard-media-'));
  const ports = {
    rtsp: await freePort(),
    rtsps: await freePort(),
    rtmp: await freePort(),
    rtmps: await freePort(),
    srt: await freePort(),
  };
  if (certificate) {
    await writeFile(join(folder, 'cert.pem'), certificate.cert);
    await writeFile(join(folder, 'key.pem'), certificate.key);
  }
  const tls = certificate
    ? [
        `rtspEncryption: optional`,
        `rtspsAddress: 127.0.0.1:${ports.rtsps}`,
        `rtspServerCert: ${folder}/cert.pem`,
        `rtspServerKey: ${folder}/key.pem`,
        `rtmpEncryption: optional`,
        `rtmpsAddress: 127.0.0.1:${ports.rtmps}`,
        `rtmpServerCert: ${folder}/cert.pem`,
        `rtmpServerKey: ${folder}/key.pem`,
      ]
    : [];
  await writeFile(
    join(folder, 'media.yml'),
    [
      'logLevel: info',
      'api: false',
      'hls: false',
      'webrtc: false',
      'playback: false',
      'rtspTransports: [tcp]',
      `rtspAddress: 127.0.0.1:${ports.rtsp}`,
      `rtmpAddress: 127.0.0.1:${ports.rtmp}`,
      `srtAddress: 127.0.0.1:${ports.srt}`,
      ...tls,
      'authMethod: internal',
      'authInternalUsers:',
      "  - { user: any, pass: '', ips: ['127.0.0.1'], permissions: [{ action: publish }] }",
      `  - { user: ${JSON.stringify(user)}, pass: ${JSON.stringify(password)}, permissions: [{ action: read }] }`,
      'paths: { all_others: {} }',
      '',
    ].join('\n'),
  );
  const peer = start(program, [join(folder, 'media.yml')], { cwd: folder });
  const publishers: { close(): Promise<void> }[] = [];
  await until(
    'the media server listens',
    20,
    async () => (await accepts(ports.rtsp)) && (await accepts(ports.rtmp)),
    peer.output,
  );
  return {
    ...ports,
    output: peer.output,
    async publish(file, path, args = []) {
      const publisher = start('ffmpeg', [
        '-nostdin',
        '-v',
        'error',
        '-re',
        '-stream_loop',
        '-1',
        '-i',
        file,
        '-c',
        'copy',
        ...args,
        '-f',
        'rtsp',
        '-rtsp_transport',
        'tcp',
        `rtsp://127.0.0.1:${ports.rtsp}/${path}`,
      ]);
      publishers.push(publisher);
      await until(
        `${path} is published`,
        20,
        () => peer.output().includes(`is publishing to path '${path}'`),
        () => publisher.output() + peer.output(),
      );
    },
    async close() {
      for (const publisher of publishers) await publisher.close();
      await peer.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface S3Options {
  users?: string;
  versions?: string;
  /** Where its events are sent: an address, or a NATS server. */
  events?: string | { nats: string; subject: string };
  host?: string;
}

/** versitygw over a folder whose subfolders are buckets. It verifies signatures. */
export async function startS3(
  folder: string,
  accessKey: string,
  secret: string,
  region: string,
  { users, versions, events, host = '127.0.0.1' }: S3Options = {},
): Promise<Peer> {
  const port = await freePort();
  const peer = start(await programOf('versitygw'), [
    ...(users === undefined ? [] : ['--iam-dir', users]),
    '--access',
    accessKey,
    '--secret',
    secret,
    '--region',
    region,
    '--port',
    `${host}:${port}`,
    ...(typeof events === 'string' ? ['--event-webhook-url', events] : []),
    ...(typeof events === 'object' ? ['--event-nats-url', events.nats, '--event-nats-topic', events.subject] : []),
    'posix',
    ...(versions === undefined ? [] : ['--versioning-dir', versions]),
    folder,
  ]);
  await until('the S3 server listens', 20, () => accepts(port, host), peer.output);
  return { ...peer, port };
}

/** A user of that server, who may do nothing until the policy of a bucket says so. */
export async function addS3User(port: number, admin: S3Keys, user: S3Keys): Promise<void> {
  const asked = ['--endpoint-url', `http://127.0.0.1:${port}`, 'create-user', '--role', 'user'];
  const keysOf = ({ accessKey, secret }: S3Keys): string[] => ['--access', accessKey, '--secret', secret];
  await promisify(execFile)(await programOf('versitygw'), ['admin', ...keysOf(admin), ...asked, ...keysOf(user)]);
}

async function programOf(name: PartName): Promise<string> {
  const folder = (await buildParts([name])).get(name)!;
  const program = join(folder, name);
  if (!existsSync(program)) throw new Error(`${name} is not in ${folder}`);
  return program;
}
