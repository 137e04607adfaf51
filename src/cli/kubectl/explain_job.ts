/** Why a job waits, runs or has ended. */
import { age, duration, paint, tableText } from '../output/text_table.ts';
import { conditionOf } from '../../platform/kube/conditions.ts';
import type { Reason, WaitingCause } from '../../platform/kube/probe_job.ts';
import { mayRun, servedKinds } from '../../platform/kube/route.ts';
import { type Event, hasEnded, type Job, type List, type Pool, stateOf, type Tool } from './cluster_resources.ts';
import type { Run } from '../command.ts';
import { EXIT } from '../exits.ts';
import { writeValue } from '../output/write_answer.ts';
import { oneLine } from '../terminal.ts';
import { jobName, kubectlOf, kubectlOfRelease } from './run_kubectl.ts';

/** By the reason in the status of a job. */
interface Said {
  /** After "NAME ". */
  says: string;
  helps?: string;
}

type Waits = WaitingCause | 'Suspended';
const WAITING: Readonly<Record<Waits, Said>> = {
  Suspended: {
    says: 'is suspended',
    helps: `resume it: kubectl patch pj NAME --type merge -p '{"spec":{"suspend":false}}'`,
  },
  Queued: { says: 'waits for its turn' },
  TokenAtLimit: {
    says: 'waits because its token already runs as many jobs as it may at once',
    helps: 'an administrator can raise "concurrency" of the token or its user',
  },
  AccountAtLimit: {
    says: 'waits because its account already runs as many jobs as it may at once',
    helps: 'an administrator can raise "account-concurrency" of the account',
  },
  AccountAtShare: {
    says: 'waits because its account already has its share of the pool, and others wait, too',
    helps: 'raise maxPods or maxPodsPerTenant of the pool',
  },
  NoRunner: {
    says: 'waits because no runner is free for it',
    helps: 'raise maxPods of the pool, or see why its pods do not start: kubectl probeyard pools',
  },
  IsolationMissing: {
    says: 'waits because no runner has the isolation that its pool requires',
    helps: 'kubectl probeyard pools shows which wall is missing',
  },
};

const ENDED: Readonly<Record<Exclude<Reason, Waits | 'Running'>, Said>> = {
  Completed: { says: 'completed' },
  ToolFailed: { says: 'ended, and no tool could make anything of the source' },
  OriginUnreachable: {
    says: 'failed because the origin could not be reached, or refused',
    helps: 'try the address from inside the cluster; credentials belong into the address or a Secret',
  },
  SourceForbidden: {
    says: 'failed because its source is in a network that may not be read',
    helps: 'sources.allow in the values of the chart lists private addresses that may be read',
  },
  SourceTooLarge: {
    says: 'failed because its source is larger than the limit',
    helps: 'an administrator can raise "file-size" of the token or its user',
  },
  ToolUnavailable: {
    says: 'failed because a tool version that it names cannot run',
    helps: 'kubectl probeyard tools lists the versions and what is wrong with them',
  },
  InvalidRequest: { says: 'failed because its spec cannot be processed' },
  TokenInactive: {
    says: 'failed because its token was revoked or has expired, or its account is suspended',
  },
  QuotaExceeded: { says: 'failed because the monthly quota is used up' },
  QueueTimeout: {
    says: 'failed because it waited longer in the queue than it may',
    helps: 'kubectl probeyard top shows what runs and waits',
  },
  QueueFull: {
    says: 'failed because the queue was full, or its account had half of the places',
    helps: 'jobs.maxQueued limits it',
  },
  RateLimited: {
    says: 'failed because too many jobs were created with kubectl in a minute',
    helps: 'jobs.byHandPerMinute limits it',
  },
  DeadlineExceeded: {
    says: 'failed because it did not end in time',
    helps: 'a longer timeoutMs helps where the origin is slow or the file needs to be read as a whole',
  },
  Cancelled: { says: 'was cancelled' },
  RunnerLost: {
    says: 'failed because its runners were lost in every attempt',
    helps: 'the Events of the runner pods say why: out of memory, eviction, a node that went away',
  },
  InternalError: { says: 'failed because of an error inside Probeyard', helps: 'the log of the controller has it' },
};

export interface Facts {
  job: Job;
  pools: readonly Pool[];
  tools: readonly Tool[];
  events: readonly Event[];
  now: number;
}
interface Explanation {
  sentence: string;
  helps: string | null;
  facts: { about: string; says: string }[];
}

