/**
 * Keeps the tools, pools and policies that the chart ships in ConfigMaps, because Helm cannot install a CRD and objects
 * of its kind in one release. What is deleted comes back. It uses server-side apply with its own field manager: changes
 * by an administrator or an autoscaler are kept, and listed in `Overridden`.
 *
 * Each object is owned by the ConfigMap that has it: Argo CD shows it below the release, and an uninstall deletes it.
 */
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import type { Config } from '../../../base/config.ts';
import { jsonIn } from '../../../base/json_in.ts';
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
import { WorkQueue } from '../../../platform/kube/queue.ts';
import { GROUP, LABEL, type Definition, type Meta } from '../../../platform/kube/resource.ts';
import { PROBE_POLICY, type ProbePolicy, type ProbePolicySpec } from '../../../platform/kube/probe_policy.ts';
import { PROBE_POOL, type ProbePool, type ProbePoolSpec } from '../../../platform/kube/probe_pool.ts';
import { PROBE_TOOL, type ProbeTool, type ProbeToolSpec } from '../../../platform/kube/probe_tool.ts';
import type { Logger } from '../../../base/log.ts';
import { ownedBy, type OwnerReference } from '../pools/pod.ts';
import { ensureLeading, type Term } from '../leader/lease_guard.ts';
import vulnerabilities from '../../../media/tools/vulnerabilities.json' with { type: 'json' };

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
/** Annotation with the object's name and the spec that was applied last: `short@{...}`. */
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

/** Undefined: nothing is known of it. */
const lastApplied = ({ metadata }: KubeObject): unknown =>
  jsonIn(metadata.annotations?.[CONTENT]?.replace(/^[^@]*@/, '') ?? '');

/**
 * The path of a field as the API server names it, `.spec.reuse.maxJobs` or `.spec.serves.kinds[="c2pa"]`. Of a list
 * item it is that of the list.
 */
