/** What a pod of the preflight found, or why it found nothing. */
import { findingOf, withoutPod, type Finding } from '../../service/doctor/finding.ts';
import { CHECKS_OF, type Place } from '../../service/doctor/places.ts';
import { decoded } from '../../service/doctor/report.ts';
import type { Failure } from '../failure.ts';
import type { Kubectl } from '../kubectl/kubectl.ts';
import type { Event } from '../kubectl/resources.ts';
import { jobOf, nameOf, type Plan } from './jobs.ts';
import { hasRun, whyNotStarted, type DoctorPod } from './pods.ts';

const LOG_BYTES = 256 * 1024;

export interface Seen {
  pods: ReadonlyMap<string, DoctorPod>;
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
