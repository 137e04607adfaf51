/** The first minutes of an operator: the commands of helm's notes, as they stand, in a shell. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NAMESPACE, cluster, type Cluster } from './fixture.ts';

const BIN = join(import.meta.dirname, '..', '..', '.local', 'bin');

describe('the first minutes', function () {
  this.timeout(120_000);
  let c: Cluster;
  let commands: string[];
  /** Of the shells: kubectl keeps a cache at home. */
  let home: string;

  const shell = async (command: string): Promise<string> => {
    const env = { PATH: `${BIN}:${process.env['PATH']}`, HOME: home, KUBECONFIG: c.kubeconfig, PROBEYARD_URL: c.url };
    return (await promisify(execFile)('bash', ['-c', command], { env })).stdout.trim();
  };
  const command = (part: string): string => {
    const found = commands.filter((line) => line.includes(part));
    assert.equal(found.length, 1, `${part} in ${commands.join('\n')}`);
    return found[0]!;
  };
  const signIn = async (path: string, body: object) => {
    const response = await fetch(`${c.url}/frontend/api/v1/auth/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  };

  before(async () => {
    c = await cluster();
    home = await mkdtemp(join(tmpdir(), 'first-minutes-'));
    const notes = await shell(`helm -n ${NAMESPACE} get notes probeyard`);
    commands = notes.split('\n').filter((line) => /^ {2}(?:kubectl|export|curl|helm) /.test(line));
  });
  after(async () => {
    await c.close();
    await rm(home, { recursive: true, force: true });
  });

  it('the sign-in link works once, and is in no log of the API', async () => {
    const link = new URL(await shell(command('sign-in-link')));
    assert.equal(`${link.origin}${link.pathname}`, `${c.url}/app/sign-in-link`);
    const code = link.hash.slice(1);
    const first = await signIn('sign-in/link', { code });
    assert.equal(first.status, 200, JSON.stringify(first.json['error']));
    const second = await signIn('sign-in/link', { code });
    assert.equal(second.status, 400);
    assert.match(String(second.json['error']), /^code: was used before/);
    const logs = await c.kubectl('-n', NAMESPACE, 'logs', 'deployment/probeyard-api', '--all-pods', '--since=10m');
    assert.ok(!logs.includes(code));
    assert.ok(!JSON.stringify(await c.kubectl('-n', NAMESPACE, 'get', 'events', '-o', 'json')).includes(code));
  });

  it('the e-mail address and the password of the Secret sign in', async () => {
    const [email = '', password = ''] = (await shell(command('.data.password'))).split(' ');
    assert.equal((await signIn('sign-in', { email, password })).status, 200);
  });

  it('the first request is answered', async () => {
    const answer = await shell(`${command('export PROBEYARD_TOKEN')}\n${command('curl ')}`);
    assert.match(answer, /^\{"success":true,/);
  });
});