const pathOf = (field: string): string[] => field.replace(/^\./, '').replace(/\[.*$/, '').split('.');

const valueAt = (object: unknown, path: readonly string[]): unknown =>
  path.reduce((value, name) => (isTree(value) ? value[name] : undefined), object);

function without(object: Tree, [head = '', ...rest]: readonly string[]): Tree {
  const { [head]: value, ...others } = object;
  return rest.length > 0 && isTree(value) ? { ...others, [head]: without(value, rest) } : others;
}

interface ApplyDeps {
  kube: KubeClient;
  term: Term;
}

/** The chart's objects of one kind: what it has now, and the ConfigMap that has it. */
interface Part<Spec = unknown> {
  entries: readonly Entry<Spec>[];
  owner: OwnerReference;
}

/**
 * Without force: fields owned by another manager are left unchanged. One that was set back to what the chart had is the
 * chart's again.
 */
async function applyOne<T extends ProbeTool | ProbePool | ProbePolicy>(
  { kube, term }: ApplyDeps,
  type: ResourceType<T>,
  { spec }: Entry<unknown>,
  metadata: Meta,
  has: T | undefined,
): Promise<void> {
  const last = has && { spec: lastApplied(has) };
  const isSetBack = (path: string[]): boolean => text(valueAt(last, path)) === text(valueAt(has, path));
  let wanted: Tree = { spec };
  let force = false;
  for (let tries = 1; ; tries++) {
    await ensureLeading(term);
    // Forced on the object as it was listed alone.
    const version = force ? { resourceVersion: has?.metadata.resourceVersion } : {};
    try {
      const object = { ...wanted, metadata: { ...metadata, ...version } };
      await kube.apply(type, object as never, { fieldManager: MANAGER, force });
      return;
    } catch (error) {
      if (!isKubeError(error, 'conflict') || error.fields.length === 0 || tries === MOST_TRIES) throw error;
      const kept = error.fields.map(pathOf).filter((path) => !isSetBack(path));
      force = kept.length === 0;
      wanted = kept.reduce(without, wanted);
    }
  }
}

const ownersOf = ({ metadata }: KubeObject) =>
  metadata.ownerReferences?.filter(({ kind }) => kind === 'ConfigMap') ?? [];

/**
 * A copy of an object has its labels, annotations and owner, and is not the chart's: the annotation names the object.
 * Nor is one that came from another release. Earlier versions set no owner.
 */
function isOfChart(object: KubeObject, owner: OwnerReference): boolean {
  const { name, labels, annotations } = object.metadata;
  const owners = ownersOf(object);
  return (
    labels?.[LABEL.managedBy] === 'probeyard' &&
    annotations?.[CONTENT]?.startsWith(`${name}@`) === true &&
    (owners.length === 0 || owners.some(({ uid }) => uid === owner.uid))
  );
}

/** `former`: objects of the chart that are no longer in it. */
async function applyAll<T extends ProbeTool | ProbePool | ProbePolicy>(
  deps: ApplyDeps,
  type: ResourceType<T>,
  { entries, owner }: Part,
): Promise<{ former: T[]; applied: string[] }> {
  const { items } = await deps.kube.listAll(type);
  const objects = new Map(items.map((object) => [object.metadata.name, object]));
  const applied: string[] = [];
  for (const entry of entries) {
    const has = objects.get(entry.name);
    const content = `${entry.name}@${JSON.stringify(entry.spec)}`;
    const isOwned = has && ownersOf(has).some(({ uid }) => uid === owner.uid);
    if (isOwned && has.metadata.annotations?.[CONTENT] === content) continue;
    const metadata = {
      name: entry.name,
      labels: { [LABEL.managedBy]: 'probeyard' },
      annotations: { [CONTENT]: content },
      ownerReferences: [owner],
    };
    await applyOne(deps, type, entry, metadata, has);
    applied.push(entry.name);
  }
  const wanted = new Set(entries.map(({ name }) => name));
  const former = items.filter((object) => isOfChart(object, owner) && !wanted.has(object.metadata.name));
  return { former, applied };
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
  applied: OnApplied;
}

/** What was written or begun. Empty: the cluster is as the chart has it. */
type Done = Record<'applied' | 'removed', string[]>;

async function read<Spec>(
  { kube, config }: ChartDeps,
  file: ChartFile,
  entriesIn: (map: ConfigMap) => Entry<Spec>[],
): Promise<Part<Spec>> {
  const map = await kube.get(CONFIG_MAPS, `${config.chartName}-${file}`);
  return { entries: entriesIn(map), owner: ownedBy(map.metadata) };
}

async function applyCatalog(deps: ChartDeps): Promise<Done> {
  const { log, config, term, now } = deps;
  const tools = await read(deps, 'catalog', toolsIn);
  const pools = await read(deps, 'pools', poolsIn);
  const ofTools = await applyAll(deps, PROBE_TOOLS, tools);
  const ofPools = await applyAll(deps, PROBE_POOLS, pools);
  const removedPools = ofPools.former.map(({ metadata }) => metadata.name);
  const removed = await removeAll(deps, PROBE_TOOLS, ofTools.former);
  await ensureLeading(term);
  deps.applied(pools.entries, removedPools);
  const { items } = await deps.kube.listAll(PROBE_TOOLS);
  await showOverridden(deps, items, tools.entries, stamp(now())).catch((error: unknown) =>
    log.warn({ err: error }, 'cannot show which fields of tools are overridden'),
  );
  await showKnownVulnerabilities(deps, items, config.showVulnerabilities).catch((error: unknown) =>
    log.warn({ err: error }, 'cannot show known vulnerabilities of tools'),
  );
  await ensureLeading(term);
  return { applied: [...ofTools.applied, ...ofPools.applied], removed: [...removed, ...removedPools] };
}

/** Applies the chart's shared policies and deletes those that it no longer contains. */
async function applyPolicies(deps: ChartDeps): Promise<Done> {
  const { applied, former } = await applyAll(deps, PROBE_POLICIES, await read(deps, 'policies', policiesIn));
  const removed = await removeAll(deps, PROBE_POLICIES, former);
  await ensureLeading(deps.term);
  return { applied, removed };
}

/**
 * Policies are separate: a cluster whose CRDs are not installed by the chart may lack theirs. The names are those of
 * the log.
 */
const PARTS = { catalog: applyCatalog, 'shared policies of the chart': applyPolicies };

const NOTHING = JSON.stringify({ applied: [], removed: [] } satisfies Done);
/** What is deleted is noticed by a watch, and what is changed by this. */
const LOOK_MS = 10_000;

/**
 * Applies what the release has now, whatever version this leader is of. The ConfigMaps are read from the API server,
 * because files of the pod keep the state of its start for a minute or two: an older version that leads in the middle
 * of an upgrade would delete what the newer one has added.
 */
export function keepChart(deps: ChartDeps) {
  const { log, term } = deps;
  const queue = new WorkQueue();
  /** Each is said once, and not every ten seconds. */
  const said = new Map<string, string>();
  const look = async (what: string): Promise<number | undefined> => {
    try {
      const done = await PARTS[what as keyof typeof PARTS](deps);
      const shown = JSON.stringify(done);
      const isFirst = said.get(what)?.startsWith('{') !== true;
      if (isFirst || (said.get(what) !== shown && shown !== NOTHING)) log.info(done, `${what} applied`);
      said.set(what, shown);
    } catch (error) {
      if (term.signal.aborted) {
        log.info({ epoch: term.epoch }, `${what} not applied, the term is over`);
        return undefined;
      }
      const shown = String(error);
      if (said.get(what) !== shown) log.error({ err: error }, `cannot apply the ${what}, keeping what the cluster has`);
      said.set(what, shown);
    }
    return LOOK_MS;
  };
  return {
    start(): void {
      for (const what of Object.keys(PARTS)) queue.add(what);
      queue.run(2, look);
    },
    /** A tool or pool was deleted. */
    deleted: (): void => queue.add('catalog'),
    /** A call under way is not waited for: nothing follows it. */
    stop: (): void => void queue.stop(),
  };
}

/** Sets the condition on tools. Pools show it with the rest of their status. */
async function showOverridden(
  { kube, term }: ApplyDeps,
  tools: readonly ProbeTool[],
  entries: readonly Entry<ProbeToolSpec>[],
  now: string,
): Promise<void> {
  const wanted = new Map(entries.map(({ name, spec }) => [name, spec]));
  for (const { metadata, spec, status } of tools) {
    const ours = wanted.get(metadata.name);
    if (!ours) continue;
    const { generation: observedGeneration } = metadata;
    const shown = { ...overriddenCondition(overridden(ours, spec)), ...(observedGeneration && { observedGeneration }) };
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

interface Known {
  affected: readonly string[];
  /** Number of those of which it is not known whether the version is affected. */
  unclear: number;
}
/** By tool and version. Made from images/vex by `make generate`: change them there. */
export const VULNERABILITIES: Readonly<Record<string, Known>> = vulnerabilities.versions;

const READ = vulnerabilities.read;
const NOTE = `From Debian's changelogs of ${READ}, not complete; docs/isolation.md has what contains them.`;

/** Nothing is ever called unaffected. */
export function warningText({ affected, unclear }: Known): string {
  const known = affected.length > 0 ? `affected by ${affected.join(', ')}` : 'no vulnerability is known for certain';
  const open = unclear > 0 ? `; of ${unclear} others it is not known` : '';
  return `${known}${open}. ${NOTE}`.slice(0, 4096);
}

/** Writes the warnings of all tools, or removes them if the operator does not want them. */
async function showKnownVulnerabilities(
  { kube, term }: ApplyDeps,
  tools: readonly ProbeTool[],
  isWanted: boolean,
): Promise<void> {
  for (const { metadata, spec, status } of tools) {
    const known = isWanted ? VULNERABILITIES[`${spec.tool} ${spec.version}`] : undefined;
    const warning = known && warningText(known);
    if (status?.warning === warning) continue;
    await ensureLeading(term);
    // A field of its own: the proof of the tool may write its conditions at the same time.
    await kube.mergePatchStatus(PROBE_TOOLS, metadata.name, { warning: warning ?? null });
  }
}
