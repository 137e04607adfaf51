/** The roles backup, backup-key, restore and migrate as the chart starts them, one process each. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { newKeyPair } from '../../src/service/backup/age.ts';
import type { Keys } from '../../src/service/backup/keys.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { type StoreFixture, startStore } from '../store/fixture.ts';
import { newKeys, scratch } from './fixture.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

function role(args: string[], env: Record<string, string>, input = Buffer.alloc(0)): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...env },
      timeout: 60_000,
    });
    const said = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? -1, ...said }));
    // It reads no more than it needs.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

const pair = await newKeyPair();

describe('roles of backups', function () {
  this.timeout(180_000);
  const place = scratch();
  const at = (name: string) => join(place.path, name);
  let fixture: StoreFixture;
  let keys: Keys;
  let env: Record<string, string>;

  before(async () => {
    fixture = await startStore({ alone: true });
    keys = await newKeys();
    for (const [kind, files] of Object.entries(keys)) {
      mkdirSync(join(at('keys'), kind), { recursive: true });
      for (const [name, text] of Object.entries(files)) writeFileSync(join(at('keys'), kind, name), text);
    }
    mkdirSync(at('backups'));
    env = {
      PY_POSTGRES_URL: fixture.urls.owner,
      PY_KEYS_FOLDER: at('keys'),
      PY_BACKUP_FOLDER: at('backups'),
      PY_BACKUP_RECIPIENTS: JSON.stringify([pair.recipient]),
      PY_BACKUP_KEEP: '1',
    };
  });
  after(async () => {
    await fixture.close();
    place.remove();
  });

  const backups = () => readdirSync(at('backups')).filter((name) => name.endsWith('.age'));
  const state = async () => {
    const store = await openStore({ url: fixture.urls.controller });
    try {
      return await store.backupState();
    } finally {
      await store.close();
    }
  };

  it('backup: says what it made, keeps what it should, and controllers can read when', async () => {
    assert.equal((await state()).doneAt, undefined);
    writeFileSync(join(at('backups'), 'probeyard-20200101T000000Z.age'), '');
    const { code, stdout, stderr } = await role(['backup'], env);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /"msg":"backup made"/);
    assert.equal(backups().length, 1);
    assert.ok(readdirSync(at('backups')).includes('probeyard-erasures.jsonl'));
    const { doneAt, bytes, failedAt } = await state();
    assert.ok(Math.abs(doneAt! - Date.now() / 1000) < 120 && bytes! > 1_000 && failedAt === undefined);
  });

  it('backup: a failure ends with an error, is recorded, and removes nothing', async () => {
    const before = backups();
    const { code, stderr } = await role(['backup'], { ...env, PY_BACKUP_RECIPIENTS: '["age1nobody"]' });
    assert.equal(code, 1);
    assert.match(stderr, /not a public key of age/);
    assert.ok((await state()).failedAt! > 0);
    assert.deepEqual(backups(), before);
  });

  it('backup: the check leaves nothing, and names what is wrong', async () => {
    const before = readdirSync(at('backups'));
    const { code, stderr } = await role(['backup'], {
      ...env,
      PY_BACKUP_WHAT: 'check',
      PY_POSTGRES_URL: 'postgres://x',
    });
    assert.equal(code, 0, stderr);
    assert.deepEqual(readdirSync(at('backups')), before);
    const none = await role(['backup'], { ...env, PY_BACKUP_WHAT: 'check', PY_BACKUP_FOLDER: '/nowhere' });
    assert.equal(none.code, 1);
    assert.match(none.stderr, /cannot write probeyard-check to the claim \(ENOENT\)/);
  });

  it('backup: without a place it names the settings', async () => {
    const { code, stderr } = await role(['backup'], { ...env, PY_BACKUP_FOLDER: '' });
    assert.equal(code, 1);
    assert.match(stderr, /PY_BACKUP_FOLDER or PY_BACKUP_S3_BUCKET/);
  });

  it('backup-key, restore and migrate: a new installation begins with the backup', async () => {
    const [name = ''] = backups();
    const made = new pg.Client({ connectionString: fixture.server.url });
    await made.connect();
    try {
      await made.query('set role none');
      await made.query('create database restored owner py_owner');
    } finally {
      await made.end();
    }
    const url = fixture.urls.owner.replace(/\/postgres$/, '/restored');

    const pairMade = await role(['backup-key', 'new'], {});
    assert.match(pairMade.stdout, /# public key: age1\w+\nAGE-SECRET-KEY-1\w+\n$/);
    writeFileSync(at('identity'), `${pair.identity}\n`);
    const unlocked = await role(['backup-key', 'unlock', at('identity')], {}, readFileSync(join(at('backups'), name)));
    assert.equal(unlocked.code, 0, unlocked.stderr);
    assert.match(unlocked.stdout, /^probeyard-backup-key-[\w-]{22}\n$/);
    writeFileSync(at('key'), unlocked.stdout);
    const wrong = await role(['backup-key', 'open'], {});
    assert.deepEqual([wrong.code, /usage: main\.ts backup-key/.test(wrong.stderr)], [1, true]);

    const settings = { ...env, PY_POSTGRES_URL: url, PY_RESTORE_NAME: name, PY_RESTORE_KEY_FILE: at('key') };
    const early = await role(['migrate'], { ...settings, PY_WAIT_MS: '500' });
    assert.equal(early.code, 1);
    assert.match(early.stderr, /is not restored yet: see the restore job/);

    const restored = await role(['restore'], settings);
    assert.equal(restored.code, 0, restored.stderr);
    assert.match(restored.stdout, /"erased":\{"user":0,"request":0,"token":0\}.*"msg":"backup restored"/);
    const again = await role(['restore'], settings);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stdout, /restored already/);

    const roles = (of: 'api' | 'controller') => fixture.urls[of].replace(/\/postgres$/, '/restored');
    const migrated = await role(['migrate'], {
      ...settings,
      PY_POSTGRES_API_URL: roles('api'),
      PY_POSTGRES_CONTROLLER_URL: roles('controller'),
    });
    assert.equal(migrated.code, 0, migrated.stderr);
    const store = await openStore({ url: roles('api') });
    assert.equal(await store.installId(), await fixture.store.installId());
    await store.close();
  });
});
