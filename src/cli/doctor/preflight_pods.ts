/** The pods of a preflight: what is created, what became of it, and what each found. */
import { type Finding, findingOf, type NotStarted, withoutPod, decoded } from '../../service/doctor/finding.ts';
import type { Event, Pod } from '../kubectl/cluster_resources.ts';
import { CHECKS_OF, type Place } from '../../service/doctor/places.ts';
import type { Failure } from '../exits.ts';
import type { Kubectl } from '../kubectl/run_kubectl.ts';

// The Jobs of a preflight, as objects. Pure.

export interface Plan {
  /** Label of everything that one run creates. */
  id: string;
  image: string;
  pullPolicy: string;
  pullSecrets: readonly string[];
  /** Namespaces of the servers, and of the runners. */
  namespace: string;
  runners: string;
  /** Addresses of NATS, as HOST:PORT. */
  nats: readonly string[];
  storageClass: string | undefined;
  /** Of the pods that are like runners. */
  runtimeClass: string | undefined;
  places: readonly Place[];
  /** How long its pods may take. */
  timeoutMs: number;
  /** Of API and controller pods, where it is known. */
  podSecurity: object | undefined;
  json: boolean;
}

const RUN_LABEL = 'probeyard.dev/doctor';
const PLACE_LABEL = 'probeyard.dev/doctor-place';
export const selectorOf = (id: string): string => `${RUN_LABEL}=${id}`;
const nameOf = (id: string, place: Place): string => `probeyard-doctor-${place}-${id}`;
export const placeOf = (labels: Record<string, string> | undefined): string | undefined => labels?.[PLACE_LABEL];

const CA_FOLDER = '/etc/kube-ca';
/** If this program is killed, they are deleted all the same. */
const KEPT_SECONDS = 600;
const MOST_SECONDS = 300;

const SECURITY = {
  runAsNonRoot: true,
  runAsUser: 65_532,
  runAsGroup: 65_532,
  fsGroup: 65_532,
  seccompProfile: { type: 'RuntimeDefault' },
};

interface Shape {
  inRunners: boolean;
  args: readonly string[];
  spec?: object;
  mount?: object;
  volume?: object;
}

function shapeOf(place: Place, plan: Plan): Shape {
  switch (place) {
    case 'runner':
      return { inRunners: true, args: plan.nats.flatMap((one) => ['--nats', one]) };
    case 'user-namespace':
      return { inRunners: true, args: [], spec: { hostUsers: false } };
    case 'image-volume':
      return {
        inRunners: true,
        args: ['--folder', '/image'],
        mount: { name: 'image', mountPath: '/image', readOnly: true },
        volume: { name: 'image', image: { reference: plan.image, pullPolicy: plan.pullPolicy } },
      };
    case 'storage':
      return {
        inRunners: false,
        args: ['--folder', '/data'],
        mount: { name: 'data', mountPath: '/data' },
        volume: {
          name: 'data',
          ephemeral: {
            volumeClaimTemplate: {
              spec: {
                accessModes: ['ReadWriteOnce'],
                resources: { requests: { storage: '1Gi' } },
                ...(plan.storageClass === undefined ? {} : { storageClassName: plan.storageClass }),
              },
            },
          },
        },
      };
    default:
      return { inRunners: false, args: [] };
  }
}

export function jobOf(place: Place, plan: Plan) {
  const { inRunners, args, spec = {}, mount, volume } = shapeOf(place, plan);
  const namespace = inRunners ? plan.runners : plan.namespace;
  const labels = {
    'app.kubernetes.io/name': 'probeyard',
    // The policies of runners select it.
    'app.kubernetes.io/component': place === 'runner' ? 'runner' : 'doctor',
    [RUN_LABEL]: plan.id,
    [PLACE_LABEL]: place,
  };
  const container = {
    name: 'doctor',
    image: plan.image,
    imagePullPolicy: plan.pullPolicy,
    args: ['doctor', place, '--ca', `${CA_FOLDER}/ca.crt`, ...args, ...(plan.json ? ['--json'] : [])],
    resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '256Mi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      { name: 'work', mountPath: '/tmp' },
      { name: 'kube-ca', mountPath: CA_FOLDER, readOnly: true },
      ...(mount ? [mount] : []),
    ],
  };
  return {
    place,
    namespace,
    object: {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: nameOf(plan.id, place), namespace, labels },
      spec: {
        backoffLimit: 0,
        activeDeadlineSeconds: MOST_SECONDS,
        ttlSecondsAfterFinished: KEPT_SECONDS,
        template: {
          metadata: { labels },
          spec: {
            restartPolicy: 'Never',
            automountServiceAccountToken: false,
            enableServiceLinks: false,
            nodeSelector: { 'kubernetes.io/os': 'linux' },
            ...(plan.pullSecrets.length > 0 ? { imagePullSecrets: plan.pullSecrets.map((name) => ({ name })) } : {}),
            ...(inRunners ? { dnsConfig: { options: [{ name: 'ndots', value: '1' }] } } : {}),
            ...(inRunners && plan.runtimeClass !== undefined ? { runtimeClassName: plan.runtimeClass } : {}),
            ...spec,
            securityContext: inRunners ? SECURITY : (plan.podSecurity ?? SECURITY),
            containers: [container],
            volumes: [
              { name: 'work', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
              // In every namespace.
              { name: 'kube-ca', configMap: { name: 'kube-root-ca.crt', optional: true } },
              ...(volume ? [volume] : []),
            ],
          },
        },
      },
    },
  };
}

