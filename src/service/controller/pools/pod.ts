/**
 * The pods that the controller creates: runners (two containers), and proofs of a tool image; the settings of a runner,
 * and what its pod says of itself. Pure.
 */
import { createHash } from 'node:crypto';
import { RUNNER_PROTOCOL } from '../../../platform/bus/messages.ts';
import type { Config } from '../../../base/config.ts';
import type { Pod } from '../../../platform/kube/kinds.ts';
import { C2PA_CONFIG_DIR } from '../../../media/tools/c2pa.ts';
import { RUNNER_SETTINGS, type RunnerSettings } from '../../../base/runner_settings.ts';
import { LABEL, GROUP, type Meta } from '../../../platform/kube/resource.ts';
import { type ProbePoolSpec, requestsOf } from '../../../platform/kube/probe_pool.ts';
import type { ProbeToolSpec } from '../../../platform/kube/probe_tool.ts';
import { lifeIn, MAX_LIFE } from '../../../platform/bus/runner_id.ts';
import type { WatchedPod } from './runners.ts';
import { isLasting } from './share.ts';

export const ANNOTATION = {
  tools: `${GROUP}/tools`,
  protocol: `${GROUP}/protocol`,
  life: `${GROUP}/life`,
  tenant: `${GROUP}/tenant`,
  clusterAutoscaler: 'cluster-autoscaler.kubernetes.io/safe-to-evict',
  karpenter: 'karpenter.sh/do-not-disrupt',
} as const;

type Settings = Config<'controller'>;

export type OwnerReference = NonNullable<Meta['ownerReferences']>[number];

/** By a ConfigMap. Without blockOwnerDeletion, which would require a permission on the owner's finalizers. */
export const ownedBy = ({ name, uid = '' }: Meta): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name,
  uid,
  controller: true,
});

export type PodTool = Pick<ProbeToolSpec, 'tool' | 'version' | 'image' | 'command'>;

/** Created by the controller in the runner namespace, from the CA of its own NATS connection. */
export const NATS_CA = 'probeyard-ca';
/** The only architecture that the catalog's tools are built for. */
const ARCH = { 'kubernetes.io/arch': 'amd64' } as const;
const AGENT_UID = 65532;
/** A user other than the agent's: a compromised tool must not be able to signal or trace the agent. */
const TOOLS_UID = 65533;
const AGENT = 'agent';
/**
 * Send buffer of the agent's connections to its tools; the kernel doubles it. With the kernel's own size, up to 2.6 MB,
 * a tool that seeks in a file of 9 MB had three times as much of it read from the origin.
 */
export const SOURCE_SEND_BYTES = 65_536;
/** The agent in one file (images/agent_bundle.ts). `main.ts agent` is the same from its modules, and starts slower. */
export const AGENT_PROGRAM = '/app/agent/main.cjs';
/** An agent is mostly idle: a young generation of 1 MB was measured to save about 3 MB per warm pod. */
export const AGENT_NODE_OPTIONS = '--max-semi-space-size=1';

/** 36^5 names per pool suffice for the 5,000 pods that a pool may have. */
export const podSuffix = (): string =>
  Math.floor(Math.random() * 36 ** 5)
    .toString(36)
    .padStart(5, '0');

const hash = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 10);

export const toolKey = ({ tool, version }: { tool: string; version: string }): string => `${tool}/${version}`;

const sorted = (tools: readonly PodTool[]): PodTool[] => [...tools].sort((a, b) => (toolKey(a) < toolKey(b) ? -1 : 1));

/**
 * Identifies what a runner pod is made of; a pod of another generation is replaced. It is derived from the pod itself,
 * so only settings that reach the pod count. The leader's identity and log level do not, or each election would end
 * every warm pod.
 */
export function generationOf(settings: Settings, spec: ProbePoolSpec, tools: readonly PodTool[]): string {
  const pod = runnerPod(
    { ...settings, logLevel: 'info' },
    { pool: '', spec, suffix: '', generation: '', tools, userNamespace: spec.userNamespaces !== 'Disabled' },
  );
  // The scope counts too: pods bound under one scope do not fit another.
  return hash([RUNNER_PROTOCOL, pod, spec.reuse?.scope]);
}

