/**
 * Whether anything piles up: probes at the highest rate that the machine takes, with the installation's own settings,
 * and meanwhile the objects that the API server keeps and the memory of all parts. `node bench/cluster/steady.ts
 * --minutes 60`. A line a minute, then the median of each third.
 */
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { memory } from '../../test/faults/memory.ts';
import { median } from '../statistics.ts';
import { openCallers } from './callers.ts';
import { nameOfProcess, residentMb } from './cpu.ts';
import { withCluster } from './rig.ts';
import { manyTokens } from './tokens.ts';

const CALLERS = 40;
const TOKENS = 8;
const SAMPLE_MS = 60_000;
/** What keeps the objects: not part of the product. */
const BESIDE = ['etcd', 'kube-apiserver'] as const;

const residentOf = (name: string): number =>
  Math.round(residentMb(readdirSync('/proc').find((pid) => /^\d+$/.test(pid) && nameOfProcess(pid) === name) ?? ''));

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' } } });
const until = performance.now() + Number(values.minutes) * 60_000;

await withCluster(async (c) => {
  const origin = await c.origin();
  const { tokens, revoke } = await manyTokens(c, TOKENS);
  const callers = openCallers(c.url);
  const statuses: Record<string, number> = {};
  const samples: Record<string, number>[] = [];
  let answered = 0;
  const call = async (index: number): Promise<void> => {
    while (performance.now() < until) {
      const { status } = await callers.probe(`${origin.url}/tiny.mp4`, tokens[index % TOKENS]!);
      statuses[status] = (statuses[status] ?? 0) + 1;
      answered++;
    }
  };
  /** As the API server itself counts them, and the size of its storage. */
  const stored = async (): Promise<Record<string, number>> => {
    const text = await c.kubectl('get', '--raw', '/metrics');
    const objects = (resource: string): number =>
      Number(
        new RegExp(`^apiserver_(?:storage|resource)_objects\\{[^}]*resource="${resource}[^}]*\\} (\\S+)$`, 'm').exec(
          text,
        )?.[1] ?? NaN,
      );
    const bytes = Number(/^apiserver_storage_size_bytes\{[^}]*\} (\S+)$/m.exec(text)?.[1] ?? NaN);
    return { probejobs: objects('probejobs'), events: objects('events'), 'etcd MB': Math.round(bytes / 2 ** 20) };
  };
  const finished = (async () => {
    for (let before = 0; performance.now() < until - SAMPLE_MS;) {
      await delay(SAMPLE_MS);
      const sample = {
        'jobs/s': Math.round(((answered - before) / SAMPLE_MS) * 10_000) / 10,
        ...(await stored()),
        ...memory('Pss'),
        ...Object.fromEntries(BESIDE.map((name) => [name, residentOf(name)])),
      };
      before = answered;
      samples.push(sample);
      console.log(JSON.stringify(sample));
    }
  })();
  try {
    await Promise.all([...Array.from({ length: CALLERS }, (_, index) => call(index)), finished]);
  } finally {
    callers.close();
    await revoke();
  }
  console.log(`${answered} answers, by status ${JSON.stringify(statuses)}`);
  const third = Math.floor(samples.length / 3);
  for (const name of Object.keys(samples[0] ?? {})) {
    const all = samples.map((sample) => sample[name]!);
    const [first, middle, last] = [all.slice(0, third), all.slice(third, -third), all.slice(-third)].map(median);
    console.log(`${name}: ${first}, ${middle}, ${last} in the thirds; ${Math.min(...all)} to ${Math.max(...all)}`);
  }
});
