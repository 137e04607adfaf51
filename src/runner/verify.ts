/**
 * Proves one tool image: mounts are one thing, whether what is in them runs on this node another. Executes it, asks the
 * binary for its version, options and protocols, lets it read a sample over HTTP, and prints one JSON line. Needs no
 * network but 127.0.0.1.
 */
import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute } from 'node:path';
import { FFPROBE_OPTIONS } from '../tools/ffprobe_options.ts';
import { lackedIn, outputsIn } from '../tools/mediainfo.ts';
import { commandOf } from './job.ts';
import { TOOL_TABLE } from '../tools/table.ts';
import { serveSample } from './verify_sample.ts';

export interface VerifyInput {
  tool: 'ffprobe' | 'mediainfo' | 'c2pa';
  version: string;
  command: string[];
}

export type Reason =
  'NotExecutable' | 'FileMissing' | 'WrongArchitecture' | 'Hangs' | 'Crashed' | 'VersionMismatch' | 'BadOutput';
export type Proof =
  | { ok: true; version: string; startupMs: number; options: string[]; protocols: string[]; arch: string }
  | { ok: false; reason: Reason; message: string };

class Refused extends Error {
  readonly reason: Reason;
  constructor(reason: Reason, message: string) {
    super(message);
    this.reason = reason;
  }
}

const STEP_MS = 20_000;
const OUTPUT_BYTES = 8 * 1024 * 1024;
const MOST = { options: 512, option: 64, protocols: 128, protocol: 32, version: 256, message: 1024 };
const ASK = {
  ffprobe: { version: '-version', help: '-h' },
  mediainfo: { version: '--Version', help: '--Help' },
  c2pa: { version: '--version', help: '--help' },
} as const;

interface Ran {
  stdout: string;
  stderr: string;
  code: number | null;
  ms: number;
}

function execute(argv: string[], deadlineMs = STEP_MS): Promise<Ran> {
  const begun = performance.now();
  const [file = '', ...args] = argv;
  const { promise, resolve, reject } = Promise.withResolvers<Ran>();
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: tmpdir(),
    env: { HOME: '/tmp', LC_ALL: 'C.UTF-8', no_proxy: '127.0.0.1' },
    detached: true,
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      if (output[name].length < OUTPUT_BYTES) output[name] += text;
    });
  }
  const end = () => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      /* gone already */
    }
  };
  const timer = setTimeout(() => {
    if (child.pid) end();
    reject(new Refused('Hangs', `${args.join(' ')}: no end after ${deadlineMs} ms`));
  }, deadlineMs);
  child.on('error', (error: NodeJS.ErrnoException) => {
    clearTimeout(timer);
    reject(unstartable(error, file));
  });
  child.on('close', (code, signal) => {
    clearTimeout(timer);
    if (signal) reject(new Refused('Crashed', `${args.join(' ')}: ended by ${signal}: ${output.stderr.slice(0, 300)}`));
    else resolve({ ...output, code, ms: performance.now() - begun });
  });
  return promise;
}

function unstartable(error: NodeJS.ErrnoException, file: string): Refused {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR')
    return new Refused('FileMissing', `${file}, or the loader that it names, is not in the image`);
  if (error.code === 'ENOEXEC' || error.code === 'ELIBBAD')
    return new Refused('WrongArchitecture', `${file} is not for ${process.arch}`);
  return new Refused(
    'NotExecutable',
    `${file}: ${error.code ?? error.message}; may files of image volumes be executed on this node?`,
  );
}

const MACHINES: Readonly<Record<string, number>> = { x64: 62, arm64: 183, arm: 40, riscv64: 243, ppc64: 21, s390x: 22 };

/** Said by the file itself, because a shell or an emulator on the node may hide it behind another error. */
async function checkArchitecture(file: string): Promise<void> {
  if (!isAbsolute(file)) return;
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    throw unstartable(error, file);
  });
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(20), 0, 20, 0).finally(() => handle.close());
  if (bytesRead < 20 || buffer.readUInt32BE(0) !== 0x7f454c46) return;
  const machine = buffer[5] === 2 ? buffer.readUInt16BE(18) : buffer.readUInt16LE(18);
  const own = MACHINES[process.arch];
  if (own !== undefined && machine !== own)
    throw new Refused(
      'WrongArchitecture',
      `${file} is for another architecture (ELF machine ${machine}) than ${process.arch}`,
    );
}

const SAYS = {
  ffprobe: /^ffprobe version (\S+).*$/m,
  mediainfo: /^MediaInfoLib - v?(\S+).*$/m,
  c2pa: /^c2pa (\S+)$/m,
} as const;

