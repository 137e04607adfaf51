/** `doctor`: starts the pods of the preflight, reads what they found, and says which values fit. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Finding } from '../../service/doctor/finding.ts';
import { CLUSTER_PLACES, isPlace, type Place } from '../../service/doctor/places.ts';
import { hasFailed, textOf, valuesOf } from '../../service/doctor/report.ts';
import type { Invocation, Run } from '../command.ts';
import { EXIT, Failure, Interrupted, usage } from '../failure.ts';
import { kubectlOf, type Kubectl } from '../kubectl/kubectl.ts';
import type { Event, List } from '../kubectl/resources.ts';
import { writeValue, yamlText } from '../output/document.ts';
import { printable } from '../terminal.ts';
import { clusterFindings } from './cluster.ts';
import { installedBy } from './installed.ts';
import { jobOf, placeOf, selectorOf, type Plan } from './jobs.ts';
import { ownNamespace } from './own_namespace.ts';
import { podFindings } from './pod_findings.ts';
import { hasRun, isStuck, wasRefused, type DoctorPod } from './pods.ts';

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
  const known = before ? undefined : await installedBy(kubectl);
  const id = randomBytes(4).toString('hex');
  // One that is still being deleted is in nobody's way.
  const own = has('manifest') ? OWN_NAMESPACE : `${OWN_NAMESPACE}-${id}`;
  return {
    id,
    image: image ?? known!.image,
    pullPolicy: known?.pullPolicy ?? 'IfNotPresent',
    pullSecrets: known?.pullSecrets ?? [],
    namespace: before ? own : kubectl.namespace,
    runners: known?.runners ?? own,
    nats: known?.nats ?? [],
    storageClass: text('storage-class'),
    runtimeClass: text('runtime-class'),
    podSecurity: known?.podSecurity,
    places,
    timeoutMs,
    json: !has('manifest'),
  };
}

const create = (kubectl: Kubectl, namespace: string, object: object): Promise<string> =>
  kubectl.run(['create', `--namespace=${namespace}`, '--filename=-'], { input: JSON.stringify(object) });

/** Of jobs that the API server refused: why. */
async function createJobs(kubectl: Kubectl, plan: Plan): Promise<Map<Place, Failure>> {
  const refused = new Map<Place, Failure>();
  for (const { place, namespace, object } of plan.places.map((one) => jobOf(one, plan)))
    await create(kubectl, namespace, object).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      refused.set(place, error);
    });
  return refused;
}

const namespacesOf = ({ namespace, runners }: Plan): string[] => [...new Set([namespace, runners])];

async function podsOf(kubectl: Kubectl, plan: Plan): Promise<Map<string, DoctorPod>> {
  const lists = await Promise.all(
    namespacesOf(plan).map((namespace) =>
      kubectl.get<List<DoctorPod>>('pods', `--namespace=${namespace}`, `--selector=${selectorOf(plan.id)}`),
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
    await delay(POLL_MS, undefined, { signal: invocation.signal }).catch(() => {
      throw new Interrupted();
    });
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

/** With a signal of its own: it also runs after Ctrl-C. */
async function remove(invocation: Invocation, plan: Plan, ownOne: boolean): Promise<void> {
  const kubectl = kubectlOf(invocation, { env: invocation.env, signal: new AbortController().signal });
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
    await kubectl.run(command).catch((error: unknown) => invocation.terminal.note(String((error as Error).message)));
}

interface Examined {
  findings: Finding[];
  /** Every pod found something out. */
  complete: boolean;
}

async function examineCluster(kubectl: Kubectl, plan: Plan, invocation: Invocation): Promise<Examined> {
  const refused = await createJobs(kubectl, plan);
  const pods = await wait(kubectl, plan, invocation, new Set(refused.keys()));
  const events = await eventsOf(kubectl, plan);
  const found: Finding[] = [];
  for (const place of plan.places) found.push(...(await podFindings(kubectl, plan, place, { pods, events, refused })));
  return {
    findings: [...(await clusterFindings(kubectl, events, found)), ...found],
    complete: found.every(({ status }) => status !== 'unknown'),
  };
}

const run: Run = async (invocation) => {
  const kubectl = kubectlOf(invocation, invocation);
  const plan = await planOf(invocation, kubectl);
  const own =
    invocation.has('install-check') || invocation.has('manifest') ? ownNamespace(plan.namespace, plan.id) : [];
  if (invocation.has('manifest')) {
    const objects = [...own, ...plan.places.map((place) => jobOf(place, plan).object)];
    for (const object of objects) await invocation.terminal.data(`---\n${await yamlText(object)}`);
    return EXIT.done;
  }
  let examined: Examined;
  for (const object of own) await create(kubectl, plan.namespace, object);
  try {
    examined = await examineCluster(kubectl, plan, invocation);
  } finally {
    invocation.terminal.progress('');
    await remove(invocation, plan, own.length > 0);
  }
  const { findings, complete } = examined;
  if (invocation.format === 'table') await invocation.terminal.data(printable(textOf(findings)));
  else await writeValue(invocation, { findings, values: valuesOf(findings) });
  if (hasFailed(findings)) return EXIT.failed;
  return complete ? EXIT.done : EXIT.unknown;
};

export default run;