const hardened = (uid: number) => ({
  runAsNonRoot: true,
  runAsUser: uid,
  runAsGroup: uid,
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
});

const env = (values: Record<string, string>) => Object.entries(values).map(([name, value]) => ({ name, value }));
const fieldEnv = (values: Record<string, string>) =>
  Object.entries(values).map(([name, fieldPath]) => ({ name, valueFrom: { fieldRef: { fieldPath } } }));

const volumeName = ({ tool, version }: { tool: string; version: string }): string =>
  `tool-${tool}-${version}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .slice(0, 63);

function toolVolumes(settings: Settings, tools: readonly PodTool[]) {
  if (settings.toolsDelivery === 'bundled') return { volumes: [], mounts: [] };
  return {
    volumes: tools.map((tool) => ({
      name: volumeName(tool),
      image: { reference: tool.image, pullPolicy: settings.imagePullPolicy },
    })),
    mounts: tools.map((tool) => ({
      name: volumeName(tool),
      mountPath: `${TOOLS_DIR}/${toolKey(tool)}`,
      readOnly: true,
    })),
  };
}

const SPREAD_OVER = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'];

/** So that a lost node takes few of a pool's runners. */
function spread(pool: string, { topologySpreadConstraints }: ProbePoolSpec) {
  const constraints =
    topologySpreadConstraints ??
    SPREAD_OVER.map((topologyKey) => ({ maxSkew: 1, topologyKey, whenUnsatisfiable: 'ScheduleAnyway' as const }));
  if (constraints.length === 0) return {};
  const labelSelector = { matchLabels: { [LABEL.managedBy]: 'probeyard', [LABEL.pool]: pool } };
  return { topologySpreadConstraints: constraints.map((one) => ({ ...one, labelSelector })) };
}

function common(settings: Settings, spec?: ProbePoolSpec) {
  const { nodeSelector, tolerations } = settings.podDefaults;
  const priorityClassName = spec?.priorityClassName ?? settings.podDefaults.priorityClassName;
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: 'Never',
    ...(settings.imagePullSecrets.length > 0
      ? { imagePullSecrets: settings.imagePullSecrets.map((name) => ({ name })) }
      : {}),
    // Windows nodes and other architectures would accept the pod but cannot run its images.
    nodeSelector: { 'kubernetes.io/os': 'linux', ...ARCH, ...nodeSelector, ...spec?.nodeSelector },
    tolerations: [...(tolerations ?? []), ...(spec?.tolerations ?? [])],
    ...(spec?.affinity ? { affinity: spec.affinity } : {}),
    ...(priorityClassName ? { priorityClassName } : {}),
  };
}

export const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** A runner pod without its agent is useless, even if the other container keeps it `Running`. */
export const isOver = (pod: Pod): boolean =>
  hasEnded(pod) ||
  pod.status?.containerStatuses?.some(({ name, state }) => name === AGENT && state?.terminated !== undefined) === true;

export interface RunnerPod {
  pool: string;
  spec: ProbePoolSpec;
  suffix: string;
  generation: string;
  tools: readonly PodTool[];
  /** False if the node refused user namespaces and the pool only prefers them. */
  userNamespace: boolean;
  owner?: OwnerReference | undefined;
}

export function runnerPod(settings: Settings, runner: RunnerPod): Pod {
  const { pool, spec, suffix, generation, tools, userNamespace, owner } = runner;
  const list = sorted(tools);
  const { volumes, mounts } = toolVolumes(settings, list);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `runner-${pool}-${suffix}`,
      namespace: settings.runnerNamespace,
      ...(owner ? { ownerReferences: [owner] } : {}),
      labels: {
        ...settings.podDefaults.labels,
        'app.kubernetes.io/name': 'probeyard',
        [LABEL.component]: 'runner',
        [LABEL.managedBy]: 'probeyard',
        [LABEL.pool]: pool,
        [LABEL.generation]: generation,
      },
      annotations: {
        ...settings.podDefaults.annotations,
        // The cluster autoscaler evicts no pod with volumes in memory without it.
        [ANNOTATION.clusterAutoscaler]: 'true',
        [ANNOTATION.tools]: JSON.stringify(list.map(toolKey)),
        [ANNOTATION.protocol]: String(RUNNER_PROTOCOL),
      },
    },
    spec: {
      ...common(settings, spec),
      ...spread(pool, spec),
      serviceAccountName: settings.runnerServiceAccount,
      terminationGracePeriodSeconds: drainSeconds(spec) + 15,
      ...(spec.runtimeClassName ? { runtimeClassName: spec.runtimeClassName } : {}),
      ...(userNamespace ? { hostUsers: false } : {}),
      // Origins are outside the cluster. With the default, every name would first be tried with each of the cluster's
      // search domains.
      dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
      securityContext: {
        runAsNonRoot: true,
        fsGroup: AGENT_UID,
        fsGroupChangePolicy: 'OnRootMismatch',
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [agentContainer(settings, runner), toolsContainer(settings, spec, mounts)],
      volumes: [...runnerVolumes(settings), ...volumes],
    },
  } as Pod;
}

const agentContainer = (settings: Settings, runner: RunnerPod) => ({
  name: AGENT,
  image: settings.runnerImage,
  imagePullPolicy: settings.imagePullPolicy,
  command: ['/app/bin/listener', String(SOURCE_SEND_BYTES), '/app/bin/node', AGENT_PROGRAM],
  securityContext: hardened(AGENT_UID),
  resources: {
    requests: requestsOf(runner.spec, 'agent'),
    // Two concurrent outputs near their cap were measured at 355 MB.
    limits: { memory: '640Mi', ...runner.spec.resources?.agent?.limits },
  },
  env: [
    ...fieldEnv({
      PY_POD_NAME: 'metadata.name',
      PY_POD_UID: 'metadata.uid',
      PY_POD_IP: 'status.podIP',
      PY_NAMESPACE: 'metadata.namespace',
    }),
    ...env({
      NODE_OPTIONS: AGENT_NODE_OPTIONS,
      [RUNNER_SETTINGS]: JSON.stringify(runnerSettings(settings, runner)),
    }),
  ],
  volumeMounts: [
    { name: 'run', mountPath: RUN_DIR },
    { name: 'nats-token', mountPath: NATS_TOKEN_DIR, readOnly: true },
    ...(settings.natsCaFile ? [{ name: 'nats-ca', mountPath: NATS_CA_DIR, readOnly: true }] : []),
    ...(settings.sourceCaConfigMap ? [{ name: 'source-ca', mountPath: SOURCE_CA_DIR, readOnly: true }] : []),
  ],
  livenessProbe: {
    httpGet: { path: '/healthz', port: HEALTH_PORT },
    // A loop that is busy for less than a minute is no reason for a restart.
    periodSeconds: 20,
    timeoutSeconds: 20,
    failureThreshold: 3,
  },
});

const toolsContainer = (settings: Settings, spec: ProbePoolSpec, mounts: object[]) => ({
  name: 'tools',
  image: settings.toolsDelivery === 'bundled' ? settings.bundledImage : settings.runnerImage,
  imagePullPolicy: settings.imagePullPolicy,
  // The containers of a pod share /dev/shm and /dev/mqueue: files that a tool leaves there are deleted with its
  // job, and so is its termination log.
  command: ['/app/bin/launcher', SOCKET, '/work', '/dev/shm', '/dev/mqueue', '/dev/termination-log'],
  securityContext: hardened(TOOLS_UID),
  resources: {
    requests: requestsOf(spec, 'tools'),
    limits: toolLimits(spec),
  },
  volumeMounts: [
    { name: 'run', mountPath: RUN_DIR },
    { name: 'work', mountPath: '/work' },
    ...(settings.c2paConfigMap ? [{ name: 'c2pa', mountPath: C2PA_CONFIG_DIR, readOnly: true }] : []),
    ...mounts,
  ],
});

const runnerVolumes = (settings: Settings) => [
  { name: 'run', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
  { name: 'work', emptyDir: { medium: 'Memory', sizeLimit: '128Mi' } },
  {
    name: 'nats-token',
    projected: {
      sources: [{ serviceAccountToken: { audience: 'probeyard-nats', expirationSeconds: 3600, path: 'token' } }],
    },
  },
  ...(settings.natsCaFile ? [{ name: 'nats-ca', configMap: { name: NATS_CA } }] : []),
  ...(settings.sourceCaConfigMap ? [{ name: 'source-ca', configMap: { name: settings.sourceCaConfigMap } }] : []),
  // Read at each check: a change reaches running pods within a minute or two.
  ...(settings.c2paConfigMap ? [{ name: 'c2pa', configMap: { name: settings.c2paConfigMap } }] : []),
];

/** Mounts one tool image, executes the tool and prints its version output. The pod has no network identity. */
export function verifyPod(settings: Settings, tool: PodTool, name: string, owner?: OwnerReference): Pod {
  const { volumes, mounts } = toolVolumes(settings, [tool]);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: settings.runnerNamespace,
      ...(owner ? { ownerReferences: [owner] } : {}),
      labels: {
        ...settings.podDefaults.labels,
        'app.kubernetes.io/name': 'probeyard',
        [LABEL.component]: 'verify',
        [LABEL.managedBy]: 'probeyard',
        [LABEL.tool]: `${tool.tool}-${tool.version}`.slice(0, 63),
      },
    },
    spec: {
      ...common(settings),
      serviceAccountName: settings.verifyServiceAccount,
      // Includes the image pulls. Each step of the proof has its own time-out.
      activeDeadlineSeconds: 600,
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsNonRoot: true, fsGroup: AGENT_UID, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'verify',
          image: settings.toolsDelivery === 'bundled' ? settings.bundledImage : settings.runnerImage,
          imagePullPolicy: settings.imagePullPolicy,
          args: ['verify'],
          securityContext: hardened(TOOLS_UID),
          env: env({
            PY_VERIFY: JSON.stringify({ tool: tool.tool, version: tool.version, command: tool.command }),
            PY_TOOLS_DIR: TOOLS_DIR,
          }),
          resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { cpu: '2', memory: '512Mi' } },
          volumeMounts: [{ name: 'work', mountPath: '/work' }, ...mounts],
        },
      ],
      volumes: [{ name: 'work', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } }, ...volumes],
    },
  } as Pod;
}

/** Depends on the image and on how it is started: a change of either requires a new proof. */
export const verifyName = (tool: PodTool, runnerImage: string): string =>
  `verify-${tool.tool}-${tool.version}-${hash([tool, runnerImage])}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .slice(0, 63);

