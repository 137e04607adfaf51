/** `doctor`: starts the pods of the preflight, reads what they found, and says which values fit. */
import { randomBytes } from 'node:crypto';
import { dnsPods, type DnsPods, kubernetes, nodes, pull } from '../../service/doctor/checks/cluster.ts';
import { type Check, type Finding, findingOf, hasFailed, textOf, valuesOf } from '../../service/doctor/finding.ts';
import { pause } from '../api/api_client.ts';
import { EXIT, Failure, Interrupted, usage } from '../exits.ts';
import { type Kubectl, kubectlOf } from '../kubectl/run_kubectl.ts';
import type { Event, List, Pod } from '../kubectl/cluster_resources.ts';
import type { Deployment, EndpointSlice, Node, Service } from '../../platform/kube/kinds.ts';
import { CLUSTER_PLACES, isPlace, type Place } from '../../service/doctor/places.ts';
import type { Invocation, Run } from '../command.ts';
import { writeValue, yamlText } from '../output/write_answer.ts';
import { printable } from '../terminal.ts';
import {
  jobOf,
  placeOf,
  selectorOf,
  type Plan,
  hasRun,
  isStuck,
  ownNamespace,
  podFindings,
  wasRefused,
} from './preflight_pods.ts';

// What kubectl alone finds out: versions, nodes, the pods of DNS, and how long images took.

/** Namespace and name of the service, as clusters have it. */
const DNS_SERVICES = [
  ['kube-system', 'kube-dns'],
  ['openshift-dns', 'dns-default'],
  ['kube-system', 'rke2-coredns-rke2-coredns'],
] as const;

/** Where kubectl may not look, nothing is known. */
async function checked<Facts>(check: Check<Facts>, read: () => Promise<Facts>): Promise<Finding> {
  try {
    return findingOf(check, check.verdict(await read()));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return findingOf(check, { status: 'unknown', found: error.message });
  }
}

async function version(kubectl: Kubectl): Promise<string> {
  const { serverVersion } = JSON.parse(await kubectl.run(['version', '--output=json'])) as {
    serverVersion?: { gitVersion?: string };
  };
  return serverVersion?.gitVersion ?? 'unknown';
}

async function dnsPodsOf(kubectl: Kubectl): Promise<DnsPods | undefined> {
  for (const [namespace, name] of DNS_SERVICES) {
    const at = `--namespace=${namespace}`;
    const { items } = await kubectl.get<List<Service>>('services', at, `--field-selector=metadata.name=${name}`);
    const labels = items[0]?.spec?.selector;
    if (labels === undefined) continue;
    const slices = await kubectl.get<List<EndpointSlice>>(
      'endpointslices',
      at,
      `--selector=kubernetes.io/service-name=${name}`,
    );
    const ports = slices.items.flatMap((slice) => slice.ports ?? []).flatMap(({ port }) => port ?? []);
    // 9153 and the like serve metrics.
    const asked = [...new Set(ports)].filter((port) => [53, 1053, 5353, 8053].includes(port)).toSorted((a, b) => a - b);
    return { namespace, labels, ports: asked.length === 0 ? [53] : asked };
  }
  return undefined;
}

async function clusterFindings(
  kubectl: Kubectl,
  events: readonly Event[],
  found: readonly Finding[],
): Promise<Finding[]> {
  const volumes = found.find(({ id }) => id === 'image-volume')?.status;
  const imageVolumes = volumes === undefined || volumes === 'unknown' ? undefined : volumes === 'pass';
  const messages = events.filter(({ reason }) => reason === 'Pulled').map(({ message = '' }) => message);
  return [
    await checked(kubernetes, async () => ({ version: await version(kubectl), imageVolumes })),
    await checked(nodes, async () => {
      const { items } = await kubectl.get<List<Node>>('nodes');
      return items.map(({ status }) => ({
        architecture: status?.nodeInfo?.architecture ?? '',
        runtime: status?.nodeInfo?.containerRuntimeVersion ?? 'unknown',
      }));
    }),
    await checked(dnsPods, () => dnsPodsOf(kubectl)),
    findingOf(pull, pull.verdict({ messages })),
  ];
}

