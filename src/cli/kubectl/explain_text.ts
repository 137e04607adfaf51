/** Why a job waits or failed: a sentence, and the facts that it rests on. Pure. */
import { duration, age } from '../output/figures.ts';
import { ENDED, WAITING } from './reasons.ts';
import { conditionOf, hasEnded, stateOf, type Event, type Job, type Pool, type Tool } from './resources.ts';

export interface Facts {
  job: Job;
  pools: readonly Pool[];
  tools: readonly Tool[];
  events: readonly Event[];
  now: number;
}
export interface Explanation {
  sentence: string;
  helps: string | null;
  facts: { about: string; says: string }[];
}

const MOST_EVENTS = 10;
/** A leader takes a job in within milliseconds, and writes why it waits after a second. */
const UNSEEN_MS = 5_000;

const poolOf = ({ spec }: Job, pools: readonly Pool[]): Pool | undefined =>
  pools.find((pool) => pool.spec.serves.kinds.includes(spec.kind ?? 'file'));

function sentenceOf({ job, pools, now }: Facts): { says: string; helps?: string | undefined } {
  const state = stateOf(job);
  const message = conditionOf(job, 'Succeeded')?.message ?? job.status?.summary;
  const because = message === undefined || message === '' ? '' : `: ${message}`;
  if (hasEnded(job)) {
    const { says, helps } = ENDED[state] ?? { says: `ended with ${state}` };
    const took = job.status?.durationMs;
    return { says: `${says}${took === undefined ? '' : ` after ${duration(took)}`}${because}`, helps };
  }
  if (state === 'Running') {
    const { startedAt, attempts = 1 } = job.status ?? {};
    const since = startedAt === undefined ? '' : ` for ${duration(now - Date.parse(startedAt))}`;
    return { says: `runs${since}${attempts > 1 ? `, in attempt ${attempts}` : ''}${because}` };
  }
  const waiting = WAITING[state];
  if (waiting) return { says: `${waiting.says}${because}`, helps: waiting.helps };
  const waited = now - Date.parse(job.metadata.creationTimestamp ?? '');
  if (!(waited > UNSEEN_MS)) return { says: 'was just created' };
  if (!poolOf(job, pools))
    return {
      says: `waits, and no pool serves its kind ${job.spec.kind ?? 'file'}`,
      helps: 'spec.serves.kinds of a ProbePool has to name the kind',
    };
  return {
    says: 'was not taken in by any controller',
    helps: 'see whether controller pods run and one of them leads: kubectl get pods,leases',
  };
}

function poolFacts(pool: Pool | undefined): Explanation['facts'] {
  if (!pool) return [];
  const { ready = 0, busy = 0, starting = 0 } = pool.status ?? {};
  const condition = conditionOf(pool, 'Ready');
  return [
    {
      about: `pool ${pool.metadata.name}`,
      says:
        `${ready} ready, ${busy} busy, ${starting} starting, at most ${pool.spec.maxPods ?? '?'}` +
        (condition ? `; ${condition.reason}: ${condition.message}` : ''),
    },
  ];
}

interface AskedTool {
  name: string;
  version?: string;
  success?: boolean;
  durationMs?: number;
}

function toolFacts({ job, tools }: Facts): Explanation['facts'] {
  const asked: readonly AskedTool[] = job.status?.tools ?? job.spec.tools ?? [];
  return asked.map(({ name, version = 'latest', success, durationMs }) => {
    const found = tools.find(
      ({ spec }) => spec.tool === name && (version === 'latest' ? spec.latest : spec.version === version),
    );
    const available = found && conditionOf(found, 'Available');
    const outcome = success === undefined ? '' : success ? 'succeeded' : 'failed';
    const took = durationMs === undefined ? '' : ` in ${duration(durationMs)}`;
    const state = !found
      ? 'there is no such ProbeTool'
      : available?.status === 'True'
        ? 'available'
        : ['not available', available?.reason ?? 'not proven yet', available?.message].filter(Boolean).join(': ');
    return { about: `${name} ${version}`, says: outcome === '' ? state : `${outcome}${took}; ${state}` };
  });
}

const eventFacts = (events: readonly Event[], now: number): Explanation['facts'] =>
  events
    .toSorted((a, b) => Date.parse(b.lastTimestamp ?? '') - Date.parse(a.lastTimestamp ?? ''))
    .slice(0, MOST_EVENTS)
    .map(({ lastTimestamp, reason = '', message = '', count = 1 }) => ({
      about: `Event ${lastTimestamp === undefined ? '' : age(lastTimestamp, now)}`.trim(),
      says: `${reason}: ${message}${count > 1 ? ` (${count} times)` : ''}`,
    }));

export function explain(facts: Facts): Explanation {
  const { job, pools, events, now } = facts;
  const { says, helps = null } = sentenceOf(facts);
  const { metadata, spec, status } = job;
  const about: [string, string | undefined][] = [
    ['source', spec.source?.display ?? spec.source?.url?.split('?')[0]],
    ['kind', spec.kind],
    ['token', spec.token === undefined ? 'the default token' : String(spec.token.id)],
    ['age', metadata.creationTimestamp && age(metadata.creationTimestamp, now)],
    ['queued', status?.queueTimeMs === undefined ? undefined : duration(status.queueTimeMs)],
    ['attempts', status?.attempts === undefined ? undefined : String(status.attempts)],
    ['runner', status?.runner?.pod],
    [
      'policy',
      status?.policy && [status.policy.name, status.policy.outcome, ...(status.policy.failed ?? [])].join(' '),
    ],
    ['result', status?.resultPath],
  ];
  return {
    sentence: `${metadata.name} ${says}`,
    helps,
    facts: [
      ...about.flatMap(([name, value]) => (value === undefined ? [] : [{ about: name, says: value }])),
      ...poolFacts(poolOf(job, pools)),
      ...toolFacts(facts),
      ...eventFacts(events, now),
    ],
  };
}