/** Paths inside the pod. */
export const TOOLS_DIR = '/tools';
export const RUN_DIR = '/run/probeyard';
export const SOCKET = `${RUN_DIR}/launcher.sock`;
export const NATS_CA_DIR = '/etc/probeyard/nats-ca';
export const NATS_TOKEN_DIR = '/var/run/probeyard/nats-token';
export const SOURCE_CA_DIR = '/etc/probeyard/source-ca';
export const HEALTH_PORT = 8081;

const DEFAULT_TOOL_MEMORY = 512 * 1024 * 1024;

/** Short jobs take up to 60 s, validations and content checks 600 s; the rest is for the result to be collected. */
const SHORT_DRAIN_SECONDS = 70;
const LONG_DRAIN_SECONDS = 645;

export const drainSeconds = ({ serves, drainSeconds: given }: ProbePoolSpec): number =>
  given ?? (serves.kinds.some((kind) => kind === 'msv' || kind === 'qc') ? LONG_DRAIN_SECONDS : SHORT_DRAIN_SECONDS);

/** Whether evictions are refused while a job runs, because the drain of its runner may take minutes. */
export const holdsNodes = (spec: ProbePoolSpec): boolean => drainSeconds(spec) > SHORT_DRAIN_SECONDS;

export const toolLimits = (spec: ProbePoolSpec) => ({ cpu: '2', memory: '1Gi', ...spec.resources?.tools?.limits });