// What an installation says of itself: its image, its addresses. No Secret is read.

const NOT_INSTALLED = { image: '', pullPolicy: 'IfNotPresent', pullSecrets: [], podSecurity: undefined, nats: [] };

const CONTROLLER = 'app.kubernetes.io/name=probeyard,app.kubernetes.io/component=controller';

/** Without user and password. */
const addressesIn = (urls: string): string[] =>
  urls
    .split(',')
    .filter((url) => URL.canParse(url))
    .map((url) => new URL(url))
    .map(({ hostname, port }) => `${hostname}:${port || 4222}`);

async function installedBy(kubectl: Kubectl) {
  const { items } = await kubectl.get<List<Deployment>>('deployments', `--selector=${CONTROLLER}`);
  const spec = items[0]?.spec?.template.spec;
  const container = spec?.containers[0];
  if (!spec || !container)
    throw usage(
      `there is no Probeyard in the namespace ${kubectl.namespace}`,
      'name another one with --namespace, or check the cluster before with --install-check',
    );
  const value = (name: string): string => container.env?.find((one) => one.name === name)?.value ?? '';
  return {
    image: container.image ?? '',
    pullPolicy: container.imagePullPolicy ?? NOT_INSTALLED.pullPolicy,
    pullSecrets: (spec.imagePullSecrets ?? []).flatMap(({ name }) => name ?? []),
    podSecurity: spec.securityContext,
    nats: addressesIn(value('PY_RUNNER_NATS_URL') || value('PY_NATS_URL')),
    namespace: kubectl.namespace,
    runners: value('PY_RUNNER_NAMESPACE') || `${kubectl.namespace}-runners`,
  };
}

const OWN_NAMESPACE = 'probeyard-doctor';
const POLL_MS = 1_000;
const TIMEOUT_SECONDS = { default: 120, most: 280 };

function wantedPlaces({ texts }: Invocation): Place[] {
  const skipped = texts('skip');
  const unknown = skipped.find((place) => !isPlace(place));
  if (unknown !== undefined) throw usage(`--skip: no such pod: ${unknown}; one of: ${CLUSTER_PLACES.join(', ')}`);
  return CLUSTER_PLACES.filter((place) => !skipped.includes(place));
}

function timeoutOf({ text }: Invocation): number {
  const given = Number(text('timeout') ?? TIMEOUT_SECONDS.default);
  if (given >= 10 && given <= TIMEOUT_SECONDS.most) return given * 1000;
  throw usage(`--timeout: 10 to ${TIMEOUT_SECONDS.most} seconds`);
}

async function planOf(invocation: Invocation, kubectl: Kubectl): Promise<Plan> {
  const { text, has } = invocation;
  const before = has('install-check') || has('manifest');
  const image = text('image');
  if (before && image === undefined)
    throw usage('--image is missing: the image of Probeyard, as the chart will use it');
  const timeoutMs = timeoutOf(invocation);
  const places = wantedPlaces(invocation);
  const id = randomBytes(4).toString('hex');
  // One that is still being deleted is in nobody's way.
  const own = has('manifest') ? OWN_NAMESPACE : `${OWN_NAMESPACE}-${id}`;
  const known = before ? { ...NOT_INSTALLED, namespace: own, runners: own } : await installedBy(kubectl);
  return {
    ...known,
    id,
    image: image ?? known.image,
    storageClass: text('storage-class'),
    runtimeClass: text('runtime-class'),
    places,
    timeoutMs,
    json: !has('manifest'),
  };
}

const create = (kubectl: Kubectl, namespace: string, object: object): Promise<string> =>
  kubectl.run(['create', `--namespace=${namespace}`, '--filename=-'], { input: JSON.stringify(object), whole: true });

/** Of jobs that the API server refused: why. */
async function createJobs(kubectl: Kubectl, plan: Plan, signal: AbortSignal): Promise<Map<Place, Failure>> {
  const refused = new Map<Place, Failure>();
  for (const { place, namespace, object } of plan.places.map((one) => jobOf(one, plan))) {
    if (signal.aborted) throw new Interrupted();
    await create(kubectl, namespace, object).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      refused.set(place, error);
    });
  }
  return refused;
}

