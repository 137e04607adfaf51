/** Checks of what a request depends on: the API server, names, clocks, the disk, and Probeyard itself. */
import { lookup } from 'node:dns/promises';
import { open, readFile, rm } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { probeOf, shownMs, type Probe } from '../finding.ts';
import type { Settings } from '../settings.ts';

/** Of the API server, without credentials: what it answers is not looked at, but when, and at which time. */
interface Answer {
  /** The server's clock, in whole seconds, as milliseconds; NaN: it does not say. */
  date: number;
  /** This machine's clock. */
  sentAt: number;
  receivedAt: number;
  /** By the monotonic clock. */
  durationMs: number;
}

const CALL_MS = 10_000;

/** Over one connection: the first answer includes its set-up. */
async function withApiServer<T>(
  { apiServer, caFile }: Settings,
  work: (ask: () => Promise<Answer>) => Promise<T>,
): Promise<T> {
  if (apiServer === '') throw new Error('the address of the API server is not known outside of a pod');
  const ca = await readFile(caFile).catch(() => {
    throw new Error(`the certificate authority of the API server cannot be read (${caFile})`);
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
  const ask = (): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sentAt = Date.now();
      const began = performance.now();
      const call = request(`${apiServer}/version`, { agent, timeout: CALL_MS }, (response) => {
        const answer: Answer = {
          date: Date.parse(response.headers.date ?? ''),
          sentAt,
          receivedAt: Date.now(),
          durationMs: performance.now() - began,
        };
        response.resume();
        response.once('end', () => resolve(answer));
        response.once('error', reject);
      });
      call.once('timeout', () => call.destroy(new Error(`no answer from the API server within ${CALL_MS / 1000} s`)));
      call.once('error', reject);
      call.end();
    });
  try {
    return await work(ask);
  } finally {
    agent.destroy();
  }
}

const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;

function spread(durations: Durations): { found: string; late: number } {
  const late = quantile(durations, 0.95);
  return { found: `median ${shownMs(quantile(durations, 0.5))}, 19 of 20 within ${shownMs(late)}`, late };
}

const TIMED_CALLS = 30;
const SLOW_API_MS = 200;
/** The leader's lease lasts 6 s, and is renewed by two calls in a row. */
const LOST_LEASE_MS = 2_000;

/** Of each call over an open connection, or of each write with its sync, in milliseconds. */
type Durations = readonly number[];

export const apiLatency: Probe<Durations> = {
  id: 'api-latency',
  title: 'Kubernetes API latency',
  wanted: `19 of 20 answers within ${shownMs(SLOW_API_MS)}`,
  why: 'A request takes two or three writes to the API server, and the leader renews its lease there.',
  collect: (settings) =>
    withApiServer(settings, async (ask) => {
      await ask();
      const durations: number[] = [];
      for (let call = 0; call < TIMED_CALLS; call++) durations.push((await ask()).durationMs);
      return durations;
    }),
  verdict(durations) {
    const { found, late } = spread(durations);
    if (late >= LOST_LEASE_MS) return { status: 'fail', found };
    if (late <= SLOW_API_MS) return { status: 'pass', found };
    return { status: 'warn', found, set: { 'flowControl.enabled': true } };
  },
};

const CLOCK_CALLS = 12;
const GAP_MS = 100;
const APART_MS = 2_000;
/** Two machines may differ by a minute. */
const MOST_APART_MS = 60_000;

type Times = Pick<Answer, 'date' | 'sentAt' | 'receivedAt'>;

/**
 * By how much the server's clock is ahead: each answer bounds it, because the server's second began before it was
 * received, and ended after it was sent.
 */
export function bounds(answers: readonly Times[]): { least: number; most: number } {
  return {
    least: Math.max(...answers.map(({ date, receivedAt }) => date - receivedAt)),
    most: Math.min(...answers.map(({ date, sentAt }) => date + 1000 - sentAt)),
  };
}

