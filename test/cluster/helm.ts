/** The Helm release: upgraded with a changed setting, and restored. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RELEASE } from '../node/chart.ts';
import { run } from '../node/command.ts';
import { localDir } from '../node/layout.ts';

export const chart = join(import.meta.dirname, '..', '..', 'charts', 'probeyard');

export interface Release {
  test(): Promise<string>;
  /** Keeps the values that it had when this was opened, with these in addition (`tools.delivery=bundled`). */
  upgrade(...settings: string[]): Promise<void>;
  /** The same with the chart of another folder. */
  upgradeTo(chart: string, ...settings: string[]): Promise<void>;
  close(): Promise<void>;
}

export async function openRelease(kubeconfig: string): Promise<Release> {
  const helm = (...args: string[]): Promise<string> =>
    run(join(localDir, 'bin', 'helm'), [...args, '--namespace', RELEASE, '--kubeconfig', kubeconfig], {
      timeoutMs: 200_000,
    });
  const folder = await mkdtemp(join(tmpdir(), 'probeyard-values-'));
  const values = join(folder, 'values.json');
  await writeFile(values, await helm('get', 'values', RELEASE, '--output', 'json'));
  const upgradeTo: Release['upgradeTo'] = async (to, ...settings) => {
    await helm(
      'upgrade',
      RELEASE,
      to,
      '--values',
      values,
      ...settings.flatMap((setting) => ['--set', setting]),
      '--wait',
      '--timeout',
      '3m',
    );
  };
  return {
    upgradeTo,
    test: () => helm('test', RELEASE, '--logs', '--timeout', '2m'),
    upgrade: (...settings) => upgradeTo(chart, ...settings),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
