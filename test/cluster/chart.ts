import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Built } from './build.ts';
import { attempt, run } from './command.ts';
import { writeWhole } from './daemon.ts';
import { localDir } from './layout.ts';
import { say, timed } from './progress.ts';

export interface ChartOptions {
  built: Built;
  kubeconfig: string;
  /** The one private address that sources may lie at: where demo and test origins listen. */
  hostIp?: string;
  registry?: string;
}

export const RELEASE = 'probeyard';
const chartDir = join(import.meta.dirname, '..', '..', 'charts', 'probeyard');

/** Installs or upgrades the release; whether anything was done. */
export async function installChart(options: ChartOptions): Promise<boolean> {
  if (!existsSync(join(chartDir, 'Chart.yaml'))) {
    say('chart: skipped, there is no charts/probeyard');
    return false;
  }
  const values = join(localDir, 'values.json');
  await writeWhole(values, `${JSON.stringify(chartValues(options), null, 2)}\n`);
  const helm = join(options.built.get('helm')!, 'helm');
  const where = ['--namespace', RELEASE, '--kubeconfig', options.kubeconfig];
  if (await isCurrent(helm, where, values)) return false;
  await timed('the chart is installed', () =>
    run(helm, ['upgrade', RELEASE, chartDir, '--install', '--create-namespace', ...where, '--values', values, '--wait', '--timeout', '5m']),
  );
  return true;
}

export function chartValues({ hostIp, registry }: Pick<ChartOptions, 'hostIp' | 'registry'>): Record<string, unknown> {
  return {
    global: { imageRegistry: registry ?? 'localhost' },
    ...(hostIp !== undefined && { sources: { allow: [{ cidr: `${hostIp}/32` }] } }),
  };
}

/** Whether an upgrade would apply what the release already holds. */
async function isCurrent(helm: string, where: readonly string[], values: string): Promise<boolean> {
  const status = await attempt(helm, ['status', RELEASE, ...where, '--output', 'json']);
  if (status.code !== 0 || !/"status":\s*"deployed"/.test(status.stdout)) return false;
  const there = await attempt(helm, ['get', 'manifest', RELEASE, ...where]);
  const wanted = await attempt(helm, ['upgrade', RELEASE, chartDir, ...where, '--values', values, '--dry-run=server', '--output', 'json']);
  if (there.code !== 0 || wanted.code !== 0) return false;
  const { manifest } = JSON.parse(wanted.stdout) as { manifest?: string };
  return manifest?.trim() === there.stdout.trim();
}