/** Converts a Kubernetes quantity to bytes. */
function bytesOf(quantity: string | number): number | undefined {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)(|[kMGT]|[KMGT]i)$/.exec(String(quantity)) ?? [];
  if (amount === undefined) return undefined;
  const power = ['', 'K', 'M', 'G', 'T'].indexOf(unit.charAt(0).toUpperCase());
  return Math.floor(Number(amount) * (unit.endsWith('i') ? 1024 : 1000) ** power);
}

const runnerSettings = (settings: Settings, { pool, generation, spec }: RunnerPod): RunnerSettings => ({
  pool,
  generation,
  logLevel: settings.logLevel,
  healthPort: HEALTH_PORT,
  nats: {
    url: settings.runnerNatsUrl || settings.natsUrl,
    ...(settings.natsCaFile ? { caFile: `${NATS_CA_DIR}/ca.crt` } : {}),
    ...(settings.runnerNatsSentinel ? { sentinelJwt: settings.runnerNatsSentinel } : {}),
    tokenFile: `${NATS_TOKEN_DIR}/token`,
  },
  launcherSocket: SOCKET,
  toolsDir: TOOLS_DIR,
  toolMemoryBytes: bytesOf(toolLimits(spec).memory) ?? DEFAULT_TOOL_MEMORY,
  drainMs: drainSeconds(spec) * 1000,
  sources: {
    allow: settings.allowSources,
    denyExtra: settings.denyCidrs,
    pace: { minBytes: settings.minBytesPerMinute },
    s3: {
      ...(settings.s3Endpoint ? { endpoint: settings.s3Endpoint } : {}),
      ...(settings.s3Region ? { region: settings.s3Region } : {}),
    },
    ...(settings.egressProxy
      ? { egress: { url: settings.egressProxy, noProxy: settings.noProxy, resolve: settings.egressResolve } }
      : {}),
    ...(settings.sourceCaConfigMap ? { caFile: `${SOURCE_CA_DIR}/ca.crt` } : {}),
  },
});

