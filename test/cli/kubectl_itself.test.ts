/** kubectl itself finds the plugin, runs it, and completes its words. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { buildParts } from '../node/build.ts';
import { packCli } from './packed.ts';
import { execute } from './rig.ts';
import { standInsOfCheckout } from './stand_in.ts';

describe('kubectl', function () {
  this.timeout(300_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-plugin-'));
  let kubectl: string;
  before(async () => {
    kubectl = join((await buildParts(['kubernetes'])).get('kubernetes') ?? '', 'kubectl');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const [where, place] of [
    ['of the package', async () => dirname((await packCli()).bin('kubectl-probeyard'))],
    ['of a checkout, as make up puts it', async () => standInsOfCheckout(folder)],
  ] as const)
    describe(`the plugin ${where}`, () => {
      let path: string;
      before(async () => {
        path = [await place(), dirname(process.execPath), process.env['PATH']].join(delimiter);
      });
      const printed = async (...args: string[]): Promise<string> => {
        const { code, stdout, stderr } = await execute([kubectl, ...args], {
          env: { PATH: path, HOME: '/nonexistent' },
        });
        assert.equal(code, 0, stderr);
        return stdout.toString();
      };

      it('is listed', async () => assert.match(await printed('plugin', 'list'), /\/kubectl-probeyard$/m));

      it('runs', async () => assert.match(await printed('probeyard', '--help'), /^Look into a Probeyard/));

      it('completes its commands and values', async () => {
        assert.match(await printed('__complete', 'probeyard', 'to'), /^tools\t.*\ntop\t.*\n:4\n$/);
        assert.match(await printed('__complete', 'probeyard', 'top', '-o', 'j'), /^json\b.*\n:4\n$/);
      });
    });
});
