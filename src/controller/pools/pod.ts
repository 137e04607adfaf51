/** The pods that the controller makes: runners (two containers) and the ones that prove a tool image. Pure. */
import { createHash } from 'node:crypto';
import { RUNNER_PROTOCOL } from '../../bus/messages.ts';
import type { Config } from '../../config.ts';
import type { Pod } from '../../kube/kinds.ts';
import { C2PA_CONFIG_DIR } from '../../tools/c2pa.ts';
import type { OwnerReference } from './pod_owner.ts';
import {
  drainSeconds,
  HEALTH_PORT,
  NATS_CA_DIR,
  NATS_TOKEN_DIR,
  RUN_DIR,
  runnerSettings,
  SOCKET,
  SOURCE_CA_DIR,
  toolLimits,
  TOOLS_DIR,
  type Settings as RunnerPart,
} from './runner_settings.ts';
import { RUNNER_SETTINGS } from '../../runner_settings.ts';
import { LABEL, GROUP } from '../../kube/resource.ts';
import type { ProbePoolSpec } from '../../kube/probe_pool.ts';
import type { ProbeToolSpec } from '../../kube/probe_tool.ts';

export const ANNOTATION = { tools: `${GROUP}/tools`, protocol: `${GROUP}/protocol` } as const;

type Settings = RunnerPart &
  Pick<
    Config<'controller'>,
    | 'runnerNamespace'
    | 'runnerImage'
    | 'runnerServiceAccount'
    | 'verifyServiceAccount'
    | 'imagePullSecrets'
    | 'imagePullPolicy'
    | 'toolsDelivery'
    | 'bundledImage'
    | 'podDefaults'
    | 'c2paConfigMap'
  >;

export type PodTool = Pick<ProbeToolSpec, 'tool' | 'version' | 'image' | 'command'>;

/** Made by the controller in the runners' namespace from the CA that it knows NATS by itself. */
export const NATS_CA = 'probeyard-ca';
/** The one architecture that the tools of the catalog are built for. */
const ARCH = { 'kubernetes.io/arch': 'amd64' } as const;
const AGENT_UID = 65532;
/** Another user than the agent's: what wins over a tool must not be able to signal or trace the agent. */
const TOOLS_UID = 65533;
const AGENT = 'agent';

/** 36^5 names per pool are plenty beside the 5,000 pods that a pool may have. */
export const podSuffix = (random: () => number = Math.random): string =>
  Math.floor(random() * 36 ** 5)
    .toString(36)
    .padStart(5, '0');

const hash = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 10);

export const toolKey = ({ tool, version }: { tool: string; version: string }): string => `${tool}/${version}`;

const sorted = (tools: readonly PodTool[]): PodTool[] => [...tools].sort((a, b) => (toolKey(a) < toolKey(b) ? -1 : 1));

/**
 * What a runner pod is made of; a pod of another generation is replaced. Taken from the pod itself: of the settings
 * only those that reach it count, and never which controller leads or how much it logs, or each election would end
 * every warm pod.
 */
export function generationOf(settings: Settings, spec: ProbePoolSpec, tools: readonly PodTool[]): string {
  const pod = runnerPod(
    { ...settings, logLevel: 'info' },
    { pool: '', spec, suffix: '', generation: '', tools, userNamespace: spec.userNamespaces !== 'Disabled' },
  );
  // Pods that are bound by one scope do not fit another.
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

function common(settings: Settings, spec?: ProbePoolSpec) {
  const { nodeSelector, tolerations, priorityClassName } = settings.podDefaults;
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: 'Never',
    ...(settings.imagePullSecrets.length > 0
      ? { imagePullSecrets: settings.imagePullSecrets.map((name) => ({ name })) }
      : {}),
    // Windows nodes and other architectures take the pod, and cannot run what is in its images.
    nodeSelector: { 'kubernetes.io/os': 'linux', ...ARCH, ...nodeSelector, ...spec?.nodeSelector },
    tolerations: [...(tolerations ?? []), ...(spec?.tolerations ?? [])],
    ...(priorityClassName ? { priorityClassName } : {}),
  };
}

export const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** Without its agent a runner pod does nothing, though its other container keeps it `Running`. */
export const isOver = (pod: Pod): boolean =>
  hasEnded(pod) ||
  pod.status?.containerStatuses?.some(({ name, state }) => name === AGENT && state?.terminated !== undefined) === true;