const namespacesOf = ({ namespace, runners }: Plan): string[] => [...new Set([namespace, runners])];

async function podsOf(kubectl: Kubectl, plan: Plan): Promise<Map<string, Pod>> {
  const lists = await Promise.all(
    namespacesOf(plan).map((namespace) =>
      kubectl.get<List<Pod>>('pods', `--namespace=${namespace}`, `--selector=${selectorOf(plan.id)}`),
    ),
  );
  return new Map(lists.flatMap(({ items }) => items).map((pod) => [placeOf(pod.metadata.labels) ?? '', pod]));
}

async function wait(kubectl: Kubectl, plan: Plan, invocation: Invocation, skipped: ReadonlySet<Place>) {
  const end = performance.now() + plan.timeoutMs;
  const places = plan.places.filter((place) => !skipped.has(place));
  for (;;) {
    const pods = await podsOf(kubectl, plan);
    const open = places.filter((place) => {
      const pod = pods.get(place);
      return pod === undefined || !(hasRun(pod) || wasRefused(pod) || isStuck(pod));
    });
    if (open.length === 0 || performance.now() > end) return pods;
    invocation.terminal.progress(`waiting for ${open.join(', ')}`);
    await pause(POLL_MS, invocation.signal);
  }
}

async function eventsOf(kubectl: Kubectl, plan: Plan): Promise<Event[]> {
  const lists = await Promise.all(
    namespacesOf(plan).map((namespace) =>
      kubectl.get<List<Event>>('events', `--namespace=${namespace}`, '--sort-by=.lastTimestamp'),
    ),
  );
  const own = (name = ''): boolean => name.startsWith('probeyard-doctor-') && name.includes(plan.id);
  return lists.flatMap(({ items }) => items).filter(({ involvedObject }) => own(involvedObject?.name));
}

async function remove(kubectl: Kubectl, { terminal }: Invocation, plan: Plan, ownOne: boolean): Promise<void> {
  const commands = ownOne
    ? [['delete', 'namespace', plan.namespace, '--wait=false', '--ignore-not-found']]
    : namespacesOf(plan).map((namespace) => [
        'delete',
        'jobs',
        `--namespace=${namespace}`,
        `--selector=${selectorOf(plan.id)}`,
        '--wait=false',
      ]);
  for (const command of commands)
    await kubectl
      .run(command, { whole: true })
      .catch((error: unknown) => terminal.note(String((error as Error).message)));
}

async function examineCluster(kubectl: Kubectl, plan: Plan, invocation: Invocation) {
  const refused = await createJobs(kubectl, plan, invocation.signal);
  const pods = await wait(kubectl, plan, invocation, new Set(refused.keys()));
  const events = await eventsOf(kubectl, plan);
  const found: Finding[] = [];
  for (const place of plan.places) found.push(...(await podFindings(kubectl, plan, place, { pods, events, refused })));
  return {
    findings: [...(await clusterFindings(kubectl, events, found)), ...found],
    /** Every pod found something out. */
    complete: found.every(({ status }) => status !== 'unknown'),
  };
}

const run: Run = async (invocation) => {
  const kubectl = kubectlOf(invocation);
  const plan = await planOf(invocation, kubectl);
  const own =
    invocation.has('install-check') || invocation.has('manifest') ? ownNamespace(plan.namespace, plan.id) : [];
  if (invocation.has('manifest')) {
    const objects = [...own, ...plan.places.map((place) => jobOf(place, plan).object)];
    for (const object of objects) await invocation.terminal.data(`---\n${await yamlText(object)}`);
    return EXIT.done;
  }
  let examined: Awaited<ReturnType<typeof examineCluster>>;
  try {
    for (const object of own) await create(kubectl, plan.namespace, object);
    examined = await examineCluster(kubectl, plan, invocation);
  } finally {
    await remove(kubectl, invocation, plan, own.length > 0);
  }
  const { findings, complete } = examined;
  await writeValue(invocation, { findings, values: valuesOf(findings) }, () => printable(textOf(findings)));
  if (hasFailed(findings)) return EXIT.failed;
  return complete ? EXIT.done : EXIT.unknown;
};

export default run;
