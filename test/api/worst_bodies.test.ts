/**
 * What one call can do to the others: the worst bodies that each endpoint lets through are sent to the role, as a
 * process, and no turn of its event loop may take longer than 20 ms. Endpoints and bodies are derived, so that a new
 * endpoint is in it.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { ENDPOINTS, OPERATIONS } from '../../src/service/api/endpoints.ts';
import { mcpEndpoint } from '../../src/service/api/mcp/mcp_endpoint.ts';
import { makeInside } from '../../src/service/api/mcp/calls.ts';
import { until } from '../until.ts';
import { MAIN, startRoleServers, type RoleServers } from './role_process.ts';
import { worstBodies, worstPolicies, type Sent } from './worst_bodies.ts';

const MOST_MS = 20;
/**
 * Node reads 64 kB from a socket at once, and parses all chunks in it in one turn: 11,000 of one byte take 25 to 48 ms
 * before any code of ours can refuse them.
 */
const MOST_DRIPPED_MS = 60;
/** A slow turn is measured again: a collection of garbage or code that is not compiled yet is nothing of the body. */
const TRIES = 3;
const ANSWERED_WITHIN_MS = 20_000;
/** Valid calls end with these, because there is no controller. */
const NO_CONTROLLER = /version is ready in this cluster|the leader has not sent a cluster snapshot yet/;
/** Each body has an account of its own, because accounts have rates. */
const ACCOUNTS = 20_000;

const CALIBRATION = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ id: index, name: `n${index}` })));
/** CPU time in ms that parsing it takes on the machine that the bound is for. */
const CALIBRATED_MS = 4;

/** How much slower this machine is now. */
function slowness(): number {
  const times = Array.from({ length: 5 }, () => {
    const before = process.threadCpuUsage();
    JSON.parse(CALIBRATION);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.max(1, Math.min(...times) / CALIBRATED_MS);
}

const ALL = [...ENDPOINTS, mcpEndpoint(makeInside(), () => OPERATIONS, pino({ level: 'silent' }))];

async function ask(child: ChildProcess, message: 'watch' | 'held'): Promise<unknown> {
  child.send(message);
  const [answer] = (await once(child, 'message', { signal: AbortSignal.timeout(ANSWERED_WITHIN_MS) })) as [unknown];
  return answer;
}

/** Chunks of one byte, which no client sends. */
async function drip(url: URL, { method, type, body }: Sent, token: string): Promise<{ status: number; text: string }> {
  const socket = connect(Number(url.port), url.hostname);
  socket.on('error', () => {});
  socket.write(
    `${method} ${url.pathname} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: ${type}\r\n` +
      'Transfer-Encoding: chunked\r\n\r\n',
  );
  socket.write(Buffer.from([...body!].map((byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('')));
  let text = '';
  for await (const piece of socket) {
    text += String(piece);
    if (text.includes('\r\n\r\n')) break;
  }
  socket.destroy();
  return { status: Number(text.split(' ')[1]), text };
}

async function send(base: string, sent: Sent, token: string): Promise<{ status: number; text: string }> {
  const url = new URL(base + sent.path);
  if (sent.isDripped) return drip(url, sent, token);
  const response = await fetch(url, {
    method: sent.method,
    ...(sent.body ? { body: new Uint8Array(sent.body) } : {}),
    headers: {
      Authorization: `Bearer ${token}`,
      ...(sent.type === undefined ? {} : { 'Content-Type': sent.type }),
      ...sent.headers,
    },
    signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
  });
  return { status: response.status, text: await response.text() };
}

describe('the event loop is not held by the worst bodies', function () {
  this.timeout(600_000);
  let servers: RoleServers;
  let role: { child: ChildProcess; url: string } | undefined;
  let tokens = 0;

  before(async () => {
    servers = await startRoleServers();
    await servers.stored.sql(
      `with made as (
        insert into users (email, first_name, role, status, permissions)
        select 'worst-' || n || '@example.org', 'w', 'admin', 'active', (select permissions from users where id = $1)
        from generate_series(1, $2::int) n returning id, email)
      insert into tokens (user_id, name, sha256)
      select id, 'worst', sha256(lpad(substring(email from '[0-9]+'), 64, 'W')::bytea) from made`,
      [servers.stored.admin.userId, ACCOUNTS],
    );
  });
  after(async () => {
    role?.child.kill('SIGKILL');
    await servers.stop();
  });

  /** A new one if the last one has ended. */
  async function running(): Promise<{ child: ChildProcess; url: string }> {
    if (role && role.child.exitCode === null && role.child.signalCode === null) return role;
    const { env, url } = await servers.settings();
    const hold = new URL('loop_hold.ts', import.meta.url).href;
    const child = spawn(process.execPath, ['--max-old-space-size=400', '--import', hold, MAIN, 'api'], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: {
        ...env,
        PY_UPLOAD_FOLDER: `${servers.folder}/uploads`,
        PY_UPLOAD_LISTEN: '127.0.0.1:0',
        PY_POD_IP: '127.0.0.1',
      },
    });
    await until('the role is ready', async () => (await fetch(`${url}/readyz`)).ok, 60_000);
    role = { child, url };
    return role;
  }

  const newToken = (): string => String(++tokens).padStart(64, 'W');

  /** Ms of the longest turn. A role that does not answer any more is replaced. */
  async function held(sent: Sent): Promise<number> {
    const { child, url } = await running();
    try {
      await ask(child, 'watch');
      const { status, text } = await send(url, sent, newToken());
      const isRead = (status >= 200 && status < 500 && status !== 401 && status !== 429) || NO_CONTROLLER.test(text);
      assert.ok(isRead, `${sent.what}: ${status} ${text.slice(0, 500)}`);
      return (await ask(child, 'held')) as number;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      child.kill('SIGKILL');
      role = undefined;
      return Infinity;
    }
  }

  /** Undefined: never too long. */
  async function tooLong(sent: Sent): Promise<string | undefined> {
    const most = sent.isDripped ? MOST_DRIPPED_MS : MOST_MS;
    let least = Infinity;
    for (let tried = 0; tried < TRIES; tried++) {
      least = Math.min(least, await held(sent));
      if (least <= most * (least > most ? slowness() : 1)) return undefined;
      if (least === Infinity) break;
    }
    return `${sent.what}: ${least === Infinity ? 'no answer' : `${least.toFixed(0)} ms`}`;
  }

  async function assertShort(all: readonly Sent[]): Promise<void> {
    const long: string[] = [];
    for (const sent of all) {
      const told = await tooLong(sent);
      if (told !== undefined) long.push(told);
    }
    assert.deepEqual(long, []);
  }

  it('by any endpoint that is described, apart from the pages', () => {
    const paths = (of: readonly { method: string; path: string }[]) =>
      of.map(({ method, path }) => `${method} ${path}`);
    const tried = new Set(paths(ALL.map(({ operation }) => operation)));
    assert.deepEqual(
      paths(OPERATIONS).filter((one) => !tried.has(one) && !one.startsWith('get ')),
      [],
    );
  });

  for (const endpoint of ALL) {
    const name = `${endpoint.operation.method.toUpperCase()} ${endpoint.operation.path}`;
    it(name, () => assertShort(worstBodies(endpoint)));
    for (const sent of worstPolicies(endpoint)) it(`${name}, a policy, ${sent.what}`, () => assertShort([sent]));
  }
});
