import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import { parse } from 'yaml';
import { attempt, run } from './command.ts';
import { writeWhole } from './daemon.ts';
import { DNS_PORT } from './dns.ts';
import { NODE_PORT } from './first_probe.ts';
import { localDir } from './layout.ts';
import { LOCAL, type BuiltImage } from './product_images.ts';
import { SLOWNESS } from '../patience.ts';
import { say, timed } from '../../images/progress.ts';

const CatalogEntry = Type.Object({ tool: Type.String(), version: Type.String() });
type CatalogEntry = Static<typeof CatalogEntry>;

export interface ChartOptions {
  helm: string;
  /** The default of kubectl if absent. */
  kubeconfig?: string;
  images: readonly BuiltImage[];
  /** The only private address that sources may have, where demo and test origins listen. */
  hostIp?: string;
  registry?: string;
}

export const RELEASE = 'probeyard';
const chartDir = join(import.meta.dirname, '..', '..', 'charts', 'probeyard');

/** Installs or upgrades the release. Returns whether it changed anything. */
export async function installChart(options: ChartOptions): Promise<boolean> {
  if (!existsSync(join(chartDir, 'Chart.yaml'))) {
    say('chart: skipped, there is no charts/probeyard');
    return false;
  }
  const values = join(localDir, 'values.json');
  await writeWhole(values, `${JSON.stringify(chartValues(options, await readCatalog()), null, 2)}\n`);
  const { helm } = options;
  const where = [
    '--namespace',
    RELEASE,
    ...(options.kubeconfig === undefined ? [] : ['--kubeconfig', options.kubeconfig]),
  ];
  const given = ['--values', values, ...ownValues()];
  if (await isCurrent(helm, where, given)) return false;
  await endInterrupted(helm, where);
  const minutes = 5 * SLOWNESS;
  const how = ['--install', '--create-namespace', '--take-ownership', '--wait', '--timeout', `${minutes}m`];
  await timed('the chart is installed', () =>
    run(helm, ['upgrade', RELEASE, chartDir, ...how, ...where, ...given], { timeoutMs: (minutes + 10) * 60_000 }),
  );
  return true;
}

/** A file of further values, which win: `make up VALUES=test/faults/nats_of_three.yaml`. */
function ownValues(): string[] {
  const file = process.env['VALUES'];
  return file ? ['--values', resolve(import.meta.dirname, '..', '..', file)] : [];
}

/** Removes the release. Returns whether it existed. */
export async function uninstallChart(helm: string): Promise<boolean> {
  if ((await attempt(helm, ['status', RELEASE, '--namespace', RELEASE])).code !== 0) return false;
  await run(helm, ['uninstall', RELEASE, '--namespace', RELEASE, '--wait']);
  return true;
}

/** The host's port to which the local installation sends its mails. */
export const SMTP_PORT = 30_025;

/**
 * Images by digest, so that a changed image replaces its pods; only tools that were built; and the API on a node port
 * that is unreachable from outside the machine.
 */
export function chartValues(
  { images, hostIp, registry }: Pick<ChartOptions, 'images' | 'hostIp' | 'registry'>,
  catalog: readonly CatalogEntry[],
): Record<string, unknown> {
  const digestOf = (kind: string) => images.find((image) => image.kind === kind)?.digest;
  const tools = catalog.flatMap((entry) => {
    const image = images.find(({ tool, version }) => tool === entry.tool && version === entry.version);
    return image === undefined ? [] : [{ ...entry, digest: image.digest }];
  });
  const bundled = digestOf('bundled') && { delivery: 'bundled', bundled: { digest: digestOf('bundled') } };
  return {
    global: { imageRegistry: registry ?? LOCAL },
    ...(digestOf('product') && { image: { digest: digestOf('product') } }),
    nats: { ...(digestOf('nats') && { image: { digest: digestOf('nats') } }) },
    postgres: { ...(digestOf('postgres') && { image: { digest: digestOf('postgres') } }) },
    samples: { enabled: true },
    // Tests look for the lines of each request.
    logSample: { oneIn: 1 },
    ...(tools.length > 0 && { tools: { catalog: tools, ...bundled } }),
    // A test or a developer's own SMTP server may listen there.
    ...(hostIp !== undefined && {
      mail: { host: hostIp, port: SMTP_PORT, tls: 'none', from: 'probeyard@example.org' },
    }),
    ...(hostIp !== undefined && {
      sources: { allow: [{ cidr: `${hostIp}/32` }] },
      webhooks: { allow: [{ cidr: `${hostIp}/32` }] },
      api: { service: { type: 'NodePort', nodePort: NODE_PORT } },
      networkPolicy: { dns: { ports: [DNS_PORT] } },
    }),
  };
}

async function readCatalog(): Promise<CatalogEntry[]> {
  const text = await readFile(join(chartDir, 'files', 'catalog.yaml'), 'utf8').catch(() => '[]');
  // All built tools are installed, including optional ones, because a catalog in the values has no such mark.
  return Value.Parse(
    Type.Array(CatalogEntry),
    (parse(text) as { optional?: boolean }[]).map((entry) => ({ ...entry, optional: undefined })),
  );
}

/**
 * A killed helm leaves a release in a pending state. We hold the lock, so no helm is running, and the release is rolled
 * back to its last complete revision.
 */
async function endInterrupted(helm: string, where: readonly string[]): Promise<void> {
  const status = await attempt(helm, ['status', RELEASE, ...where, '--output', 'json']);
  const pending = /"status":\s*"(pending-\w+)"/.exec(status.stdout)?.[1];
  if (pending === undefined) return;
  say(
    `the last install was interrupted (${pending}): ` +
      `${pending === 'pending-install' ? 'starting it anew' : 'rolling it back'}`,
  );
  await run(
    helm,
    pending === 'pending-install'
      ? ['uninstall', RELEASE, ...where, '--wait', '--no-hooks']
      : ['rollback', RELEASE, ...where, '--no-hooks'],
  );
}

/** Whether the release already has what an upgrade would apply. */
async function isCurrent(helm: string, where: readonly string[], values: readonly string[]): Promise<boolean> {
  const status = await attempt(helm, ['status', RELEASE, ...where, '--output', 'json']);
  if (status.code !== 0 || !/"status":\s*"deployed"/.test(status.stdout)) return false;
  const there = await attempt(helm, ['get', 'manifest', RELEASE, ...where]);
  const wanted = await attempt(helm, [
    'upgrade',
    RELEASE,
    chartDir,
    ...where,
    ...values,
    '--dry-run=server',
    '--output',
    'json',
  ]);
  if (there.code !== 0 || wanted.code !== 0) return false;
  const { manifest } = JSON.parse(wanted.stdout) as { manifest?: string };
  return manifest?.trim() === there.stdout.trim();
}
