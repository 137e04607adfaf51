/**
 * Proves one tool image, because an image that mounts need not run on this node. Executes the tool, asks it for its
 * version, options and protocols, lets it read a sample over HTTP, and prints one JSON line. Needs no network but
 * 127.0.0.1.
 */
import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute } from 'node:path';
import { commandOf, ENVIRONMENT, type RunSettings } from './job.ts';
import type { OptionSpec } from '../../media/tools/option.ts';
import { PROOF_LIMITS as MOST, type ProofLine, type ProofReason, type Proven } from '../../media/tools/proof.ts';
import { TOOL_TABLE, type ImageTool } from '../../media/tools/table.ts';
import type { Program, Proof } from '../../media/tools/tool.ts';
import { coveredWav, serveSample } from './verify_sample.ts';

export interface VerifyInput {
  tool: ImageTool;
  version: string;
  command: string[];
}

type VerifySettings = Pick<RunSettings, 'toolsDir' | 'nodePath'>;

class Refused extends Error {
  readonly reason: ProofReason;
  constructor(reason: ProofReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

const STEP_MS = 20_000;
const OUTPUT_BYTES = 8 * 1024 * 1024;

interface Ran {
  stdout: string;
  stderr: string;
  code: number | null;
  ms: number;
}

function execute(argv: string[]): Promise<Ran> {
  const begun = performance.now();
  const [file = '', ...args] = argv;
  const { promise, resolve, reject } = Promise.withResolvers<Ran>();
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: tmpdir(),
    env: { ...ENVIRONMENT, no_proxy: '127.0.0.1' },
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
    reject(new Refused('Hangs', `${args.join(' ')}: did not finish within ${STEP_MS} ms`));
  }, STEP_MS);
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
    `${file}: ${error.code ?? error.message}; check that this node may execute files of image volumes`,
  );
}

const MACHINES: Readonly<Record<string, number>> = { x64: 62, arm64: 183, arm: 40, riscv64: 243, ppc64: 21, s390x: 22 };

/** Checked in the file itself, because a shell or an emulator on the node may hide a mismatch behind another error. */
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

/** The tool's version line, and the version number in it. */
function versionOf(says: RegExp, { stdout, stderr, code }: Ran): { line: string; number: string } {
  const match = says.exec(stdout);
  if (!match) {
    const reason = /shared librar|No such file|not found/.test(stderr)
      ? 'FileMissing'
      : code === 0
        ? 'BadOutput'
        : 'Crashed';
    throw new Refused(reason, `it does not print its version (exit code ${code}): ${(stderr || stdout).slice(0, 300)}`);
  }
  return { line: match[0].trim().slice(0, MOST.version), number: match[1] as string };
}

/** `9.0` matches 9.0, 9.0.2 and n9.0-static, but not 9.05. A name that is not a number matches anything. */
export function keepsVersion(asked: string, told: string): boolean {
  if (!/^\d+(\.\d+)*$/.test(asked)) return true;
  const number = /^[nvN]?(\d+(?:\.\d+)*)/.exec(told)?.[1] ?? '';
  return number === asked || number.startsWith(`${asked}.`);
}

/** Option names from the tool's help: all that are in our table, then as many others as fit. */
export function optionsOf(help: string, table: readonly OptionSpec[]): string[] {
  const found = new Set(
    [...help.matchAll(/^\s*-{1,2}([A-Za-z][\w:-]*)/gm)]
      .map(([, name]) => name as string)
      .filter((name) => name.length <= MOST.optionLength),
  );
  const ours = table.flatMap(({ flag }) => (flag !== undefined && found.has(flag) ? [flag] : []));
  return [...new Set([...ours, ...found])].slice(0, MOST.options).sort();
}

async function readSample(program: Program, { misreads, sample: own }: Proof, command: string[]) {
  const sample = await serveSample();
  try {
    const { stdout, stderr, code } = await execute([...command, ...program.args({}, sample.address, own?.run)]);
    const failure = program.failure({ code, stdout, stderr, format: 'json', options: {} });
    if (failure !== undefined) throw new Refused('BadOutput', `it cannot read a WAV over HTTP: ${failure}`);
    const said: unknown = own ? await own.parsed(stdout) : JSON.parse(stdout);
    const wrong = misreads(JSON.stringify(said).toLowerCase());
    if (wrong !== undefined) throw new Refused('BadOutput', wrong);
  } catch (error) {
    if (error instanceof SyntaxError) throw new Refused('BadOutput', 'its output is not valid JSON');
    throw error;
  } finally {
    sample.close();
  }
}

/** Output for a sample with a cover; empty if the tool crashes on these arguments. */
async function readCovered(command: readonly string[], args: readonly string[]): Promise<string> {
  const sample = await serveSample(coveredWav());
  try {
    return (await execute([...command, ...args, sample.address])).stdout;
  } catch (error) {
    if (error instanceof Refused) return '';
    throw error;
  } finally {
    sample.close();
  }
}

async function prove({ tool, version, command }: VerifyInput, settings: VerifySettings): Promise<Proven> {
  const program = TOOL_TABLE[tool];
  const proof = program?.proof;
  if (!proof) throw new Refused('NotExecutable', `this version of Probeyard cannot verify ${tool}`);
  const argv = commandOf({ name: tool, version, command }, settings);
  const ask = (argument: string): Promise<Ran> => execute([...argv, argument]);
  const print = async (argument: string): Promise<string> => (await ask(argument)).stdout;
  await checkArchitecture(argv[0] ?? '');
  const first = await ask(proof.ask.version);
  const told = versionOf(proof.says, first);
  if (!keepsVersion(version, told.number))
    throw new Refused('VersionMismatch', `the catalog says ${version}, the program says ${told.line}`);
  const again = [await ask(proof.ask.version), await ask(proof.ask.version)];
  const help = await print(proof.ask.help);
  const protocols = (await proof.protocols?.(print)) ?? [];
  const built = (await proof.built?.(print, help, (args) => readCovered(argv, args))) ?? [];
  await readSample(program, proof, argv);
  return {
    ok: true,
    version: told.line,
    startupMs: Math.round(Math.min(first.ms, ...again.map(({ ms }) => ms))),
    options: [...built, ...optionsOf(help, program.options)].slice(0, MOST.options),
    protocols: protocols.filter((name) => name.length <= MOST.protocolLength).slice(0, MOST.protocols),
    arch: process.arch === 'x64' ? 'amd64' : process.arch,
  };
}

export async function verify(input: VerifyInput, settings: VerifySettings): Promise<ProofLine<ProofReason>> {
  try {
    return await prove(input, settings);
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
