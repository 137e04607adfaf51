/**
 * Applies the tools, pools and policies that the chart ships in ConfigMaps, because Helm cannot install a CRD and
 * objects of its kind in one release. It uses server-side apply with its own field manager: changes by an administrator
 * or an autoscaler are kept, and listed in `Overridden`.
 */
import { createHash } from 'node:crypto';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import type { Config } from '../../../base/config.ts';
import { conditionOf, setConditions, stamp, type Change } from '../../../platform/kube/conditions.ts';
import {
  CONFIG_MAPS,
  PROBE_POLICIES,
  PROBE_POOLS,
  PROBE_TOOLS,
  isKubeError,
  type ConfigMap,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from '../../../platform/kube/client.ts';
import { GROUP, LABEL, type Definition } from '../../../platform/kube/resource.ts';
import { PROBE_POLICY, type ProbePolicy, type ProbePolicySpec } from '../../../platform/kube/probe_policy.ts';
import { PROBE_POOL, type ProbePool, type ProbePoolSpec } from '../../../platform/kube/probe_pool.ts';
import { PROBE_TOOL, type ProbeTool, type ProbeToolSpec } from '../../../platform/kube/probe_tool.ts';
import type { Logger } from '../../../base/log.ts';
import { ensureLeading, type Term } from '../leader/lease_guard.ts';
import { READ, VULNERABILITIES, type Known } from '../../../media/tools/vulnerabilities.ts';

interface Entry<Spec> {
  name: string;
  spec: Spec;
}
type Tree = Record<string, unknown>;
type ChartFile = 'catalog' | 'pools' | 'policies';

class CatalogError extends Error {
  readonly code = 'catalog-invalid';
}

const ajv = new Ajv({ allErrors: true, strict: false, useDefaults: true, formats: { 'date-time': true } });

function check<T>(definition: Definition, file: string, entries: Entry<unknown>[]): Entry<T>[] {
  const validate = ajv.compile(definition.spec);
  const problems: string[] = [];
  for (const { name, spec } of entries) {
    if (!validate(spec))
      for (const error of validate.errors ?? [])
        problems.push(`${name}${error.instancePath}: ${error.message ?? 'is wrong'}`);
  }
  if (problems.length > 0) throw new CatalogError(`${file}: ${problems.join('; ')}`);
  return entries as Entry<T>[];
}

/** Names of Kubernetes objects are lower case, with dots: `<tool>-9.0`. */
const toolObjectName = (tool: string, version: string): string =>
  `${tool}-${version}`.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-');

/** The list in a ConfigMap of the chart. */
function listIn(kind: ChartFile, { metadata, data }: Pick<ConfigMap, 'metadata' | 'data'>): Tree[] {
  const list: unknown = parse(data?.[`${kind}.yaml`] ?? '');
  if (!Array.isArray(list)) throw new CatalogError(`${metadata.name}: ${kind}.yaml is not a list`);
  return list as Tree[];
}

export const toolsIn = (map: Pick<ConfigMap, 'metadata' | 'data'>): Entry<ProbeToolSpec>[] =>
  check(
    PROBE_TOOL,
    map.metadata.name,
    listIn('catalog', map).map((spec) => ({
      name: toolObjectName(String(spec['tool']), String(spec['version'])),
      spec,
    })),
  );

const named = (list: readonly Tree[]): Entry<Tree>[] => list.map(({ name, ...spec }) => ({ name: String(name), spec }));

export const poolsIn = (map: Pick<ConfigMap, 'metadata' | 'data'>): Entry<ProbePoolSpec>[] =>
  check(PROBE_POOL, map.metadata.name, named(listIn('pools', map)));

const policiesIn = (map: Pick<ConfigMap, 'metadata' | 'data'>): Entry<ProbePolicySpec>[] =>
  check(PROBE_POLICY, map.metadata.name, named(listIn('policies', map)));

const MANAGER = 'probeyard-catalog';
/**
 * Annotation with the object's name and a hash of the applied spec: an object is applied again only if the spec
 * changed, and not by each new leader.
 */
const CONTENT = `${GROUP}/content`;
const MOST_TRIES = 5;

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

interface ApplyDeps {
  kube: KubeClient;
  term: Term;
}

/** Without force: fields owned by another manager are left unchanged. */
async function applyOne<T extends KubeObject>(
  { kube, term }: ApplyDeps,
  type: ResourceType<T>,
  { name, spec }: Entry<unknown>,
  content: string,
): Promise<void> {
  const metadata = { name, labels: { [LABEL.managedBy]: 'probeyard' }, annotations: { [CONTENT]: content } };
  let wanted: Tree = { spec };
  for (let tries = 1; ; tries++) {
    await ensureLeading(term);
    try {
      await kube.apply(type, { ...wanted, metadata } as never, { fieldManager: MANAGER });
      return;
    } catch (error) {
      if (!isKubeError(error, 'conflict') || error.fields.length === 0 || tries === MOST_TRIES) throw error;
      wanted = error.fields.reduce(without, wanted);
    }
  }
}

/** A copy of an object has its labels and annotations, and is not the chart's: the annotation names the object. */
function isOfChart({ metadata: { name, labels, annotations } }: KubeObject): boolean {
  const [of] = annotations?.[CONTENT]?.split('@').slice(0, -1) ?? [];
  return labels?.[LABEL.managedBy] === 'probeyard' && (of === undefined || of === name);
}

/** Returns the objects of the chart that are no longer in it. */
async function applyAll<T extends ProbeTool | ProbePool | ProbePolicy>(
  deps: ApplyDeps,
  type: ResourceType<T>,
  entries: readonly Entry<unknown>[],
): Promise<T[]> {
  const { items } = await deps.kube.listAll(type);
  const has = new Map(items.map((object) => [object.metadata.name, object]));
  for (const entry of entries) {
    const digest = createHash('sha256').update(JSON.stringify(entry.spec)).digest('hex').slice(0, 16);
    const content = `${entry.name}@${digest}`;
    if (has.get(entry.name)?.metadata.annotations?.[CONTENT] === content) continue;
    await applyOne(deps, type, entry, content);
  }
  const wanted = new Set(entries.map(({ name }) => name));
  return items.filter((object) => isOfChart(object) && !wanted.has(object.metadata.name));
}

/** Deletes objects as they were listed: one that was changed since may be in a later catalog. */
async function removeAll<T extends ProbeTool | ProbePolicy>(
  { kube, term }: ApplyDeps,
  type: ResourceType<T>,
  objects: readonly T[],
): Promise<string[]> {
  const removed: string[] = [];
  for (const { metadata } of objects) {
    const { name, uid, resourceVersion } = metadata;
    await ensureLeading(term);
    try {
      await kube.delete(type, name, { uid, resourceVersion });
      removed.push(name);
    } catch (error) {
      if (!isKubeError(error, 'conflict', 'not-found')) throw error;
    }
  }
  return removed;
}

/** `removed`: names of pools that are no longer in the catalog. They drain first. */
type OnApplied = (pools: readonly Entry<ProbePoolSpec>[], removed: readonly string[]) => void;

export interface ChartDeps extends ApplyDeps {
  log: Logger;
  config: Pick<Config<'controller'>, 'chartName' | 'showVulnerabilities'>;
  now: () => number;
}

const read = ({ kube, config }: ChartDeps, file: ChartFile): Promise<ConfigMap> =>
  kube.get(CONFIG_MAPS, `${config.chartName}-${file}`);

async function applyCatalog(deps: ChartDeps, applied: OnApplied): Promise<void> {
  const { log, config, term, now } = deps;
  const tools = toolsIn(await read(deps, 'catalog'));
  const pools = poolsIn(await read(deps, 'pools'));
  const formerTools = await applyAll(deps, PROBE_TOOLS, tools);
  const removedPools = (await applyAll(deps, PROBE_POOLS, pools)).map(({ metadata }) => metadata.name);
  const removed = await removeAll(deps, PROBE_TOOLS, formerTools);
  await ensureLeading(term);
  applied(pools, removedPools);
  await showOverridden(deps, tools, stamp(now())).catch((error: unknown) =>
    log.warn({ err: error }, 'cannot show which fields of tools are overridden'),
  );
  await showKnownVulnerabilities(deps, config.showVulnerabilities).catch((error: unknown) =>
    log.warn({ err: error }, 'cannot show known vulnerabilities of tools'),
  );
  await ensureLeading(term);
  log.info({ tools: tools.length, pools: pools.length, removed: [...removed, ...removedPools] }, 'catalog applied');
}

/** Applies the chart's shared policies and deletes those that it no longer contains. */
async function applyPolicies(deps: ChartDeps): Promise<void> {
  const policies = policiesIn(await read(deps, 'policies'));
  const removed = await removeAll(deps, PROBE_POLICIES, await applyAll(deps, PROBE_POLICIES, policies));
  await ensureLeading(deps.term);
  if (policies.length + removed.length > 0)
    deps.log.info({ policies: policies.length, removed }, 'shared policies of the chart applied');
}

/**
 * Applies what the release has now, whatever version this leader is of. The ConfigMaps are read from the API server,
 * because files of the pod keep the state of its start for a minute or two: an older version that leads in the middle
 * of an upgrade would delete what the newer one has added.
 *
 * Policies are separate: a cluster whose CRDs are not installed by the chart may lack theirs.
 */
export async function applyChart(deps: ChartDeps, applied: OnApplied): Promise<void> {
  const { log, term } = deps;
  const attempt = (what: string, work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => {
      if (term.signal.aborted) log.info({ epoch: term.epoch }, `${what} not applied, the term is over`);
      else log.error({ err: error }, `cannot apply the ${what}, keeping what the cluster has`);
    });
  await Promise.all([
    attempt('catalog', applyCatalog(deps, applied)),
    attempt('shared policies of the chart', applyPolicies(deps)),
  ]);
}

/** Sets the condition on tools. Pools show it with the rest of their status. */
async function showOverridden(
  { kube, term }: ApplyDeps,
  entries: readonly Entry<ProbeToolSpec>[],
  now: string,
): Promise<void> {
  const wanted = new Map(entries.map(({ name, spec }) => [name, spec]));
  for (const { metadata, spec, status } of (await kube.listAll(PROBE_TOOLS)).items) {
    const ours = wanted.get(metadata.name);
    if (!ours) continue;
    const shown = overriddenCondition(overridden(ours, spec));
    const before = conditionOf(status, 'Overridden');
    if (before ? before.status === shown.status && before.message === shown.message : shown.status === 'False')
      continue;
    await ensureLeading(term);
    await kube.mergePatchStatus(PROBE_TOOLS, metadata.name, { conditions: setConditions(status, [shown], now) });
  }
}

export const overriddenCondition = (fields: readonly string[]): Change =>
  fields.length > 0
    ? {
        type: 'Overridden',
        status: 'True',
        reason: 'FieldsChanged',
        message: `differs from the chart: ${fields.join(', ')}`.slice(0, 4096),
      }
    : { type: 'Overridden', status: 'False', reason: 'AsInstalled', message: 'every field is as in the chart' };

// What is known of the vulnerabilities of a tool version, in `status.warning` of its ProbeTool.

const NOTE = `From Debian's changelogs of ${READ}, not complete; docs/isolation.md has what contains them.`;

/** Nothing is ever called unaffected. */
export function warningText({ affected, unclear }: Known): string {
  const known = affected.length > 0 ? `affected by ${affected.join(', ')}` : 'no vulnerability is known for certain';
  const open = unclear > 0 ? `; of ${unclear} others it is not known` : '';
  return `${known}${open}. ${NOTE}`.slice(0, 4096);
}

/** Writes the warnings of all tools, or removes them if the operator does not want them. */
async function showKnownVulnerabilities({ kube, term }: ApplyDeps, isWanted: boolean): Promise<void> {
  for (const { metadata, spec, status } of (await kube.listAll(PROBE_TOOLS)).items) {
    const known = isWanted ? VULNERABILITIES[`${spec.tool} ${spec.version}`] : undefined;
    const warning = known && warningText(known);
    if (status?.warning === warning) continue;
    await ensureLeading(term);
    // A field of its own: the proof of the tool may write its conditions at the same time.
    await kube.mergePatchStatus(PROBE_TOOLS, metadata.name, { warning: warning ?? null });
  }
}
