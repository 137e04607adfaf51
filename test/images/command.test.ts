import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { attempt, run } from '../../images/command.ts';

const COMMAND = join(import.meta.dirname, '..', '..', 'images', 'command.ts');

describe('programs of this machine', function () {
  this.timeout(20_000);

  it('return output and exit code, or an error with the end of the output', async () => {
    assert.deepEqual(await attempt('sh', ['-c', 'cat; echo bad >&2; exit 3'], { input: 'in' }), {
      code: 3,
      stdout: 'in',
      stderr: 'bad\n',
    });
    assert.equal(await run('sh', ['-c', 'echo $WORD'], { env: { WORD: 'given' } }), 'given\n');
    await assert.rejects(run('sh', ['-c', 'echo bad >&2; exit 3']), { code: 'COMMAND_FAILED', message: /exit 3\nbad/ });
  });

  it('are killed when they take too long', async () => {
    assert.equal((await attempt('sleep', ['600'], { timeoutMs: 50 })).code, null);
  });

  it('fail at once if missing, without waiting for the timeout', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'probeyard-command-'));
    try {
      const script = join(folder, 'missing.ts');
      writeFileSync(
        script,
        `import { attempt } from ${JSON.stringify(COMMAND)};\nawait attempt('no-such-program', ` +
          `[]).catch((error) => process.send(error.code));\nprocess.disconnect();\n`,
      );
      const child = fork(script, {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        signal: AbortSignal.timeout(15_000),
      });
      const [[code], [status]] = await Promise.all([once(child, 'message'), once(child, 'exit')]);
      assert.deepEqual([code, status], ['COMMAND_NOT_FOUND', 0]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
