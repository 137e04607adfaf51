import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../node/command.ts';
import { releaseBefore } from './older.ts';

describe('the release before this version', function () {
  this.timeout(60_000);
  let repository: string;
  const git = (...args: string[]) =>
    run('git', ['-C', repository, '-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args]);
  const commit = async (): Promise<string> => {
    await git('commit', '--quiet', '--allow-empty', '--message', 'change');
    return (await git('rev-parse', 'HEAD')).trim();
  };
  before(async () => {
    repository = mkdtempSync(join(tmpdir(), 'probeyard-release-'));
    await git('init', '--quiet');
  });
  after(() => rmSync(repository, { recursive: true }));

  it('is none before the first, and then the newest tag of a version that is not this commit', async () => {
    assert.equal(await releaseBefore(repository), undefined);
    await commit();
    assert.equal(await releaseBefore(repository), undefined);
    const first = await commit();
    await git('tag', 'v0.2.0');
    assert.equal(await releaseBefore(repository), undefined);
    await commit();
    await git('tag', 'other');
    assert.deepEqual(await releaseBefore(repository), { version: '0.2.0', commit: first });
    const second = await commit();
    await git('tag', '--annotate', '--message', 'release', 'v0.3.0');
    assert.deepEqual(await releaseBefore(repository), { version: '0.2.0', commit: first });
    await commit();
    assert.deepEqual(await releaseBefore(repository), { version: '0.3.0', commit: second });
  });
});
