/**
 * Applies the tools, pools and policies that the chart ships as files, because Helm cannot install a CRD and objects of
 * its kind in one release. It uses server-side apply with its own field manager: changes by an administrator or an
 * autoscaler are kept, and listed in `Overridden`.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { conditionOf, setConditions } from '../../kube/conditions.ts';
import {
  PROBE_POLICIES,
  PROBE_POOLS,
  PROBE_TOOLS,
  isKubeError,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from '../../kube/client.ts';
import { GROUP, LABEL, type Condition, type Definition } from '../../kube/resource.ts';
import { PROBE_POLICY, type ProbePolicy, type ProbePolicySpec } from '../../kube/probe_policy.ts';
import { PROBE_POOL, type ProbePool, type ProbePoolSpec } from '../../kube/probe_pool.ts';
import { PROBE_TOOL, type ProbeTool, type ProbeToolSpec } from '../../kube/probe_tool.ts';

class CatalogError extends Error {
  readonly code = 'catalog-invalid';
}

const ajv = new Ajv({ allErrors: true, strict: false, useDefaults: true, formats: { 'date-time': true } });

function check<T>(
  definition: Definition,
  file: string,
  entries: { name: string; spec: unknown }[],
): { name: string; spec: T }[] {
  const validate = ajv.compile(definition.spec);
  const problems: string[] = [];
  for (const { name, spec } of entries) {
    if (!validate(spec))
      for (const error of validate.errors ?? [])
        problems.push(`${name}${error.instancePath}: ${error.message ?? 'is wrong'}`);
  }
  if (problems.length > 0) throw new CatalogError(`${file}: ${problems.join('; ')}`);
  return entries as { name: string; spec: T }[];
}

/** Names of Kubernetes objects are lower case, with dots: `<tool>-9.0`. */
const toolObjectName = (tool: string, version: string): string =>
  `${tool}-${version}`.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-');

export async function readCatalog(file: string): Promise<{ name: string; spec: ProbeToolSpec }[]> {
  const list = parse(await readFile(file, 'utf8')) as unknown;
  if (!Array.isArray(list)) throw new CatalogError(`${file}: is not a list of tools`);
  return check(
    PROBE_TOOL,
    file,
    list.map((spec: ProbeToolSpec) => ({ name: toolObjectName(String(spec.tool), String(spec.version)), spec })),
  );
}

export async function readPools(file: string): Promise<{ name: string; spec: ProbePoolSpec }[]> {
  const list = parse(await readFile(file, 'utf8')) as unknown;
  if (!Array.isArray(list)) throw new CatalogError(`${file}: is not a list of pools`);
  return check(
    PROBE_POOL,
    file,
    list.map(({ name, ...spec }: { name: string }) => ({ name: String(name), spec })),
  );
}

/** An empty file name: the chart ships none. */
async function readPolicies(file: string): Promise<{ name: string; spec: ProbePolicySpec }[]> {
  if (file === '') return [];
  const list = parse(await readFile(file, 'utf8')) as unknown;
  if (!Array.isArray(list)) throw new CatalogError(`${file}: is not a list of policies`);
  return check(
    PROBE_POLICY,
    file,
    list.map(({ name, ...spec }: { name: string }) => ({ name: String(name), spec })),
  );
}

const MANAGER = 'probeyard-catalog';
/**
 * Annotation with a hash of the applied spec: an object is applied again only if the spec changed, and not by each new
 * leader.
 */
const CONTENT = `${GROUP}/content`;
const MOST_TRIES = 5;

interface Entry<Spec> {
  name: string;
  spec: Spec;
}
type Tree = Record<string, unknown>;

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);
/** Compares lists as sets, because the API server may reorder them. */
const text = (value: unknown): string =>
  JSON.stringify(Array.isArray(value) ? value.map((item) => JSON.stringify(item)).sort() : value);

/** Fields of the catalog whose value differs in the cluster. */
export function overridden(wanted: unknown, has: unknown, path = 'spec'): string[] {
  if (isTree(wanted))
    return Object.entries(wanted).flatMap(([key, value]) =>
      overridden(value, isTree(has) ? has[key] : undefined, `${path}.${key}`),
    );
  return text(wanted) === text(has) ? [] : [path];
}

/**
 * `field` as the API server names it, `.spec.reuse.maxJobs` or `.spec.serves.kinds[="c2pa"]`. For a list item the whole
 * list is left out.
 */
