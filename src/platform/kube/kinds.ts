/** The kinds in use, where each is served, and the types of their objects in JSON. */
import type {
  CoreV1Event,
  V1ConfigMap,
  V1Deployment,
  V1EndpointSlice,
  V1Lease,
  V1Namespace,
  V1Node,
  V1Pod,
  V1Secret,
  V1Service,
  V1ServiceAccount,
} from '@kubernetes/client-node';
import { GROUP, VERSION, type Meta } from './resource.ts';
import type { ProbeBatch } from './probe_batch.ts';
import type { ProbeJob } from './probe_job.ts';
import type { ProbePolicy } from './probe_policy.ts';
import type { ProbePool } from './probe_pool.ts';
import type { ProbeSource } from './probe_source.ts';
import type { ProbeTool } from './probe_tool.ts';

/** Common to all objects: metadata with at least a name. */
export interface KubeObject {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  metadata: Meta;
}

/** Generated types contain Dates, but JSON contains text. Converting every object of a large LIST would be wasteful. */
type Raw<T> = T extends Date
  ? string
  : T extends (infer Item)[]
    ? Raw<Item>[]
    : T extends object
      ? { [Key in keyof T]: Raw<T[Key]> }
      : T;
type Stored<T extends { metadata?: unknown }> = Omit<Raw<T>, 'metadata'> & { metadata: Meta };

export type Pod = Stored<V1Pod>;
export type Lease = Stored<V1Lease>;
export type Secret = Stored<V1Secret>;
export type ConfigMap = Stored<V1ConfigMap>;
export type KubeEvent = Stored<CoreV1Event>;
export type ServiceAccount = Stored<V1ServiceAccount>;
export type Namespace = Stored<V1Namespace>;
export type Node = Stored<V1Node>;
export type Service = Stored<V1Service>;
export type EndpointSlice = Stored<V1EndpointSlice>;
export type Deployment = Stored<V1Deployment>;

export interface ResourceType<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Its status is written with the object, and has no subresource. */
  readonly statusInObject?: boolean;
  /** Never set: carries the object type. */
  readonly object?: T;
}

export const servedBy =
  (group: string, version: string) =>
  <T extends KubeObject>(plural: string, kind: string, namespaced = true): ResourceType<T> => ({
    group,
    version,
    plural,
    kind,
    namespaced,
  });
const core = servedBy('', 'v1');
const own = servedBy(GROUP, VERSION);

export const PROBE_JOBS: ResourceType<ProbeJob> = { ...own<ProbeJob>('probejobs', 'ProbeJob'), statusInObject: true };
export const PROBE_BATCHES = own<ProbeBatch>('probebatches', 'ProbeBatch');
export const PROBE_SOURCES = own<ProbeSource>('probesources', 'ProbeSource');
export const PROBE_TOOLS = own<ProbeTool>('probetools', 'ProbeTool');
export const PROBE_POLICIES = own<ProbePolicy>('probepolicies', 'ProbePolicy');
export const PROBE_POOLS = own<ProbePool>('probepools', 'ProbePool');
export const PODS = core<Pod>('pods', 'Pod');
export const SECRETS = core<Secret>('secrets', 'Secret');
export const CONFIG_MAPS = core<ConfigMap>('configmaps', 'ConfigMap');
export const EVENTS = core<KubeEvent>('events', 'Event');
export const SERVICE_ACCOUNTS = core<ServiceAccount>('serviceaccounts', 'ServiceAccount');
export const NAMESPACES = core<Namespace>('namespaces', 'Namespace', false);
export const LEASES = servedBy('coordination.k8s.io', 'v1')<Lease>('leases', 'Lease');
export const CRDS = servedBy('apiextensions.k8s.io', 'v1')(
  'customresourcedefinitions',
  'CustomResourceDefinition',
  false,
);

export const apiVersionOf = (type: ResourceType): string =>
  type.group === '' ? type.version : `${type.group}/${type.version}`;

export function pathOf(type: ResourceType, namespace: string | undefined, name?: string, subresource?: string): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope = type.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  const object = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  return `${root}${scope}/${type.plural}${object}${subresource === undefined ? '' : `/${subresource}`}`;
}

/** The key of an object in caches and queues. */
export const keyOf = (object: { metadata: { name: string; namespace?: string | undefined } }): string =>
  object.metadata.namespace === undefined
    ? object.metadata.name
    : `${object.metadata.namespace}/${object.metadata.name}`;
