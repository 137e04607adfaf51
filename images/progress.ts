/** Lines of progress on the terminal and in a file: what ended, what runs, and about how long the rest takes. */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** A step that is still to come, with its usual duration on two cores with nothing in the cache. */
export type Expected = readonly [text: string, seconds: number];

const TICK_MS = 20_000;
/** What the steps take together, beside one another, compared with their sum. */
const TOGETHER = 0.75;

const started = performance.now();
let log: string | undefined;
let since = started;
const expected = new Map<string, number>();
const ended = new Set<string>();
const running = new Map<string, number>();
let ticker: NodeJS.Timeout | undefined;

/** Prints `12.3s  text`, with the time since the start of the command. */
export function say(text: string): void {
  const line = `${seconds(performance.now() - started).padStart(7)}  ${text}`;
  console.log(line);
  if (log !== undefined) appendFileSync(log, `${line}\n`);
}

export function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}s`;
  const whole = Math.round(ms / 1000);
  return `${Math.floor(whole / 60)}m${String(whole % 60).padStart(2, '0')}s`;
}

/** Every line from now on is written to this file, too. */
export function logTo(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
  log = file;
}

/** Names the steps to come. The lines then say how much is done, and about how much time is left. */
export function expect(steps: readonly Expected[]): void {
  if (expected.size === 0) since = performance.now();
  for (const [text, duration] of steps) expected.set(text, duration);
}

/** The share of the expected steps that is done, from 0 to 1. */
export function shareDone(
  steps: ReadonlyMap<string, number>,
  done: ReadonlySet<string>,
  elapsed: ReadonlyMap<string, number>,
): number {
  let [all, past] = [0, 0];
  for (const [text, duration] of steps) {
    all += duration;
    // A step that takes longer than usual is never taken for done.
    if (done.has(text)) past += duration;
    else past += Math.min(elapsed.get(text) ?? 0, duration * 0.95);
  }
  return all === 0 ? 1 : past / all;
}

/** About how many seconds are left. The usual durations count at first, and then how fast this machine is. */
export function secondsLeft(share: number, elapsed: number, sum: number): number {
  const usual = sum * TOGETHER;
  const measured = share === 0 ? usual : elapsed / share;
  const trust = Math.min(1, share / 0.3);
  return (1 - share) * (usual * (1 - trust) + measured * trust);
}

/** `42 %, about 6 min left`, or nothing where no steps are expected. */
function outlook(now: number): string | undefined {
  if (expected.size === 0) return undefined;
  const elapsed = new Map([...running].map(([text, from]) => [text, (now - from) / 1000]));
  const share = shareDone(expected, ended, elapsed);
  const sum = [...expected.values()].reduce((all, one) => all + one, 0);
  const left = secondsLeft(share, (now - since) / 1000, sum);
  const about = left < 60 ? 'less than a minute' : `about ${Math.round(left / 60)} min`;
  return share === 1 ? undefined : `${Math.floor(share * 100)} %, ${about} left`;
}

function tick(): void {
  const now = performance.now();
  const lines = [...running].map(([text, from]) => `${text} (${seconds(now - from)})`);
  say([outlook(now), `at work: ${lines.join(', ')}`].filter((part) => part !== undefined).join('; '));
}

/** Prints the duration of a step. While any step runs, a line every 20 s says which. */
export async function timed<T>(text: string, work: () => Promise<T>): Promise<T> {
  const from = performance.now();
  running.set(text, from);
  ticker ??= setInterval(tick, TICK_MS);
  try {
    const result = await work();
    ended.add(text);
    running.delete(text);
    const rest = outlook(performance.now());
    say(`${text}: ${seconds(performance.now() - from)}${rest === undefined ? '' : ` (${rest})`}`);
    return result;
  } finally {
    running.delete(text);
    if (running.size === 0) {
      clearInterval(ticker);
      ticker = undefined;
    }
  }
}
