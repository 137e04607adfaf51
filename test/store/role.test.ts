import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../src/platform/store/store.ts';
import { startPostgres } from '../servers.ts';
import { ADMIN, sha256 } from './fixture.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

async function migrateRole(env: Record<string, string>): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [MAIN, 'migrate'], {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  // Not at its exit: what it printed may come later.
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

describe('role migrate', function () {
  this.timeout(60_000);
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-role-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  it('waits for Postgres, migrates and creates the administrator from mounted files, even two at once', async () => {
    const server = await startPostgres();
    try {
      await server.down();
      const env = {
        PY_POSTGRES_URL: server.url,
        PY_ADMIN_EMAIL_FILE: file('email', `${ADMIN.email}\n`),
        PY_ADMIN_PASSWORD_FILE: file('password', ADMIN.password),
        PY_ADMIN_TOKEN_FILE: file('token', `${ADMIN.token}\n`),
      };
      const running = Promise.all([migrateRole(env), migrateRole(env)]);
      await server.restart();
      for (const { code, output } of await running) {
        assert.equal(code, 0, output);
        assert.match(output, /the schema is up to date/);
        assert.doesNotMatch(output, new RegExp(`${ADMIN.token}|${ADMIN.password}`));
      }
      const store = await openStore({ url: server.url });
      assert.equal((await store.findToken(sha256(ADMIN.token)))?.name, 'install');
      await store.close();
    } finally {
      await server.stop();
    }
  });

  it('times out with the reason, without the password in it', async () => {
    const { code, output } = await migrateRole({
      PY_POSTGRES_URL: 'postgres://someone:verysecret@127.0.0.1:1/x',
      PY_WAIT_MS: '700',
    });
    assert.equal(code, 1);
    assert.match(output, /Postgres cannot be reached/);
    assert.doesNotMatch(output, /verysecret/);
  });
});