export const clock: Probe<readonly Times[]> = {
  id: 'clock',
  title: 'clock',
  wanted: `at most ${shownMs(APART_MS)} apart from the API server's`,
  why: 'Tokens and certificates are valid by the clock. Let the nodes keep time by NTP.',
  collect: (settings) =>
    withApiServer(settings, async (ask) => {
      const answers: Answer[] = [];
      for (let call = 0; call < CLOCK_CALLS; call++) {
        if (call > 0) await delay(GAP_MS);
        answers.push(await ask());
      }
      return answers;
    }),
  verdict(answers) {
    const dated = answers.filter(({ date }) => !Number.isNaN(date));
    if (dated.length === 0) return { status: 'unknown', found: 'the API server does not say which time it is' };
    const { least, most } = bounds(dated);
    if (least > most) return { status: 'warn', found: 'a clock was set while it was read' };
    const middle = (least + most) / 2;
    const apart = Math.max(0, least, -most);
    const side = middle > 0 ? 'behind' : 'ahead of';
    const found = `${shownMs(Math.abs(middle))} ${side} the API server's, within ${shownMs((most - least) / 2)}`;
    if (apart >= MOST_APART_MS) return { status: 'fail', found };
    return { status: apart >= APART_MS ? 'warn' : 'pass', found };
  },
};

const ROUNDS = 5;
const SLOW_NAME_MS = 500;

async function lookUp(name: string) {
  const durationsMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    try {
      await lookup(name);
    } catch (error) {
      return { name, durationsMs, problem: (error as NodeJS.ErrnoException).code ?? (error as Error).message };
    }
    durationsMs.push(performance.now() - began);
  }
  return { name, durationsMs };
}

export const serversIn = (resolvConf: string): string[] =>
  resolvConf.split('\n').flatMap((line) => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? []);

/** A cache on each node listens on an address of its own, which no selector of pods covers. */
function nodeCaches(servers: readonly string[]): object[] {
  return servers
    .filter((server) => server.startsWith('169.254.'))
    .map((server) => ({
      to: [{ ipBlock: { cidr: `${server}/32` } }],
      ports: [
        { protocol: 'UDP', port: 53 },
        { protocol: 'TCP', port: 53 },
      ],
    }));
}

export const dns = probeOf({
  id: 'dns',
  title: 'DNS',
  wanted: `every name resolves within ${shownMs(SLOW_NAME_MS)}`,
  why: 'Each source is looked up by its name. networkPolicy.dns says which pods answer.',
  collect: async ({ names, nats }) => ({
    lookups: await Promise.all([...new Set([...names, ...nats.map(({ host }) => host)])].map(lookUp)),
    servers: serversIn(await readFile('/etc/resolv.conf', 'utf8').catch(() => '')),
  }),
  verdict({ lookups, servers }) {
    const failed = lookups.filter(({ problem }) => problem !== undefined);
    const rules = nodeCaches(servers);
    const extra = ['runnerExtraEgress', 'apiExtraEgress', 'controllerExtraEgress'];
    const set =
      rules.length === 0 ? undefined : Object.fromEntries(extra.map((name) => [`networkPolicy.${name}`, rules]));
    if (failed.length > 0) {
      const problems = failed.map(({ name, problem }) => `${name}: ${problem}`).join(', ');
      return { status: 'fail', found: `${problems} (asked ${servers.join(', ') || 'no server'})`, set };
    }
    const slowest = Math.max(...lookups.map(({ durationsMs }) => quantile(durationsMs, 0.5)));
    const found = `${lookups.map(({ name }) => name).join(', ')} in ${shownMs(slowest)}`;
    return { status: slowest > SLOW_NAME_MS ? 'warn' : 'pass', found, set };
  },
});

