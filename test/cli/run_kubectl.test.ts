/** What Ctrl-C does to a kubectl that runs: one that reads is ended, one that writes ends by itself. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Interrupted } from '../../src/cli/exits.ts';
import { kubectlOf } from '../../src/cli/kubectl/run_kubectl.ts';
import { until } from '../until.ts';

describe('kubectl as a child process', () => {
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-kubectl-'));
  const [begun, go, group] = ['begun', 'go', 'group'].map((name) => join(folder, name)) as [string, string, string];
  before(() => {
    // Writes its group of processes, and ends once it may.
    const script = `#!/bin/bash\necho $(cut -d' ' -f5 /proc/self/stat) > ${group}
touch ${begun}; until [ -e ${go} ]; do read -t 0.05 <> <(:); done; echo done\n`;
    writeFileSync(join(folder, 'kubectl'), script);
    chmodSync(join(folder, 'kubectl'), 0o755);
  });
  beforeEach(() => [begun, go].forEach((file) => rmSync(file, { force: true })));
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function interrupted(whole: boolean): Promise<string> {
    const stop = new AbortController();
    const env = { PATH: `${folder}:${process.env['PATH']}` };
    const run = kubectlOf({ text: () => undefined, env, signal: stop.signal }).run(['create'], { whole });
    const outcome = run.then(
      (text) => text.trim(),
      (error: unknown) => (error instanceof Interrupted ? 'interrupted' : String(error)),
    );
    await until('it has begun', () => existsSync(begun), 20_000);
    stop.abort();
    if (whole) writeFileSync(go, '');
    return outcome;
  }

  it('that reads: is ended', async () => {
    assert.equal(await interrupted(false), 'interrupted');
  });

  it('that writes: ends by itself, in a group that a terminal does not interrupt', async () => {
    assert.equal(await interrupted(true), 'done');
    const own = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')[2];
    assert.notEqual(readFileSync(group, 'utf8').trim(), own);
  });
});
