/** The passwords of PostgreSQL are rotated on a real API server and the PostgreSQL of the chart. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KubeClient, SECRETS, type Secret } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { rotate } from '../../src/service/setup/rotate.ts';
import { connectedFor } from '../../src/platform/store/connection.ts';
import { type TestApiServer, testApiServer } from '../kube/apiserver.ts';
import { type PostgresImage, startPostgresImage } from '../servers.ts';

const ROLES = { postgres: 'probeyard', postgresApi: 'probeyard_api', postgresController: 'probeyard_controller' };
type Kind = keyof typeof ROLES;
const KINDS = Object.keys(ROLES) as Kind[];
const NAMES = Object.fromEntries(KINDS.map((kind) => [kind, `secret-${kind.toLowerCase()}`]));
const OLD = Object.fromEntries(Object.values(ROLES).map((role) => [role, `old password of ${role}`]));

type Snapshot = Record<Kind, Record<string, string>>;

describe('rotation of the passwords of PostgreSQL', function () {
  this.timeout(120_000);
  let server: TestApiServer;
  let kube: KubeClient;
  let image: PostgresImage;
  let folder: string;
  let lines: object[];

  before(async () => {
    server = await testApiServer({ own: true });
    image = await startPostgresImage(OLD);
  });
  after(() => image.stop());
  beforeEach(async () => {
    await image.restart(OLD);
    kube = await kubeClient({ kubeconfig: server.kubeconfig, namespace: await server.namespace('passwords') });
    for (const kind of KINDS) {
      const password = OLD[ROLES[kind]] ?? '';
      const url = `postgres://${ROLES[kind]}:${encodeURIComponent(password)}@127.0.0.1:${image.port}/probeyard`;
      const stringData = { username: ROLES[kind], password, database: 'probeyard', url, 'direct-url': url };
      await kube.create(SECRETS, { metadata: { name: NAMES[kind] ?? '' }, stringData } as never);
    }
    folder = mkdtempSync(join(tmpdir(), 'probeyard-passwords-'));
    lines = [];
  });
  afterEach(async () => {
    await kube.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function snapshot(): Promise<Snapshot> {
    const entries = KINDS.map(async (kind) => {
      const { data = {} } = await kube.get<Secret>(SECRETS, NAMES[kind] ?? '');
      const decoded = Object.entries(data).map(([key, value]) => [
        key,
        Buffer.from(String(value), 'base64').toString(),
      ]);
      return [kind, Object.fromEntries(decoded)];
    });
    return Object.fromEntries(await Promise.all(entries)) as Snapshot;
  }

  /** Whether a pod with these Secrets in its folder can sign in. */
  async function signsIn(held: Snapshot): Promise<void> {
    for (const kind of KINDS) {
      const mounted = mkdtempSync(join(folder, 'mounted-'));
      for (const key of ['url', 'direct-url', 'other-password'])
        if (held[kind][key] !== undefined) writeFileSync(join(mounted, key), held[kind][key]);
      const client = await connectedFor(`sign-in as ${kind}`, { url: '', folder: mounted });
      assert.deepEqual((await client.query('select user::text as name')).rows, [{ name: ROLES[kind] }]);
      await client.end();
    }
  }

  /** `at` is called in each stage, when all three rotations wait. */
  async function rotated(at: (now: Snapshot) => Promise<void>): Promise<void> {
    const log = { info: (line: object) => lines.push(line), warn: (line: object) => lines.push(line) };
    let clock = Date.now();
    let waiting: { go: () => void; fail: (error: unknown) => void }[] = [];
    const together = async (ms: number): Promise<void> => {
      const all = waiting;
      waiting = [];
      try {
        await at(await snapshot());
        clock += ms;
        for (const { go } of all) go();
      } catch (error) {
        for (const { fail } of all) fail(error);
      }
    };
    await rotate(kube, ['postgres'], {
      names: NAMES,
      natsHosts: [],
      database: { url: '' },
      log: log as never,
      now: () => clock,
      wait: (ms) =>
        new Promise((go, fail) => {
          waiting.push({ go, fail });
          if (waiting.length === KINDS.length) void together(ms);
        }),
    });
  }

  it('every pod signs in at each step, also a step behind, and at the end the old passwords are refused', async () => {
    const seen = [await snapshot()];
    const check = async (now: Snapshot): Promise<void> => {
      for (const held of [seen.at(-1)!, now]) await signsIn(held);
      seen.push(now);
    };
    await rotated(check);
    const after = await snapshot();
    await check(after);
    assert.equal(seen.length, 4);
    const before = seen[0]!;
    await assert.rejects(signsIn(before), { code: 'unreachable', message: /Postgres refuses this role/ });
    for (const kind of KINDS) {
      assert.deepEqual(Object.keys(after[kind]).sort(), Object.keys(before[kind]).sort());
      for (const key of ['password', 'url', 'direct-url']) assert.notEqual(after[kind][key], before[kind][key]);
      assert.equal(new URL(after[kind]['url'] ?? '').password, after[kind]['password']);
    }
    assert.ok(KINDS.every((kind) => !JSON.stringify(lines).includes(after[kind]['password'] ?? '')));
  });

  it('a server that starts with the old passwords in the middle gets the new ones at the end', async () => {
    let restarted = false;
    await rotated(async (now) => {
      if (!now.postgres['rotation']?.includes('changed') || restarted) return;
      restarted = true;
      await image.restart(OLD);
      await signsIn(now);
    });
    assert.ok(restarted);
    await signsIn(await snapshot());
  });

  it('goes on where a killed job was, after the roles have the new passwords and before the Secrets do', async () => {
    await assert.rejects(
      rotated(() => Promise.reject(new Error('killed'))),
      /killed/,
    );
    const half = await snapshot();
    const next = half.postgresApi['other-password'] ?? '';
    const client = await connectedFor('the killed job', { url: half.postgresApi['url'] ?? '' });
    await client.query(`alter role current_user password '${next}'`);
    await client.end();
    await signsIn(half);
    await rotated(signsIn);
    const after = await snapshot();
    await signsIn(after);
    assert.equal(after.postgresApi['password'], next);
  });

  it('leaves a Secret without a password alone, and says why', async () => {
    await kube.mergePatch(SECRETS, NAMES['postgres'] ?? '', { data: { password: null } });
    const before = await snapshot();
    const log = { info: () => {}, warn: (line: object) => lines.push(line) };
    await assert.rejects(
      rotate(kube, ['postgres'], {
        names: NAMES,
        natsHosts: [],
        database: { url: '' },
        log: log as never,
        wait: () => Promise.reject(new Error('over')),
      }),
      /over/,
    );
    assert.deepEqual((await snapshot()).postgres, before.postgres);
    assert.match(JSON.stringify(lines), /the Secret has no password, or no url/);
  });
});