/** As PostgreSQL writes its log: blocks of 8 KiB, each on the disk before the answer. */
const BLOCK = Buffer.alloc(8_192, 1);
const SYNCS = 200;
const ALL_SYNCS_MS = 20_000;
const SLOW_SYNC_MS = 20;
const MOST_SYNC_MS = 500;

export const storage: Probe<Durations> = {
  id: 'storage',
  title: 'storage sync time',
  wanted: `19 of 20 writes on the disk within ${shownMs(SLOW_SYNC_MS)}`,
  why: 'PostgreSQL waits for the disk at the beginning and the end of each request. Choose a faster class.',
  async collect({ folder }) {
    if (folder === '') throw new Error('--folder is missing');
    const path = join(folder, '.probeyard-doctor');
    const file = await open(path, 'w');
    try {
      const durations: number[] = [];
      const end = performance.now() + ALL_SYNCS_MS;
      while (durations.length < SYNCS && performance.now() < end) {
        const began = performance.now();
        await file.write(BLOCK);
        await file.datasync();
        durations.push(performance.now() - began);
      }
      return durations;
    } finally {
      await file.close();
      await rm(path, { force: true });
    }
  },
  verdict(durations) {
    const { found, late } = spread(durations);
    if (late >= MOST_SYNC_MS) return { status: 'fail', found };
    return { status: late > SLOW_SYNC_MS ? 'warn' : 'pass', found };
  },
  notStarted: ({ reason, message }) => ({ status: 'fail', found: `no volume: ${reason}: ${message}` }),
};

const API_UP_MS = 30_000;
const API_TRY_MS = 3_000;

async function problemOfApi(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(API_TRY_MS) });
    return response.ok ? undefined : `HTTP ${response.status}`;
  } catch (error) {
    return String((error as Error).cause ?? error);
  }
}

export const api = probeOf({
  id: 'api',
  title: 'Probeyard API',
  wanted: `an answer within ${API_UP_MS / 1000} s`,
  why: 'kubectl describes its pods, and says what they wait for.',
  async collect({ api: url }) {
    if (url === undefined) throw new Error('--api is missing');
    const end = performance.now() + API_UP_MS;
    let problem = await problemOfApi(url);
    while (problem !== undefined && performance.now() < end) {
      await delay(500);
      problem = await problemOfApi(url);
    }
    return { url, problem };
  },
  verdict: ({ url, problem }) =>
    problem === undefined
      ? { status: 'pass', found: `it answers at ${url}` }
      : { status: 'fail', found: `it does not answer at ${url}: ${problem}` },
});

/** A request may wait for a runner. */
const PROBE_MS = 60_000;

async function problemOfSample(url: string, source: string, token: string): Promise<string | undefined> {
  if (token === '') return 'there is no API token: the Secret of the first administrator was removed';
  try {
    // Whatever the account has by default: it is to run.
    const query = new URLSearchParams({ url: source, 'cache[max_age]': '0' });
    const response = await fetch(`${url}/v1/probe/file?${query}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(PROBE_MS),
    });
    const answer = (await response.json()) as { success?: boolean; error?: string };
    return answer.success === true ? undefined : `HTTP ${response.status}: ${answer.error ?? 'no success'}`;
  } catch (error) {
    return String((error as Error).cause ?? error);
  }
}

export const sample = probeOf({
  id: 'sample',
  title: 'sample',
  wanted: 'the sample is probed',
  why: 'A request passes through every part: `kubectl describe probejobs` says where it stopped.',
  async collect(settings) {
    const { api: url, source, token } = settings;
    if (url === undefined || source === undefined) throw new Error('--api or --source is missing');
    const isUp = api.verdict(await api.collect(settings)).status === 'pass';
    return { url: source, problem: isUp ? await problemOfSample(url, source, token) : 'the API does not answer' };
  },
  verdict: ({ url: source, problem }) =>
    problem === undefined
      ? { status: 'pass', found: `${source} was probed` }
      : { status: 'fail', found: `${source} was not probed: ${problem}` },
});