// What a preflight needs before Probeyard is installed: a namespace, under the policies that the chart would bring.

/** As `probeyard.originsEgress` of the chart. */
const CLOSED: Readonly<Record<string, readonly string[]>> = {
  '0.0.0.0/0': [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
  '::/0': ['::/96', '64:ff9b::/96', '64:ff9b:1::/48', '2001::/32', '2002::/16', 'fc00::/7', 'fe80::/10', 'ff00::/8'],
};

const DNS = {
  to: [
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
      podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
    },
  ],
  ports: [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ],
};

export function ownNamespace(name: string, id: string): object[] {
  const labels = { 'app.kubernetes.io/name': 'probeyard', [RUN_LABEL]: id };
  const restricted = ['enforce', 'audit', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']);
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { ...labels, ...(Object.fromEntries(restricted) as object) } },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'probeyard-runner', namespace: name, labels },
      spec: {
        podSelector: { matchLabels: { 'app.kubernetes.io/component': 'runner' } },
        policyTypes: ['Ingress', 'Egress'],
        egress: [
          DNS,
          { to: Object.entries(CLOSED).map(([cidr, except]) => ({ ipBlock: { cidr, except: [...except] } })) },
        ],
      },
    },
  ];
}

export const hasRun = ({ status }: Pod): boolean =>
  status?.containerStatuses?.some(({ state }) => state?.terminated !== undefined) === true;

/** It failed before its container ran: an eviction, or a kubelet that refuses it. */
export const wasRefused = (pod: Pod): boolean => pod.status?.phase === 'Failed' && !hasRun(pod);

/** These do not pass by waiting. */
const FINAL = ['CreateContainerError', 'CreateContainerConfigError', 'InvalidImageName', 'ErrImageNeverPull'];
export const isStuck = ({ status }: Pod): boolean =>
  status?.containerStatuses?.some(({ state }) => FINAL.includes(state?.waiting?.reason ?? '')) === true;

/** The newest warning says more than `ContainerCreating`. */
export function whyNotStarted(pod: Pod | undefined, warnings: readonly Event[]): NotStarted {
  const { status } = pod ?? {};
  const waiting = status?.containerStatuses?.map(({ state }) => state?.waiting).find(Boolean);
  const unscheduled = status?.conditions?.find((one) => one.type === 'PodScheduled' && one.status === 'False');
  const newest = warnings.at(-1);
  if (status?.phase === 'Failed' && status.reason) return { reason: status.reason, message: status.message ?? '' };
  if (waiting?.reason && waiting.message) return { reason: waiting.reason, message: waiting.message };
  if (unscheduled) return { reason: unscheduled.reason ?? 'Unschedulable', message: unscheduled.message ?? '' };
  if (newest) return { reason: newest.reason ?? 'Warning', message: newest.message ?? '' };
  return { reason: waiting?.reason ?? 'NotCreated', message: 'no reason was given' };
}

// What a pod of the preflight found, or why it found nothing.

const LOG_BYTES = 256 * 1024;

interface Seen {
  pods: ReadonlyMap<string, Pod>;
  events: readonly Event[];
  /** Jobs that the API server refused. */
  refused: ReadonlyMap<Place, Failure>;
}

/** The pod that is the same but for what is checked: where it does not start either, that is not the reason. */
function controlOf(place: Place): Place | undefined {
  if (place === 'storage') return 'service';
  return place === 'user-namespace' || place === 'image-volume' ? 'runner' : undefined;
}

const unknown = (place: Place, found: string): Finding[] =>
  CHECKS_OF[place].map((check) => findingOf(check, { status: 'unknown', found }));

/** The reason stands in the first check of the pod. */
function notStarted(plan: Plan, place: Place, { pods, events, refused }: Seen): Finding[] {
  const [first, ...others] = CHECKS_OF[place];
  if (first === undefined) return [];
  const pod = pods.get(place);
  const job = nameOf(plan.id, place);
  const about = events.filter(({ type, involvedObject }) => {
    const { name = '' } = involvedObject ?? {};
    return type === 'Warning' && (name === job || name === pod?.metadata.name);
  });
  const failure = refused.get(place);
  const why = failure ? { reason: 'Refused', message: failure.message } : whyNotStarted(pod, about);
  const found = `the pod did not start: see ${first.title}`;
  return [withoutPod(first, why), ...others.map((check) => findingOf(check, { status: 'unknown', found }))];
}

export async function podFindings(kubectl: Kubectl, plan: Plan, place: Place, seen: Seen): Promise<Finding[]> {
  const pod = seen.pods.get(place);
  if (pod === undefined || !hasRun(pod)) {
    const control = seen.pods.get(controlOf(place) ?? '');
    return control !== undefined && !hasRun(control)
      ? unknown(place, 'the pod did not start, and neither did the one without it')
      : notStarted(plan, place, seen);
  }
  const { namespace } = jobOf(place, plan);
  const log = await kubectl.run(['logs', `--namespace=${namespace}`, pod.metadata.name, '--tail=20'], {
    mostBytes: LOG_BYTES,
  });
  const last = log.trimEnd().split('\n').at(-1) ?? '';
  return decoded(log) ?? unknown(place, `the pod printed no findings${last === '' ? '' : `: ${last.slice(0, 200)}`}`);
}
