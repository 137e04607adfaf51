/** The Jobs of a preflight, as objects. Pure. */
import type { Place } from '../../service/doctor/places.ts';

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

export const RUN_LABEL = 'probeyard.dev/doctor';
const PLACE_LABEL = 'probeyard.dev/doctor-place';
export const selectorOf = (id: string): string => `${RUN_LABEL}=${id}`;
export const nameOf = (id: string, place: Place): string => `probeyard-doctor-${place}-${id}`;
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