/**
 * Only the leader writes the annotations, which are the only record of a pod's life, and of its tenant once the jobs
 * are deleted. These are a life that no agent has and a tenant without jobs, if somebody else wrote them: the pod is
 * then replaced.
 */
const NO_LIFE = MAX_LIFE + 1;
const NO_TENANT = 'x:';

export const lifeOfPod = ({ metadata }: Pod): number => lifeIn(metadata.annotations?.[ANNOTATION.life]) ?? NO_LIFE;

function tenantOfPod({ metadata }: Pod): string | undefined {
  const tenant = metadata.annotations?.[ANNOTATION.tenant];
  return tenant === undefined || tenant === 'any' || isLasting(tenant) ? tenant : NO_TENANT;
}

/** `at`: the time of now. */
export const watchedPod = (pod: Pod, at: number): WatchedPod => ({
  podUid: pod.metadata.uid ?? '',
  life: lifeOfPod(pod),
  tenant: tenantOfPod(pod),
  version: pod.metadata.resourceVersion,
  ageMs: Math.max(0, at - Date.parse(pod.metadata.creationTimestamp ?? '')) || 0,
  pod: pod.metadata.name,
  pool: pod.metadata.labels?.[LABEL.pool] ?? '',
  generation: pod.metadata.labels?.[LABEL.generation] ?? '',
  deleting: pod.metadata.deletionTimestamp !== undefined,
  ended: isOver(pod),
  userNamespace: pod.spec?.hostUsers === false,
  node: pod.spec?.nodeName,
});

/** A merge patch, of a life that has begun. */
export const tenantPatch = (uid: string, tenant: string) => ({
  metadata: { uid, annotations: { [ANNOTATION.tenant]: tenant } },
});

/** A merge patch; null removes. The uid keeps it from another pod of the same name. */
export const lifePatch = (uid: string, life: number, tenant?: string) => ({
  metadata: { uid, annotations: { [ANNOTATION.life]: String(life), [ANNOTATION.tenant]: tenant ?? null } },
});
