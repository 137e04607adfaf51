/** kubectl itself finds the plugin of the package, runs it, and completes its words. */
import assert from 'node:assert/strict';
import { delimiter, dirname, join } from 'node:path';
import { buildParts } from '../node/build.ts';
import { packCli } from './packed.ts';
import { execute } from './rig.ts';

describe('kubectl', function () {
  this.timeout(300_000);
  let kubectl: string;
  let path: string;
  before(async () => {
    kubectl = join((await buildParts(['kubernetes'])).get('kubernetes') ?? '', 'kubectl');
    path = [dirname((await packCli()).bin('kubectl-probeyard')), dirname(process.execPath), process.env['PATH']].join(
      delimiter,
    );
  });
  const printed = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await execute([kubectl, ...args], { env: { PATH: path, HOME: '/nonexistent' } });
    assert.equal(code, 0, stderr);
    return stdout.toString();
  };

  it('lists the plugin', async () => assert.match(await printed('plugin', 'list'), /\/kubectl-probeyard$/m));

  it('runs it', async () => assert.match(await printed('probeyard', '--help'), /^Look into a Probeyard/));

  it('completes its commands and values', async () => {
    assert.match(await printed('__complete', 'probeyard', 'to'), /^tools\t.*\ntop\t.*\n:4\n$/);
    assert.match(await printed('__complete', 'probeyard', 'top', '-o', 'j'), /^json\b.*\n:4\n$/);
  });
});
