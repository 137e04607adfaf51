import { execFile, fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Asked } from './far_origin.ts';
import { files, makeCertificate, makeMedia, makeMoreMedia, moreFiles } from './media.ts';
import type { Answer, Order } from './proxy_process.ts';

/**
 * Both tools on an HTTPS origin 40 ms away, bare and through the source proxy, in parallel in the same run. The proxy
 * is a separate process, as in a pod, and new for each run, without open connections or a cache. `node
 * bench/source/far.ts [runs] [file …]`. BENCH_ONE_WAY_MS=75: 150 ms away. BENCH_MBIT=1000: 1 Gbit/s a connection.
 * BENCH_TOOLS=both: without ffprobe alone. BENCH_TIMELINE=1: the requests of the last run, as the origin saw them.
 */

const run = promisify(execFile);
const runs = Number(process.argv[2] ?? 5);
const chosen = process.argv.length > 3 ? process.argv.slice(3) : [...files, ...moreFiles];
const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'probeyard', 'bench-media');

makeMedia(folder);
makeMoreMedia(folder);
const { cert, key } = makeCertificate(join(folder, 'tls'));
const origin: ChildProcess = fork(join(import.meta.dirname, 'far_origin.ts'), [folder, cert, key]);
const [{ port }] = (await once(origin, 'message')) as [{ port: number }];

const agent: ChildProcess = fork(join(import.meta.dirname, 'proxy_process.ts'), [cert]);
async function order<T extends Answer>(what: Order): Promise<T> {
  const answered = once(agent, 'message');
  agent.send(what);
  return ((await answered) as [T])[0];
}

interface Counters {
  sent: number;
  delivered: number;
  connections: number;
  requests: number;
  asked: Asked[];
}
async function counters(): Promise<Counters> {
  origin.send('counters');
  return ((await once(origin, 'message')) as [Counters])[0];
}

type Tool = (address: string, environment?: Record<string, string>) => Promise<string>;
const ffprobe: Tool = async (address, env) =>
  (
    await run(
      'ffprobe',
      ['-v', 'quiet', '-of', 'json', '-show_format', '-show_streams', '-show_programs', '-show_chapters', address],
      { maxBuffer: 64 << 20, env: { ...process.env, ...env } },
    )
  ).stdout;
const mediainfo: Tool = async (address, env) =>
  (
    await run('mediainfo', ['--Output=JSON', '--Ssl_IgnoreSecurity', '--Language=raw', address], {
      maxBuffer: 64 << 20,
      env: { ...process.env, ...env },
    })
  ).stdout;

const memory: number[] = [];
type Result = Counters & { begin: number; ms: number; outputs: string[] };

async function bare(name: string, tools: Tool[]): Promise<Result> {
  await counters();
  const begin = performance.now();
  const outputs = await Promise.all(tools.map((tool) => tool(`https://127.0.0.1:${port}/${name}`)));
  const ms = performance.now() - begin;
  await settled();
  return { begin: performance.timeOrigin + begin, ms, outputs, ...(await counters()) };
}

async function proxied(name: string, tools: Tool[]): Promise<Result> {
  await counters();
  const begin = performance.now();
  const { addresses, environments } = await order<Extract<Answer, { addresses: string[] }>>({
    open: `https://127.0.0.1:${port}/${name}`,
    port,
    tools: tools.length,
  });
  const outputs = await Promise.all(tools.map((tool, i) => tool(addresses[i]!, environments[i]!)));
  const ms = performance.now() - begin;
  await settled();
  const counted = await counters();
  const end = await order<Extract<Answer, { outputs: string[] }>>({ close: outputs });
  if (!end.prepared) throw new Error('the source could not be prepared');
  memory.push(end.rss);
  return { begin: performance.timeOrigin + begin, ms, outputs: end.outputs, ...counted };
}

/** Bytes in flight when the tools exited still count. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 300));

const middle = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
const spread = (values: number[], unit: (value: number) => string): string =>
  `${unit(middle(values))} (${unit(Math.min(...values))} to ${unit(Math.max(...values))})`;
const ms = (value: number): string => value.toFixed(0);
const mb = (value: number): string => (value / 1e6).toFixed(1);

function timeline({ begin, ms: took, asked }: Result): string {
  const after = (at: number | undefined): string => (at === undefined ? '…' : (at - begin).toFixed(0));
  return [
    ...asked.map(
      ({ at, end, connection, what, bytes }) =>
        `    ${after(at).padStart(5)} to ${after(end).padStart(5)} ms  ` +
        `connection ${connection}  ${mb(bytes)} MB  ${what}`,
    ),
    `    ${took.toFixed(0).padStart(5)} ms: the tools have ended`,
  ].join('\n');
}

console.log(
  `${runs} runs, median (least to most); origin ${process.env['BENCH_ONE_WAY_MS'] ?? 20} ` +
    `ms each way, ${process.env['BENCH_MBIT'] ?? 100} Mbit/s a connection`,
);
console.log(
  '| file | tools | bare ms | proxied ms | time | bare MB | proxied MB | bytes | on the line | ' +
    'connections | requests | outputs |\n|---|---|---|---|---|---|---|---|---|---|---|---|',
);
for (const name of chosen) {
  for (const [label, tools] of [
    ['ffprobe', [ffprobe]],
    ['both', [ffprobe, mediainfo]],
  ] as const) {
    if (label !== (process.env['BENCH_TOOLS'] ?? label)) continue;
    const without: Result[] = [];
    const through: Result[] = [];
    for (let i = 0; i < runs; i++) {
      without.push(await bare(name, [...tools]));
      through.push(await proxied(name, [...tools]));
    }
    const pick = <K extends 'ms' | 'sent' | 'delivered' | 'connections' | 'requests'>(
      results: Result[],
      field: K,
    ): number[] => results.map((result) => result[field]);
    const equal = without.every((result, i) => result.outputs.every((output, j) => output === through[i]!.outputs[j]));
    console.log(
      `| ${name} | ${label} | ${spread(pick(without, 'ms'), ms)} | ${spread(pick(through, 'ms'), ms)} ` +
        `| ×${(middle(pick(through, 'ms')) / middle(pick(without, 'ms'))).toFixed(2)} ` +
        `| ${spread(pick(without, 'sent'), mb)} | ${spread(pick(through, 'sent'), mb)} | ` +
        `×${(middle(pick(through, 'sent')) / middle(pick(without, 'sent'))).toFixed(2)} ` +
        `| ${mb(middle(pick(without, 'delivered')))} / ${mb(middle(pick(through, 'delivered')))} | ` +
        `${middle(pick(without, 'connections'))} / ${middle(pick(through, 'connections'))} | ` +
        `${middle(pick(without, 'requests'))} / ${middle(pick(through, 'requests'))} | ` +
        `${equal ? 'equal' : 'DIFFER'} |`,
    );
    if (process.env['BENCH_TIMELINE'] !== undefined)
      console.log(`  bare:\n${timeline(without.at(-1)!)}\n  proxied:\n${timeline(through.at(-1)!)}`);
    if (!equal && process.env['BENCH_SHOW'] !== undefined) console.log(without[0]!.outputs, through[0]!.outputs);
  }
}
console.log(`memory of the proxy's process after a run: ${spread(memory, mb)} MB`);
origin.kill();
agent.kill();