function without(object: Tree, field: string): Tree {
  const [head = '', ...rest] = field.replace(/^\./, '').replace(/\[.*$/, '').split('.');
  const { [head]: value, ...others } = object;
  return rest.length > 0 && isTree(value) ? { ...others, [head]: without(value, rest.join('.')) } : others;
}

/** Without force: fields owned by another manager are left unchanged. */
async function applyOne<T extends KubeObject>(
  kube: KubeClient,
  type: ResourceType<T>,
  { name, spec }: Entry<unknown>,
  content: string,
): Promise<void> {
  const metadata = { name, labels: { [LABEL.managedBy]: 'probeyard' }, annotations: { [CONTENT]: content } };
  let wanted: Tree = { spec };
  for (let tries = 1; ; tries++) {
    try {
      await kube.apply(type, { ...wanted, metadata } as never, { fieldManager: MANAGER });
      return;
    } catch (error) {
      if (!isKubeError(error, 'conflict') || error.fields.length === 0 || tries === MOST_TRIES) throw error;
      wanted = error.fields.reduce(without, wanted);
    }
  }
}

async function applyAll<T extends ProbeTool | ProbePool | ProbePolicy>(
  kube: KubeClient,
  type: ResourceType<T>,
  entries: readonly Entry<unknown>[],
): Promise<string[]> {
  const has = new Map((await kube.listAll(type)).items.map((object) => [object.metadata.name, object]));
  for (const entry of entries) {
    const content = createHash('sha256').update(JSON.stringify(entry.spec)).digest('hex').slice(0, 16);
    if (has.get(entry.name)?.metadata.annotations?.[CONTENT] !== content) await applyOne(kube, type, entry, content);
  }
  const wanted = new Set(entries.map(({ name }) => name));
  return [...has.values()]
    .filter(({ metadata }) => metadata.labels?.[LABEL.managedBy] === 'probeyard' && !wanted.has(metadata.name))
    .map(({ metadata }) => metadata.name);
}

export interface Applied {
  tools: Entry<ProbeToolSpec>[];
  pools: Entry<ProbePoolSpec>[];
  /** Names of tools that are no longer in the catalog, and deleted. */
  removed: string[];
  /** Names of pools that are no longer in the catalog. They drain first. */
  removedPools: string[];
}

export async function applyCatalog(
  kube: KubeClient,
  files: { catalogFile: string; poolsFile: string },
): Promise<Applied> {
  const tools = await readCatalog(files.catalogFile);
  const pools = await readPools(files.poolsFile);
  const removed = await applyAll(kube, PROBE_TOOLS, tools);
  const removedPools = await applyAll(kube, PROBE_POOLS, pools);
  for (const name of removed) await kube.delete(PROBE_TOOLS, name);
  return { tools, pools, removed, removedPools };
}

/** Applies the chart's shared policies and deletes those that it no longer contains. */
export async function applyPolicies(kube: KubeClient, file: string): Promise<{ applied: number; removed: string[] }> {
  const policies = await readPolicies(file);
  const removed = await applyAll(kube, PROBE_POLICIES, policies);
  for (const name of removed) await kube.delete(PROBE_POLICIES, name);
  return { applied: policies.length, removed };
}

/** Sets the condition on tools. Pools show it with the rest of their status. */
export async function showOverridden(
  kube: KubeClient,
  entries: readonly Entry<ProbeToolSpec>[],
  now: string,
): Promise<void> {
  const wanted = new Map(entries.map(({ name, spec }) => [name, spec]));
  for (const {
    metadata: { name },
    spec,
    status,
  } of (await kube.listAll(PROBE_TOOLS)).items) {
    const ours = wanted.get(name);
    if (!ours) continue;
    const shown = overriddenCondition(overridden(ours, spec));
    const before = conditionOf(status, 'Overridden');
    if (before ? before.status === shown.status && before.message === shown.message : shown.status === 'False')
      continue;
    await kube.mergePatchStatus(PROBE_TOOLS, name, { conditions: setConditions(status, [shown], now) });
  }
}

export const overriddenCondition = (
  fields: readonly string[],
): Pick<Condition, 'type' | 'status' | 'reason' | 'message'> =>
  fields.length > 0
    ? {
        type: 'Overridden',
        status: 'True',
        reason: 'FieldsChanged',
        message: `differs from the chart: ${fields.join(', ')}`.slice(0, 4096),
      }
    : { type: 'Overridden', status: 'False', reason: 'AsInstalled', message: 'every field is as in the chart' };
