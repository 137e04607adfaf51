/** An origin at a distance, the tools, and one source proxy or several that take turns. */
import { execFile, fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { AGENT_NODE_OPTIONS, SOURCE_SEND_BYTES } from '../../src/service/controller/pools/pod.ts';
import { buildListener } from '../../test/runner/built_launcher.ts';
import type { Asked } from './far_origin.ts';
import type { Answer, Order } from './proxy_process.ts';

export interface Distance {
  oneWayMs: number;
  /** A connection's. */
  mbit: number;
}

export interface Run {
  /** By the wall clock. */
  begin: number;
  ms: number;
  outputs: string[];
  /** Bytes that left the origin, and bytes that passed the line. */
  sent: number;
  delivered: number;
  connections: number;
  requests: number;
  asked: Asked[];
  /** Of the proxy's process. */
  rss?: number;
  cpuMs?: number;
}

export interface Near {
  ms: number;
  /** Of the proxy's process. */
  cpuMs: number;
  rss: number;
  /** Bytes that the proxy read. */
  read: number;
}

export type Tool = (address: string, environment?: Record<string, string>) => Promise<string>;

const run = promisify(execFile);
export const started =
  (program: string, args: readonly string[]): Tool =>
  async (address, environment) =>
    (await run(program, [...args, address], { maxBuffer: 64 << 20, env: { ...process.env, ...environment } })).stdout;

export const TOOLS: readonly Tool[] = [
  started('ffprobe', '-v quiet -of json -show_format -show_streams -show_programs -show_chapters'.split(' ')),
  started('mediainfo', ['--Output=JSON', '--Ssl_IgnoreSecurity', '--Language=raw']),
];

const ORIGIN = join(import.meta.dirname, 'far_origin.ts');
const PROXY = join(import.meta.dirname, 'proxy_process.ts');

/** Bytes in flight when the tools exited still count. */
const SETTLED_MS = 300;

/** It speaks in lines, because the listener leaves it no other descriptor. */
interface Proxy {
  child: ChildProcess;
  lines: AsyncIterator<string>;
}

async function startOf(cert: string, checkout: string): Promise<Proxy> {
  const child = spawn(await buildListener(), [String(SOURCE_SEND_BYTES), process.execPath, PROXY, cert, checkout], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: AGENT_NODE_OPTIONS },
  });
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

async function lineOf({ lines }: Proxy): Promise<Answer | 'ready'> {
  const { done, value } = await lines.next();
  if (done === true) throw new Error('the proxy ended');
  return JSON.parse(value) as Answer | 'ready';
}

async function order(proxy: Proxy, given: Order): Promise<Answer> {
  proxy.child.stdin?.write(`${JSON.stringify(given)}\n`);
  const answer = await lineOf(proxy);
  if (answer === 'ready') throw new Error('the proxy answered nothing');
  return answer;
}

export class Bed {
  readonly #origin: ChildProcess;
  readonly #proxies: readonly Proxy[];

  private constructor(origin: ChildProcess, proxies: readonly Proxy[]) {
    this.#origin = origin;
    this.#proxies = proxies;
  }

  /** `checkouts`: where the proxies' code is. */
  static async start(
    { oneWayMs, mbit }: Distance,
    { folder, cert, key, checkouts }: { folder: string; cert: string; key: string; checkouts: readonly string[] },
  ): Promise<Bed> {
    const env = { ...process.env, BENCH_ONE_WAY_MS: String(oneWayMs), BENCH_MBIT: String(mbit) };
    const origin = fork(ORIGIN, [folder, cert, key], { env });
    const proxies = await Promise.all(checkouts.map((checkout) => startOf(cert, checkout)));
    await Promise.all([once(origin, 'message'), ...proxies.map(lineOf)]);
    return new Bed(origin, proxies);
  }

  /** Both tools, or ffprobe alone, on a port that nothing is connected to. `proxy`: undefined for the bare tools. */
  async run(name: string, tools: readonly Tool[], proxy?: number): Promise<Run> {
    const { port } = await ask<{ port: number }>(this.#origin, 'listen');
    const url = `https://127.0.0.1:${port}/${name}`;
    await ask(this.#origin, 'counters');
    const begin = performance.now();
    const hidden = (outputs: string[]): string[] => outputs.map((output) => output.replaceAll(String(port), 'PORT'));
    if (proxy === undefined) {
      const outputs = await Promise.all(tools.map((tool) => tool(url)));
      return { ...(await this.#ended(begin)), outputs: hidden(outputs) };
    }
    const { value, outputs, rss, cpuMs } = await this.#through(proxy, url, tools, () => this.#ended(begin));
    return { ...value, rss, cpuMs, outputs: hidden(outputs) };
  }

  /** One of the proxies on the origin without any distance, by its kept connections where it has some. */
  async nearBy(name: string, tools: readonly Tool[], proxy: number, secure: boolean): Promise<Near> {
    const { port } = await ask<{ port: number }>(this.#origin, secure ? 'near https' : 'near');
    const url = `http${secure ? 's' : ''}://127.0.0.1:${port}/${name}`;
    const begin = performance.now();
    const { value, ioUsage, cpuMs, rss } = await this.#through(proxy, url, tools, () => performance.now() - begin);
    return { ms: value, cpuMs, rss, read: ioUsage };
  }

  /** `ended` is called between the end of the tools and that of the job. */
  async #through<T>(proxy: number, url: string, tools: readonly Tool[], ended: () => T | Promise<T>) {
    const agent = this.#proxies[proxy]!;
    const opened = await order(agent, { open: url, tools: tools.length });
    if (!('addresses' in opened)) throw new Error('the proxy did not open the source');
    const { addresses, environments } = opened;
    const printed = await Promise.all(tools.map((tool, i) => tool(addresses[i]!, environments[i]!)));
    const value = await ended();
    const closed = await order(agent, { close: printed });
    if (!('outputs' in closed) || !closed.prepared) throw new Error('the source could not be prepared');
    if (closed.ioUsage !== closed.byTool)
      throw new Error(`${closed.ioUsage} bytes were read, and ${closed.byTool} counted to tools`);
    return { ...closed, value };
  }

  async #ended(begin: number): Promise<Omit<Run, 'outputs'>> {
    const ms = performance.now() - begin;
    await delay(SETTLED_MS);
    const counted = await ask<Omit<Run, 'outputs' | 'begin' | 'ms'>>(this.#origin, 'counters');
    return { begin: performance.timeOrigin + begin, ms, ...counted };
  }

  /** How long the bare tools take without any distance, in plain HTTP. */
  async near(name: string, tools: readonly Tool[]): Promise<number> {
    const { port } = await ask<{ port: number }>(this.#origin, 'near');
    const begin = performance.now();
    await Promise.all(tools.map((tool) => tool(`http://127.0.0.1:${port}/${name}`)));
    const ms = performance.now() - begin;
    await delay(SETTLED_MS);
    return ms;
  }

  stop(): void {
    for (const child of [this.#origin, ...this.#proxies.map((proxy) => proxy.child)]) child.kill();
  }
}

async function ask<T>(child: ChildProcess, message: string): Promise<T> {
  const answered = once(child, 'message');
  child.send(message);
  return ((await answered) as [T])[0];
}
