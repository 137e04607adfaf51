/** An older version and this one, as releases on the local node. `close` leaves this one, empty. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NAMESPACE, RUNNERS } from '../cluster/fixture.ts';
import { chart } from '../cluster/helm.ts';
import { buildParts } from '../node/build.ts';
import { RELEASE } from '../node/chart.ts';
import { attempt, run } from '../node/command.ts';
import { kubeconfigOf } from '../node/kubeconfig.ts';
import { localDir, NODE } from '../node/layout.ts';
import { NODE_PARTS } from '../node/parts.ts';
import { deliverImages } from '../node/product_images.ts';
import { knownValues, type Schema } from './known_values.ts';
import { built, type OlderVersion } from './older.ts';

const CRDS = join(import.meta.dirname, '..', '..', 'crds');
const WAIT = ['--wait', '--timeout', '5m'];

export type Which = 'older' | 'newer';

export interface Versions {
  /** The digest of each one's image. */
  digests: Readonly<Record<Which, string>>;
  /** In place of everything that is installed: the record is empty. */
  install(which: Which): Promise<void>;
  /** From the older version to this one. */
  upgrade(): Promise<void>;
  /** To the release that was installed. */
  rollback(): Promise<void>;
  close(): Promise<void>;
}

export async function openVersions(before: OlderVersion): Promise<Versions> {
  const access = ['--kubeconfig', kubeconfigOf(NODE, 'admin')];
  const bin = (name: string): string => join(localDir, 'bin', name);
  const helm = (...args: string[]): Promise<string> => run(bin('helm'), [...args, '--namespace', RELEASE, ...access]);
  const older = await built(before);
  await deliverImages(NODE, await buildParts(NODE_PARTS), [older.image]);
  const values = JSON.parse(await helm('get', 'values', RELEASE, '--output', 'json')) as { image: { digest: string } };
  const schema = JSON.parse(await readFile(join(older.chart, 'values.schema.json'), 'utf8')) as Schema;
  const known = knownValues(values, schema) as typeof values;
  const folder = await mkdtemp(join(tmpdir(), 'probeyard-older-'));
  const valuesFile = async (name: Which, content: object): Promise<string[]> => {
    const file = join(folder, `${name}.json`);
    await writeFile(file, JSON.stringify(content));
    return ['--values', file];
  };
  const of = {
    older: [older.chart, ...(await valuesFile('older', { ...known, image: { digest: older.image.digest } }))],
    newer: [chart, ...(await valuesFile('newer', values))],
  };

  async function wiped(): Promise<void> {
    await attempt(bin('helm'), ['uninstall', RELEASE, '--namespace', RELEASE, ...access, ...WAIT]);
    await run(bin('kubectl'), [...access, 'delete', 'namespace', NAMESPACE, RUNNERS, '--ignore-not-found']);
    await run(bin('kubectl'), [...access, 'delete', '--filename', CRDS, '--ignore-not-found']);
  }
  return {
    digests: { older: older.image.digest, newer: values.image.digest },
    async install(which) {
      await wiped();
      await helm('install', RELEASE, ...of[which], '--create-namespace', ...WAIT);
    },
    upgrade: async () => void (await helm('upgrade', RELEASE, ...of.newer, ...WAIT)),
    rollback: async () => void (await helm('rollback', RELEASE, '1', ...WAIT)),
    async close() {
      await rm(folder, { recursive: true, force: true });
      await wiped();
      await run(process.execPath, [join(import.meta.dirname, '..', 'node', 'up.ts')]);
    },
  };
}