/** The line in which the tool names itself, and the version in it. */
function versionOf(tool: VerifyInput['tool'], { stdout, stderr, code }: Ran): { line: string; number: string } {
  const match = SAYS[tool].exec(stdout);
  if (!match) {
    const reason = /shared librar|No such file|not found/.test(stderr)
      ? 'FileMissing'
      : code === 0
        ? 'BadOutput'
        : 'Crashed';
    throw new Refused(reason, `it does not tell its version (exit code ${code}): ${(stderr || stdout).slice(0, 300)}`);
  }
  return { line: match[0].trim().slice(0, MOST.version), number: match[1] as string };
}

/** `9.0` is kept by 9.0 and 9.0.2 and n9.0-static, not by 9.05. A name that is no number promises nothing. */
export function keepsVersion(asked: string, told: string): boolean {
  if (!/^\d+(\.\d+)*$/.test(asked)) return true;
  const number = /^[nvN]?(\d+(?:\.\d+)*)/.exec(told)?.[1] ?? '';
  return number === asked || number.startsWith(`${asked}.`);
}

/** Names from `-h`: all of our table that are in it, then as many others as there is room for. */
export function optionsOf(help: string): string[] {
  const found = new Set(
    [...help.matchAll(/^\s*-{1,2}([A-Za-z][\w:-]*)/gm)]
      .map(([, name]) => name as string)
      .filter((name) => name.length <= MOST.option),
  );
  const ours = FFPROBE_OPTIONS.flatMap(({ flag }) => (flag !== undefined && found.has(flag) ? [flag] : []));
  return [...new Set([...ours, ...found])].slice(0, MOST.options).sort();
}

/**
 * Which formats this build of mediainfo writes, and which options change nothing in it: what it was compiled with, not
 * its number, decides.
 */
async function builtWith(argv: string[], help: string): Promise<string[]> {
  const { stdout } = await execute([...argv, '--Info_OutputFormats']);
  return [...outputsIn(stdout).map((output) => `Output=${output}`), ...lackedIn(help).map((name) => `!${name}`)];
}

export function protocolsOf(text: string): string[] {
  const input = /^Input:\s*$([\s\S]*?)(?:^Output:|(?![\s\S]))/m.exec(text)?.[1] ?? '';
  return input
    .split(/\s+/)
    .filter((name) => name !== '' && name.length <= MOST.protocol)
    .slice(0, MOST.protocols)
    .sort();
}

async function readsSample(tool: VerifyInput['tool'], command: string[]): Promise<void> {
  const definition = TOOL_TABLE[tool];
  if (!definition) return;
  const sample = await serveSample();
  try {
    const { stdout, stderr, code } = await execute([...command, ...definition.args({}, sample.address)]);
    const failure = definition.failure({ code, stdout, stderr, format: 'json' });
    if (failure !== undefined) throw new Refused('BadOutput', `it cannot read a WAV over HTTP: ${failure}`);
    const said = JSON.stringify(JSON.parse(stdout)).toLowerCase();
    if (tool === 'c2pa') {
      if (!said.startsWith('{"active_manifest":null,'))
        throw new Refused('BadOutput', 'it does not say that a WAV without a manifest has none');
    } else if (!said.includes('pcm')) throw new Refused('BadOutput', 'it does not find the PCM stream of a WAV');
  } catch (error) {
    if (error instanceof SyntaxError) throw new Refused('BadOutput', 'what it prints is no JSON');
    throw error;
  } finally {
    sample.close();
  }
}

export async function verify(
  { tool, version, command }: VerifyInput,
  settings: { toolsDir: string; nodePath: string },
): Promise<Proof> {
  try {
    const argv = commandOf({ name: tool, version, command }, settings);
    await checkArchitecture(argv[0] ?? '');
    const first = await execute([...argv, ASK[tool].version]);
    const told = versionOf(tool, first);
    if (!keepsVersion(version, told.number))
      throw new Refused('VersionMismatch', `it is called ${version} and says ${told.line}`);
    const again = [await execute([...argv, ASK[tool].version]), await execute([...argv, ASK[tool].version])];
    const help = await execute([...argv, ASK[tool].help]);
    const protocols = tool === 'ffprobe' ? protocolsOf((await execute([...argv, '-protocols'])).stdout) : [];
    const built = tool === 'mediainfo' ? await builtWith(argv, help.stdout) : [];
    await readsSample(tool, argv);
    return {
      ok: true,
      version: told.line,
      startupMs: Math.round(Math.min(first.ms, ...again.map(({ ms }) => ms))),
      options: [...built, ...optionsOf(help.stdout)].slice(0, MOST.options),
      protocols,
      arch: process.arch === 'x64' ? 'amd64' : process.arch,
    };
  } catch (error) {
    if (error instanceof Refused)
      return { ok: false, reason: error.reason, message: error.message.slice(0, MOST.message) };
    throw error;
  }
}

export async function run(): Promise<void> {
  const input = JSON.parse(process.env['PY_VERIFY'] ?? '') as VerifyInput;
  const proof = await verify(input, { toolsDir: process.env['PY_TOOLS_DIR'] || '/tools', nodePath: process.execPath });
  console.log(JSON.stringify(proof));
}
