/** Commands of pages for operators that ask the API alone: each is run as it stands, and prints what the page says. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PASSWORD, startManagement, type Management, type Person } from '../api/accounts/fixture.ts';
import { standInsOfCheckout } from '../cli/stand_in.ts';
import { until } from '../until.ts';
import { blocksOf } from './blocks.ts';

const exec = promisify(execFile);

describe('documentation: commands for operators', function () {
  this.timeout(60_000);
  let m: Management;
  let folder: string;
  /** The user 7 of the pages. */
  let seven: Person;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-operating-'));
    m = await startManagement();
    for (let id = 2; id <= 7; id++) seven = await m.person(`person-${id}`);
    assert.equal(seven.id, 7);
    await whatIsAsked();
  });
  after(async () => {
    await m?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function whatIsAsked(): Promise<void> {
    const { root } = m;
    const tried = await m.call('PUT', `user/${root.id}/status`, { token: seven.token, body: { status: 'suspended' } });
    assert.equal(tried.status, 403);
    await m.call('GET', `auth/api-token/${seven.tokenId}`, { token: seven.token });
    await m.call('POST', 'auth/sign-in', { body: { email: seven.email, password: PASSWORD } });
    await m.call('PUT', `user/${seven.id}/status`, { token: root.token, body: { status: 'suspended' } });
    await m.stored.sql(
      `insert into audit (id, at, actor_id, account_id, action, outcome)
        values (gen_random_uuid(), '2026-10-05T10:00:00Z', 3, 3, 'changeUser', 'done')`,
    );
    await m.stored.sql(
      `insert into rollup_day (user_id, at, token_id, requests, file_success, file_with_errors, msv_error,
          processing_ms, io_bytes, queue_max_ms, queue_histogram, other_kinds)
        values (7, '2026-10-31', $1, 7, 5, 1, 1, 90000, 2000, 0, '{}', '{"decoded_seconds": 120}')`,
      [seven.tokenId],
    );
    await until(
      'the entry of a denied call',
      async () => (await m.stored.sql(`select from audit where outcome = 'denied'`)).length === 1,
    );
  }

  for (const page of ['operating/audit.md', 'operating/chargeback.md']) {
    const blocks = blocksOf(page).filter(({ language }) => language === 'sh');
    const given = blocks.filter(({ prints }) => prints === undefined).map(({ code }) => code);
    for (const { title, code, prints } of blocks.filter((block) => block.prints !== undefined))
      it(`${page}, ${title}: ${code.trim()}`, async () => {
        const { stdout } = await exec('bash', ['-euc', 'set -o pipefail\n' + [...given, code].join('\n')], {
          env: {
            PATH: `${standInsOfCheckout(folder)}:${process.env['PATH']}`,
            HOME: folder,
            PROBEYARD_URL: m.replicas[0].url,
            PROBEYARD_TOKEN: m.root.token,
          },
        });
        assert.match(stdout, prints!);
      });
  }
});
