import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { secondsLeft, shareDone } from '../../images/progress.ts';

describe('progress: share of the expected steps', () => {
  const steps = new Map([
    ['long', 300],
    ['short', 100],
  ]);
  for (const [title, done, elapsed, share] of [
    ['nothing yet', [], {}, 0],
    ['one has ended', ['short'], {}, 0.25],
    ['one runs', [], { long: 30 }, 0.075],
    ['one takes longer than usual and is not taken for done', ['short'], { long: 9_000 }, 0.25 + 0.75 * 0.95],
    ['a step that nobody expected does not count', ['other'], { another: 100 }, 0],
    ['everything has ended', ['long', 'short'], {}, 1],
  ] as const)
    it(title, () => {
      const got = shareDone(steps, new Set(done), new Map(Object.entries(elapsed)));
      assert.ok(Math.abs(got - share) < 1e-9, String(got));
    });
});

describe('progress: seconds left', () => {
  for (const [title, share, elapsed, sum, left] of [
    ['at the start, as usual', 0, 0, 400, 300],
    ['later, at the pace of this machine', 0.5, 500, 400, 500],
    ['at the end, none', 1, 700, 400, 0],
  ] as const)
    it(title, () => assert.equal(secondsLeft(share, elapsed, sum), left));
});

describe('progress: lines', () => {
  it('go to the file, too, and say how much is done', () => {
    const folder = mkdtempSync(join(tmpdir(), 'probeyard-progress-'));
    const file = join(folder, 'logs', 'up.log');
    const script = `
      import { expect, logTo, say, timed } from '${join(import.meta.dirname, '../../images/progress.ts')}';
      logTo(${JSON.stringify(file)});
      expect([['one', 10], ['two', 30]]);
      await timed('one', async () => {});
      await timed('two', async () => {});
      say('up');`;
    try {
      const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
        encoding: 'utf8',
        timeout: 20_000,
      });
      assert.equal(status, 0);
      assert.ok(existsSync(file));
      assert.equal(readFileSync(file, 'utf8'), stdout);
      assert.match(stdout, /one: 0\.0s \(25 %, less than a minute left\)\n.*two: 0\.0s\n.*up\n$/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