const MOST_EVENTS = 10;
/** A leader takes a job in within milliseconds, and writes why it waits after a second. */
const UNSEEN_MS = 5_000;

const poolsOf = ({ metadata: { labels }, spec: { kind, tools = [] } }: Job, pools: readonly Pool[]): Pool[] =>
  mayRun(pools, { kinds: servedKinds({ kind, tools }), labels });

function sentenceOf({ job, pools, now }: Facts): { says: string; helps?: string | undefined } {
  const state = stateOf(job);
  const message = conditionOf(job.status, 'Succeeded')?.message ?? job.status?.summary;
  const because = message === undefined || message === '' ? '' : `: ${message}`;
  if (hasEnded(job)) {
    const { says, helps } = (ENDED as Readonly<Record<string, Said>>)[state] ?? { says: `ended with ${state}` };
    const took = job.status?.durationMs;
    return { says: `${says}${took === undefined ? '' : ` after ${duration(took)}`}${because}`, helps };
  }
  if (state === 'Running') {
    const { startedAt, attempts = 1 } = job.status ?? {};
    const since = startedAt === undefined ? '' : ` for ${duration(now - Date.parse(startedAt))}`;
    return { says: `runs${since}${attempts > 1 ? `, in attempt ${attempts}` : ''}${because}` };
  }
  const waiting = (WAITING as Readonly<Record<string, Said>>)[state];
  if (waiting) return { says: `${waiting.says}${because}`, helps: waiting.helps };
  const waited = now - Date.parse(job.metadata.creationTimestamp ?? '');
  if (!(waited > UNSEEN_MS)) return { says: 'was just created' };
  if (poolsOf(job, pools).length === 0)
    return {
      says: `waits, and no pool serves its kind ${job.spec.kind}`,
      helps:
        'spec.serves.kinds of a ProbePool has to name the kind; for the job of a tenant --release-namespace says ' +
        'where the pools are',
    };
  return {
    says: 'was not taken in by any controller',
    helps: 'see whether controller pods run and one of them leads: kubectl get pods,leases',
  };
}

function poolFact(pool: Pool): Explanation['facts'][number] {
  const { ready = 0, busy = 0, starting = 0 } = pool.status ?? {};
  const condition = conditionOf(pool.status, 'Ready');
  return {
    about: `pool ${pool.metadata.name}`,
    says:
      `${ready} ready, ${busy} busy, ${starting} starting, at most ${pool.spec.maxPods}` +
      (condition ? `; ${condition.reason}: ${condition.message}` : ''),
  };
}

type AskedTool = NonNullable<NonNullable<Job['status']>['tools']>[number];

function toolFacts({ job, tools }: Facts): Explanation['facts'] {
  const asked: readonly AskedTool[] = job.status?.tools ?? job.spec.tools ?? [];
  return asked.map(({ name, version = 'latest', success, durationMs }) => {
    const found = tools.find(
      ({ spec }) => spec.tool === name && (version === 'latest' ? spec.latest : spec.version === version),
    );
    const available = found && conditionOf(found.status, 'Available');
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
    ['source', spec.source.url?.split('?')[0] ?? spec.source.display],
    ['kind', spec.kind],
    ['token', String(spec.token?.id ?? status?.admittedBy?.token ?? 'that of its namespace')],
    ['creator', spec.createdBy],
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
      ...poolsOf(job, pools).map(poolFact),
      ...toolFacts(facts),
      ...eventFacts(events, now),
    ],
  };
}

const run: Run = async (invocation) => {
  const { terminal, positionals } = invocation;
  const kubectl = kubectlOf(invocation);
  const name = jobName(positionals[0]!);
  const job = await kubectl.get<Job>('probejob', name);
  const release = kubectlOfRelease(invocation);
  const [pools, tools, events] = await Promise.all([
    release.get<List<Pool>>('probepools'),
    release.get<List<Tool>>('probetools'),
    kubectl.get<List<Event>>('events', `--field-selector=involvedObject.uid=${job.metadata.uid}`),
  ]);
  const made = explain({ job, pools: pools.items, tools: tools.items, events: events.items, now: Date.now() });
  const help = made.helps === null ? '' : `  ${oneLine(made.helps)}\n`;
  const rows = made.facts.map(({ about, says }) => [about, says]);
  const head = `${paint(terminal, 'bold', oneLine(made.sentence))}\n${help}\n`;
  await writeValue(invocation, made, () => head + tableText(terminal, ['FACT', 'VALUE'], rows));
  return EXIT.done;
};
export default run;