export interface RunnerPod {
  pool: string;
  spec: ProbePoolSpec;
  suffix: string;
  generation: string;
  tools: readonly PodTool[];
  /** False where the node refused user namespaces and the pool only prefers them. */
  userNamespace: boolean;
  owner?: OwnerReference | undefined;
}

export function runnerPod(
  settings: Settings,
  { pool, spec, suffix, generation, tools, userNamespace, owner }: RunnerPod,
): Pod {
  const list = sorted(tools);
  const { volumes, mounts } = toolVolumes(settings, list);
  const bundled = settings.toolsDelivery === 'bundled';
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
        // A runner that is evicted finishes what is short, and the rest is tried again elsewhere.
        'cluster-autoscaler.kubernetes.io/safe-to-evict': 'true',
        [ANNOTATION.tools]: JSON.stringify(list.map(toolKey)),
        [ANNOTATION.protocol]: String(RUNNER_PROTOCOL),
      },
    },
    spec: {
      ...common(settings, spec),
      serviceAccountName: settings.runnerServiceAccount,
      terminationGracePeriodSeconds: drainSeconds(spec) + 15,
      ...(spec.runtimeClassName ? { runtimeClassName: spec.runtimeClassName } : {}),
      ...(userNamespace ? { hostUsers: false } : {}),
      // Origins are outside the cluster: without this every name is first tried with each of the cluster's suffixes.
      dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
      securityContext: {
        runAsNonRoot: true,
        fsGroup: AGENT_UID,
        fsGroupChangePolicy: 'OnRootMismatch',
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: AGENT,
          image: settings.runnerImage,
          imagePullPolicy: settings.imagePullPolicy,
          args: ['agent'],
          securityContext: hardened(AGENT_UID),
          resources: {
            requests: { cpu: '10m', memory: '64Mi', ...spec.resources?.agent?.requests },
            // Two outputs near their cap at once were measured at 355 MB.
            limits: { memory: '640Mi', ...spec.resources?.agent?.limits },
          },
          env: [
            ...fieldEnv({
              PY_POD_NAME: 'metadata.name',
              PY_POD_UID: 'metadata.uid',
              PY_POD_IP: 'status.podIP',
              PY_NAMESPACE: 'metadata.namespace',
            }),
            ...env({
              // An agent mostly waits: a young generation of 1 MB was measured to save some 3 MB of every warm pod.
              NODE_OPTIONS: '--max-semi-space-size=1',
              [RUNNER_SETTINGS]: JSON.stringify(runnerSettings(settings, { pool, generation, spec })),
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
            periodSeconds: 20,
            timeoutSeconds: 5,
            failureThreshold: 3,
          },
        },
        {
          name: 'tools',
          image: bundled ? settings.bundledImage : settings.runnerImage,
          imagePullPolicy: settings.imagePullPolicy,
          // /dev/shm and /dev/mqueue are shared by the containers of a pod: what a tool leaves there goes with its job,
          // as what it wrote for Kubernetes.
          command: ['/app/bin/launcher', SOCKET, '/work', '/dev/shm', '/dev/mqueue', '/dev/termination-log'],
          securityContext: hardened(TOOLS_UID),
          resources: {
            requests: { cpu: '10m', memory: '64Mi', ...spec.resources?.tools?.requests },
            limits: toolLimits(spec),
          },
          volumeMounts: [
            { name: 'run', mountPath: RUN_DIR },
            { name: 'work', mountPath: '/work' },
            ...(settings.c2paConfigMap ? [{ name: 'c2pa', mountPath: C2PA_CONFIG_DIR, readOnly: true }] : []),
            ...mounts,
          ],
        },
      ],
      volumes: [
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
        ...volumes,
      ],
    },
  } as Pod;
}

/**
 * Mounts one tool image, executes what is in it and prints what the binary says of itself. It has no network identity
 * at all.
 */
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
      // Counts from before the pull of the images; each step of the proof has a bound of its own.
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

/** Changes when the image or the way to start it changes: then it is proven again. */
export const verifyName = (tool: PodTool, runnerImage: string): string =>
  `verify-${tool.tool}-${tool.version}-${hash([tool, runnerImage])}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .slice(0, 63);
