/** The code blocks of docs/accounts.md, run as written in one shell. The code comes from a real mail. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startMailBox, type MailBox } from '../api/accounts/fixture.ts';
import { SMTP_PORT } from '../node/chart.ts';
import { cluster, type Cluster } from './fixture.ts';

const exec = promisify(execFile);
const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'accounts.md'), 'utf8');
const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```\n+<!-- prints: (.+) -->/gm)].map(([, script, prints]) => ({
  script: script!,
  prints: new RegExp(prints!, 's'),
}));

assert.equal(blocks.length, page.match(/^```sh$/gm)?.length, 'each block of docs/accounts.md says what it prints');

describe('docs/accounts.md', function () {
  this.timeout(120_000);
  let c: Cluster;
  let mails: MailBox;
  const email = `walk-${randomBytes(6).toString('hex')}@example.org`;
  before(async () => {
    c = await cluster();
    mails = await startMailBox({}, {}, { host: c.hostIp, port: SMTP_PORT });
  });
  after(async () => {
    const id = await c.sql(`select id from users where email = '${email}'`);
    if (id !== '')
      await fetch(`${c.url}/frontend/api/v1/user/${id}`, {
        method: 'DELETE',
        headers: { Authorization: `Bearer ${c.token}` },
      });
    await mails.stop();
    await c.close();
  });

  it('leads from sign-up to the first probe, its line in the log and its number in the statistics', async () => {
    const origin = await c.origin();
    assert.equal(blocks.length, 8);
    const environment = {
      PATH: process.env['PATH'] ?? '',
      PROBEYARD_URL: c.url,
      SOURCE: `${origin.url}/tiny.mp4`,
      EMAIL: email,
    };
    const run = async (some: typeof blocks, more: Record<string, string>): Promise<void> => {
      const script = some.map(({ script: one }) => `${one}\nprintf '\\n---block---\\n'\n`).join('');
      const { stdout } = await exec('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
        env: { ...environment, ...more },
        timeout: 100_000,
      }).catch((error: Error & { stdout?: string }) => {
        throw new Error(`${error.message}\n${error.stdout ?? ''}`);
      });
      const printed = stdout.split('\n---block---\n');
      for (const [index, { prints }] of some.entries()) assert.match(printed[index]!, prints);
    };
    const [first, ...rest] = blocks;
    await run([first!], {});
    const { code } = await mails.next(email);
    await run([{ ...first!, script: 'API="$PROBEYARD_URL/frontend/api/v1"\n', prints: /^/ }, ...rest], { CODE: code });
  });
});
