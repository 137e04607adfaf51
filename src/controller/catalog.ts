/**
 * Applies the tools and pools that the chart brings as files: Helm cannot bring a CRD and objects of its kind in one release.
 * Server-side apply under our own field manager, so what an administrator sets beside it stays.
 */
import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { PROBE_POOLS, PROBE_TOOLS, type KubeClient } from '../kube/client.ts';
import { LABEL, PROBE_POOL, PROBE_TOOL, type Definition, type ProbePoolSpec, type ProbeToolSpec } from '../kube/resources.ts';

export class CatalogError extends Error {
  readonly code = 'catalog-invalid';
}

const ajv = new Ajv({ allErrors: true, strict: false, useDefaults: true, formats: { 'date-time': true } });

function check<T>(definition: Definition, file: string, entries: { name: string; spec: unknown }[]): { name: string; spec: T }[] {
  const validate = ajv.compile(definition.spec);
  const problems: string[] = [];
  for (const { name, spec } of entries) {
    if (!validate(spec)) for (const error of validate.errors ?? []) problems.push(`${name}${error.instancePath}: ${error.message ?? 'is wrong'}`);
  }
  if (problems.length > 0) throw new CatalogError(`${file}: ${problems.join('; ')}`);
  return entries as { name: string; spec: T }[];
}

/** Names of Kubernetes objects are lower case, with dots: `ffprobe-9.0`. */
export const toolObjectName = (tool: string, version: string): string => `${tool}-${version}`.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-');

export async function readCatalog(file: string): Promise<{ name: string; spec: ProbeToolSpec }[]> {
  const list = parse(await readFile(file, 'utf8')) as unknown;
  if (!Array.isArray(list)) throw new CatalogError(`${file}: a list of tools is needed`);
  return check(PROBE_TOOL, file, list.map((spec: ProbeToolSpec) => ({ name: toolObjectName(String(spec.tool), String(spec.version)), spec })));
}

export async function readPools(file: string): Promise<{ name: string; spec: ProbePoolSpec }[]> {
  const list = parse(await readFile(file, 'utf8')) as unknown;
  if (!Array.isArray(list)) throw new CatalogError(`${file}: a list of pools is needed`);
  return check(PROBE_POOL, file, list.map(({ name, ...spec }: { name: string }) => ({ name: String(name), spec })));
}

const MANAGER = 'probeyard-catalog';

/** Returns the names of tools that we once brought and no longer do: they are deleted. */
export async function applyCatalog(kube: KubeClient, files: { catalogFile: string; poolsFile: string }): Promise<{ tools: string[]; pools: string[]; removed: string[] }> {
  const tools = await readCatalog(files.catalogFile);
  const pools = await readPools(files.poolsFile);
  const labels = { [LABEL.managedBy]: 'probeyard' };
  for (const { name, spec } of tools) {
    await kube.apply(PROBE_TOOLS, { metadata: { name, labels }, spec }, { fieldManager: MANAGER, force: true });
  }
  for (const { name, spec } of pools) {
    await kube.apply(PROBE_POOLS, { metadata: { name, labels }, spec }, { fieldManager: MANAGER, force: true });
  }
  const wanted = new Set(tools.map(({ name }) => name));
  const ours = await kube.listAll(PROBE_TOOLS, { labelSelector: `${LABEL.managedBy}=probeyard` });
  const removed = ours.items.map(({ metadata }) => metadata.name).filter((name) => !wanted.has(name));
  for (const name of removed) await kube.delete(PROBE_TOOLS, name);
  return { tools: [...wanted], pools: pools.map(({ name }) => name), removed };
}
