/**
 * Damaged media through the runner itself. Every file must get a result or an error, and the runner must keep working.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { sendFile, startOrigin } from '../../source/origin.ts';
import { startRealRunner, type RealRunner, type ToolEntry } from '../../streams/real_runner.ts';
import { mutations, seeded } from './mutate.ts';

const beside = join(import.meta.dirname, '..', '..', '..', '..', 'shared', 'corpus');
export const corpus = join(process.env['PROBEYARD_CORPUS'] ?? beside, 'media');
const fixture = join(import.meta.dirname, '..', '..', 'fixtures', 'tiny.mp4');
const largest = 3 << 20;
/** A damaged file may keep a tool busy until this timeout. */
const timeoutMs = 15_000;
const checkEvery = 50;
const ALL_CHECKS = { qc: { integrity: 'true', pictures: 'true' } };

export interface Summary {
  seed: number;
  cases: number;
  files: number;
  kinds: string[];
  byTool: Map<string, Map<string, number>>;
  /** The most memory that one run of it had, in MB. */
  memory: Map<string, number>;
  problems: string[];
  slowestMs: number;
}

/** The files to damage. Without the corpus, a single file of our own. */
function samples(): string[] {
  if (!existsSync(corpus)) return [fixture];
  const names = readdirSync(corpus, { recursive: true }) as string[];
  return names
    .map((name) => join(corpus, name))
    .filter((path) => statSync(path).isFile() && statSync(path).size <= largest && statSync(path).size > 0)
    .sort();
}

/** The newest version of each tool and an old one, so that parsers nine years apart are tested. */
const fuzzed = ({ tool, version, latest }: ToolEntry): boolean =>
  latest === true || (tool === 'ffprobe' ? version === '4.0' : version === '20.09');
/** The checks decode, which the other tools hardly do; they need ffprobe. */
export const decoding = ({ tool, latest }: ToolEntry): boolean => latest === true && tool !== 'mediainfo';

export async function fuzzMedia({
  seed,
  cases,
  which = fuzzed,
  progress = () => {},
}: {
  seed: number;
  cases: number;
  which?: (entry: ToolEntry) => boolean;
  progress?: (done: number) => void;
}): Promise<Summary> {
  const random = seeded(seed);
  const files = samples();
  const kinds = Object.keys(mutations);
  let body: Buffer = Buffer.alloc(0);
  const origin = await startOrigin((request, response) => sendFile(body, request, response));
  const runner = await startRealRunner(which, { allow: [{ cidr: '127.0.0.1/32', port: origin.port }] });
  const summary: Summary = {
    seed,
    cases: 0,
    files: new Set(files).size,
    kinds: [...new Set(files.map((file) => extname(file).slice(1).toLowerCase()))].sort(),
    byTool: new Map(),
    memory: new Map(),
    problems: [],
    slowestMs: 0,
  };
  const uncaught = (error: unknown): void => {
    summary.problems.push(`thrown into the air: ${String(error)}`);
  };
  process.on('unhandledRejection', uncaught);
  const watch = setInterval(() => watchMemory(runner, summary.memory), 50);
  const healthy = async (): Promise<void> => {
    body = readFileSync(fixture);
    const { tools } = await runner.run(`${origin.url}/tiny.mp4`);
    if (tools.some(({ success }) => !success))
      summary.problems.push(
        `after ${summary.cases} files a good one fails: ` +
          `${JSON.stringify(tools.map(({ tool, error }) => [tool, error]))}`,
      );
  };
  try {
    assert.ok(runner.entries.length > 0, 'no tool image is built here');
    for (; summary.cases < cases; summary.cases++) {
      const file = files[summary.cases % files.length]!;
      const kind = kinds[Math.floor(random() * kinds.length)]!;
      body = mutations[kind]!(readFileSync(file), random, readFileSync(files[Math.floor(random() * files.length)]!));
      const what = `case ${summary.cases}, ${relative(corpus, file)}, ${kind}, ${body.length} bytes`;
      const begun = performance.now();
      const answered = await Promise.race([
        runner.run(`${origin.url}/${summary.cases}${extname(file)}`, { timeoutMs, options: ALL_CHECKS }),
        new Promise<undefined>((resolve) => {
          setTimeout(() => resolve(undefined), timeoutMs * 2).unref();
        }),
      ]);
      summary.slowestMs = Math.max(summary.slowestMs, Math.round(performance.now() - begun));
      if (answered === undefined) {
        summary.problems.push(`${what}: no answer`);
        break;
      }
      for (const { tool, version, success, failure, error, output } of answered.tools) {
        const name = `${tool} ${version}`;
        const counts = summary.byTool.get(name) ?? new Map<string, number>();
        summary.byTool.set(name, counts);
        const outcome = success ? 'success' : (failure ?? 'no reason');
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
        if (success ? !isObject(output) : !error)
          summary.problems.push(`${what}, ${name}: ${outcome} with ${success ? 'no JSON' : 'no message'}`);
        if (!success && ['unavailable', 'no reason'].includes(outcome))
          summary.problems.push(`${what}, ${name}: ${outcome}: ${error}`);
        if (error?.includes('127.0.0.1:') && !error.includes(`127.0.0.1:${origin.port}`))
          summary.problems.push(`${what}, ${name}: shows where the proxy listens: ${error}`);
      }
      if (summary.cases % checkEvery === checkEvery - 1) {
        await healthy();
        progress(summary.cases + 1);
      }
    }
    await healthy();
    return summary;
  } finally {
    clearInterval(watch);
    process.off('unhandledRejection', uncaught);
    await runner.close();
    await origin.close();
  }
}

const procFile = (pid: number, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    // It ended meanwhile.
    return '';
  }
};

/** The kernel keeps the peak of a process while it runs. */
function watchMemory({ pid, entries }: RealRunner, most: Map<string, number>): void {
  const below = (parent: number): number[] =>
    procFile(parent, `task/${parent}/children`)
      .split(' ')
      .filter(Boolean)
      .flatMap((child) => [Number(child), ...below(Number(child))]);
  for (const child of below(pid)) {
    const command = procFile(child, 'cmdline');
    const entry = entries.find(({ tool, version }) => command.includes(`/${tool}/${version}/`));
    const kilobytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(procFile(child, 'status'))?.[1] ?? 0);
    const name = entry && `${entry.tool} ${entry.version}`;
    if (name) most.set(name, Math.max(most.get(name) ?? 0, Math.ceil(kilobytes / 1024)));
  }
}

function isObject(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}
