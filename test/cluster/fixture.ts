/** Shared by the tests on the cluster: access to it, an origin, and waits with deadlines. */
import { createHash, randomBytes } from 'node:crypto';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { PROBE_JOBS, type KubeClient } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { describedAs, undescribed, type Seen } from '../api/described.ts';
import { readEnvironment } from '../node/environment.ts';
import { startOrigin, type Handler, type Origin } from '../node/origin.ts';
import { PATIENCE } from '../patience.ts';
import { noted } from '../waits.ts';

export const NAMESPACE = 'probeyard';
export const RUNNERS = 'probeyard-runners';
export const fixtures = join(import.meta.dirname, '..', 'fixtures');
const exec = promisify(execFile);

export interface Envelope {
  success: boolean;
  error?: string;
  metadata?: { request_id: string; queue_time: number; io_usage: number };
  [tool: string]: unknown;
}
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  json: Envelope;
  ms: number;
}

export interface Cluster {
  kube: KubeClient;
  url: string;
  token: string;
  hostIp: string;
  kubeconfig: string;
  origin(from?: string | Handler): Promise<Origin>;
  /** A text is sent as it is. */
  probe(
    body: object | string,
    options?: { token?: string; signal?: AbortSignal; path?: string; headers?: Record<string, string> },
  ): Promise<Answer>;
  get(path: string, token?: string): Promise<Answer>;
  kubectl(...args: string[]): Promise<string>;
  sql(query: string): Promise<string>;
  /** A separate token for a test that counts, revoked by `close`. */
  newToken(concurrency?: number, perMinute?: number): Promise<{ id: number; token: string }>;
  close(): Promise<void>;
}

async function answerOf(started: number, response: Response, asked: Pick<Seen, 'method' | 'path'>): Promise<Answer> {
  const text = await response.text();
  const seen = { ...asked, status: response.status, type: response.headers.get('content-type'), body: text };
  const fault = undescribed(seen);
  if (fault !== undefined)
    throw new Error(`the OpenAPI description has no such response: ${describedAs(seen)}: ${fault}`);
  let json: Envelope = { success: false };
  try {
    json = JSON.parse(text) as Envelope;
  } catch {
    // For a response that is not JSON, the text is returned.
  }
  return { status: response.status, headers: response.headers, text, json, ms: performance.now() - started };
}

/** For a Postgres of the chart. The password comes from a file of its pod: it is in no command line and no error. */
export const PSQL = [
  'sh',
  '-c',
  'read -r PGPASSWORD < /etc/postgres-password/password; export PGPASSWORD; exec psql -X -q -A -t ' +
    '-v ON_ERROR_STOP=1 -h 127.0.0.1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" -c "$1"',
  'psql',
];

/** `ownSql` queries the records, if they are not in the installed PostgreSQL. */
export async function cluster(ownSql?: Cluster['sql']): Promise<Cluster> {
  const env = await readEnvironment();
  const { KUBECONFIG: kubeconfig, PROBEYARD_URL: url, PROBEYARD_TOKEN: token, PROBEYARD_HOST_IP: hostIp } = env;
  if (!kubeconfig || !url || !token || !hostIp) throw new Error('the cluster is not up: run `make up` first');
  const kube = await kubeClient({ kubeconfig, namespace: NAMESPACE });
  const origins: Origin[] = [];
  const made: number[] = [];
  const kubectl = async (...args: string[]): Promise<string> =>
    (
      await exec(
        join(import.meta.dirname, '..', '..', '.local', 'bin', 'kubectl'),
        ['--kubeconfig', kubeconfig, ...args],
        { timeout: PATIENCE * 60_000, maxBuffer: 64 * 1024 * 1024 },
      )
    ).stdout;
  const installedSql = async (query: string): Promise<string> =>
    (await kubectl('-n', NAMESPACE, 'exec', 'probeyard-postgres-0', '-c', 'postgres', '--', ...PSQL, query)).trim();
  const sql = ownSql ?? installedSql;
  const call = async (path: string, init: RequestInit & { token?: string | undefined }): Promise<Answer> => {
    const started = performance.now();
    const { token: own, ...rest } = init;
    const response = await fetch(`${url}${path}`, {
      ...rest,
      headers: {
        authorization: `Bearer ${own ?? token}`,
        'content-type': 'application/json',
        ...(rest.headers as Record<string, string> | undefined),
      },
      signal: rest.signal ?? AbortSignal.timeout(150_000),
    });
    return answerOf(started, response, { method: init.method ?? 'GET', path });
  };
  return {
    kube,
    url,
    token,
    hostIp,
    kubeconfig,
    kubectl,
    sql,
    async origin(from = fixtures) {
      const origin = await startOrigin(hostIp, from);
      origins.push(origin);
      return origin;
    },
    probe: (body, { token: own, signal, path = '/v1/probe/file', headers = {} } = {}) =>
      call(path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        token: own,
        headers,
        ...(signal ? { signal } : {}),
      }),
    get: (path, own) => call(path, { method: 'GET', token: own }),
    async newToken(concurrency = 10, perMinute = 1_000_000) {
      const token_ = randomBytes(64).toString('base64url').replaceAll(/[-_]/g, 'x').slice(0, 64);
      const sha = createHash('sha256').update(token_).digest('hex');
      // A separate user with high limits, because a token can only lower the limits of its user.
      const id = Number(
        await sql(
          `with u as (
             insert into users (email, status, role, permissions, requests_per_minute, concurrency)
             select 'test-' || gen_random_uuid() || '@example.invalid', 'active', 'user', u.permissions, 10000000, 10000
             from users u join tokens t on t.user_id = u.id where t.is_default returning id)
           insert into tokens (user_id, name, sha256, concurrency, requests_per_minute)
           select id, 'test', decode('${sha}', 'hex'), ${concurrency}, ${perMinute} from u returning id`,
        ),
      );
      made.push(id);
      return { id, token: token_ };
    },
    async close() {
      for (const origin of origins) await origin.close();
      if (made.length > 0) await sql(`update tokens set revoked_at = now() where id in (${made.join(',')})`);
      await kube.close();
    },
  };
}

/** Polls until the function returns a value. The last error is the cause when the deadline passes. */
export const eventually = <T>(
  what: string,
  seconds: number,
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> => noted(what, () => poll(what, seconds, look));

async function poll<T>(
  what: string,
  seconds: number,
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const began = performance.now();
  const longest = PATIENCE * seconds;
  const end = began + longest * 1000;
  let last: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) throw new Error(`${what}: not within ${longest} s`, { cause: last });
    // A poll often starts a process, and the cluster shares its CPU, so slow polls are repeated less often.
    await delay(Math.min(1_000, Math.max(100, (performance.now() - began) / 10)));
  }
}

export const stateOf = (job: ProbeJob): string =>
  job.status?.conditions?.find(({ type }) => type === 'Succeeded')?.reason ?? '';
export const jobOf = (kube: KubeClient, name: string): Promise<ProbeJob> =>
  kube.get(PROBE_JOBS, name, { namespace: NAMESPACE });
