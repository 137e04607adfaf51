import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasNode } from '../cluster/broken_images.ts';
import { NAMESPACE, RUNNERS, cluster, type Cluster } from '../cluster/fixture.ts';
import { chart } from '../cluster/helm.ts';
import { unlessLong } from '../long.ts';
import { buildParts } from '../node/build.ts';
import { RELEASE } from '../node/chart.ts';
import { attempt, run } from '../node/command.ts';
import { kubeconfigOf } from '../node/kubeconfig.ts';
import { localDir, NODE } from '../node/layout.ts';
import { NODE_PARTS } from '../node/parts.ts';
import { deliverImages } from '../node/product_images.ts';
import { OLDER, olderVersion, type Older } from '../older/older.ts';
import { assertTold, settled, underLoad } from './load.ts';
import { rolledOut } from './rollout.ts';
import { whole } from './whole.ts';

const CRDS = join(import.meta.dirname, '..', '..', 'crds');
const WAIT = ['--wait', '--timeout', '5m'];
const of = ({ digest }: { digest: string }): RegExp => new RegExp(`@${digest}$`);

describe('0.1.0 is upgraded to this version under load, and back', function () {
  this.timeout(1_200_000);
  let c: Cluster;
  let older: Older;
  let folder: string;
  let values: { image: { digest: string }; samples?: object };
  const bin = (name: string): string => join(localDir, 'bin', name);
  const access = ['--kubeconfig', kubeconfigOf(NODE, 'admin')];
  const helm = (...args: string[]): Promise<string> => run(bin('helm'), [...args, '--namespace', RELEASE, ...access]);
  const valuesFile = async (name: string, content: object): Promise<string[]> => {
    const file = join(folder, `${name}.json`);
    await writeFile(file, JSON.stringify(content));
    return ['--values', file];
  };

  /** Nothing of any release is left: the next one starts with an empty record. */
  async function wiped(): Promise<void> {
    await attempt(bin('helm'), ['uninstall', RELEASE, '--namespace', RELEASE, ...access, ...WAIT]);
    await run(bin('kubectl'), [...access, 'delete', 'namespace', NAMESPACE, RUNNERS, '--ignore-not-found']);
    await run(bin('kubectl'), [...access, 'delete', '--filename', CRDS, '--ignore-not-found']);
  }
  before(async function () {
    unlessLong(this, `it installs ${OLDER.version} in place of this version, and this one again, which takes minutes`);
    if (!hasNode()) {
      console.log('    skipped: images can be brought to the local node alone, and it does not run here');
      this.skip();
    }
    folder = await mkdtemp(join(tmpdir(), 'probeyard-older-'));
    older = await olderVersion();
    await deliverImages(NODE, await buildParts(NODE_PARTS), [older.image]);
    values = JSON.parse(await helm('get', 'values', RELEASE, '--output', 'json')) as typeof values;
    await wiped();
    const { samples: _, ...known } = values;
    const own = await valuesFile('older', { ...known, image: { digest: older.image.digest } });
    await helm('install', RELEASE, older.chart, '--create-namespace', ...own, ...WAIT);
    c = await cluster();
    await whole(c);
  });
  after(async () => {
    if (folder === undefined) return;
    await c?.close();
    await wiped();
    await run(process.execPath, [join(import.meta.dirname, '..', 'node', 'up.ts')]);
    await rm(folder, { recursive: true, force: true });
  });

  it('every request has one end, whichever version accepted it and whichever ended it', async () => {
    const newer = await valuesFile('newer', values);
    const reckoning = await underLoad(
      c,
      async () => {
        await helm('upgrade', RELEASE, chart, ...newer, ...WAIT);
        await rolledOut(c, of(values.image));
        await helm('rollback', RELEASE, '1', ...WAIT);
        await rolledOut(c, of(older.image));
      },
      { keepsWatches: true },
    );
    assertTold(reckoning, 0.9, { queueTimeouts: true });
    await settled(c);
  });

  it('the record of both is there after the last upgrade', async () => {
    const count = async () => Number(await c.sql('select count(*) from requests'));
    const before = await count();
    assert.ok(before >= 80, `${before} requests`);
    await helm('upgrade', RELEASE, chart, ...(await valuesFile('newer', values)), ...WAIT);
    await rolledOut(c, of(values.image));
    assert.equal(await count(), before);
    const { token } = await c.newToken();
    const origin = await c.origin();
    const { status, text } = await c.probe({ url: `${origin.url}/tiny.mp4`, only: 'ffprobe' }, { token });
    assert.equal(status, 200, text);
  });
});
