/**
 * State of the cluster as known to the leader: requested over NATS, returned by `GET cluster`. Accounts, jobs and pods
 * are ids and names; it contains no source, credential or e-mail address.
 */
import Type, { type Static } from 'typebox';
import { count, eitherOrNull as orNull, oneOf } from '../../base/schema_parts.ts';
import { SERVED_KINDS, WALLS } from '../kube/probe_pool.ts';
import { TOOLS } from '../../media/tools/table.ts';
import { RUNNER_PHASES, RUNNER_STATES } from './runner_phase.ts';

/** Maximum size of a snapshot as JSON. Entries that do not fit are left out by rank, and counted. */
export const SNAPSHOT_BYTES = 256 * 1024;
/** Younger snapshots are reused. */
export const SNAPSHOT_EVERY_MS = 1_000;
/** Older snapshots are reported as stale. */
export const SNAPSHOT_STALE_MS = 10_000;

/**
 * Maximum entries per list, and their bytes as JSON. With the rest of the snapshot, the sum stays below SNAPSHOT_BYTES.
 */
export const SNAPSHOT_LISTS = {
  pools: { most: 50, bytes: 40 * 1024 },
  runners: { most: 500, bytes: 136 * 1024 },
  tools: { most: 200, bytes: 36 * 1024 },
  accounts: { most: 200, bytes: 16 * 1024 },
  events: { most: 100, bytes: 20 * 1024 },
} as const;
export type SnapshotList = keyof typeof SNAPSHOT_LISTS;

const time = Type.String({ format: 'date-time' });
const text = Type.String();
const milliseconds = (description: string) => orNull(Type.Integer({ minimum: 0 }), description);

const SnapshotCondition = {
  status: oneOf(['True', 'False', 'Unknown']),
  reason: text,
  message: text,
};

const SnapshotPool = Type.Object(
  {
    name: text,
    kinds: Type.Array(oneOf(SERVED_KINDS)),
    ready: count('Runners that could take a job now.'),
    untouched: count('Of the ready ones: no tenant has used them.'),
    busy: count(),
    starting: count(),
    ending: count('Runners that finish their job and go, or are being deleted.'),
    'min-ready': count('Untouched runners to keep ready.'),
    max: count('Runners that the pool may have.'),
    waiting: count('Jobs that wait for this pool, for whatever reason.'),
    condition: orNull(
      Type.Object({ ...SnapshotCondition, since: time }),
      'The condition Ready of the ProbePool. Absent: not written yet.',
    ),
    short: orNull(text, 'Why the pool has fewer free runners than it should. Absent: it has enough.'),
    isolation: Type.Array(Type.Object({ wall: oneOf(WALLS), required: Type.Boolean(), ...SnapshotCondition }), {
      description: 'The walls that confine the runners.',
    }),
    ended: Type.Array(Type.Object({ why: text, count: count() }), {
      description: 'Runner pods that the leader ended in its term, by reason.',
    }),
  },
  { title: 'ClusterPool' },
);
export type SnapshotPool = Static<typeof SnapshotPool>;

const SnapshotRunner = Type.Object(
  {
    pod: text,
    pool: text,
    node: orNull(text, 'Absent: not scheduled yet.'),
    state: oneOf(RUNNER_STATES),
    phase: orNull(oneOf(RUNNER_PHASES), 'As the runner last reported it. Absent: it has not reported yet.'),
    since: orNull(time, 'When the state began, as far as the leader knows.'),
    account: orNull(Type.Integer(), 'The account of its latest job: the id of the root user. Absent: it had no job.'),
    job: orNull(text, 'The ProbeJob that it has.'),
    'request-id': orNull(text, 'The request of that job. Absent: the leader does not know the job.'),
    'jobs-done': count(),
  },
  { title: 'ClusterRunner' },
);
export type SnapshotRunner = Static<typeof SnapshotRunner>;

export const TOOL_STATES = ['ready', 'proving', 'refused', 'degraded'] as const;
const SnapshotTool = Type.Object(
  {
    tool: oneOf(TOOLS),
    version: text,
    latest: Type.Boolean({ description: 'Requests that name no version get this one.' }),
    reported: orNull(text, 'The version output of the binary.'),
    state: oneOf(
      TOOL_STATES,
      'proving: no verdict yet. refused: its proof failed. degraded: proven, but its image cannot be pulled now.',
    ),
    since: orNull(time),
    why: orNull(text, 'Why it is not ready.'),
    'startup-ms': milliseconds('Of the slowest architecture. Absent: not measured.'),
    architectures: Type.Array(text),
  },
  { title: 'ClusterTool' },
);
export type SnapshotTool = Static<typeof SnapshotTool>;

const SnapshotAccount = Type.Object(
  {
    account: Type.Integer({ description: 'The id of the root user.' }),
    waiting: count(),
    running: count(),
    limit: orNull(Type.Integer(), 'Jobs of the account that may run at once. Absent: no limit, or not known.'),
    'oldest-wait-ms': milliseconds('Absent: none of its jobs waits.'),
  },
  { title: 'ClusterAccount' },
);
export type SnapshotAccount = Static<typeof SnapshotAccount>;

const SnapshotTerm = Type.Object(
  {
    pod: text,
    epoch: count('The number of the term.'),
    since: Type.String({ format: 'date-time', description: 'When the lease was acquired.' }),
  },
  { title: 'ClusterTerm' },
);

const SnapshotEvent = Type.Object(
  {
    at: time,
    kind: text,
    object: text,
    reason: text,
    message: text,
    count: Type.Integer({ minimum: 1, description: 'How often it happened; `at` is the last time.' }),
  },
  { title: 'ClusterEvent' },
);
export type SnapshotEvent = Static<typeof SnapshotEvent>;

const Dependency = Type.Object({
  name: oneOf(['postgres', 'nats', 'kubernetes']),
  up: Type.Boolean(),
  since: orNull(time, 'When the leader saw the last change. Absent: none in this term.'),
});
export type SnapshotDependency = Static<typeof Dependency>;

export const ClusterSnapshot = Type.Object({
  at: Type.String({ format: 'date-time', description: 'When the leader made it.' }),
  leader: Type.Object({
    pod: text,
    epoch: count('The number of its term.'),
    since: Type.String({ format: 'date-time', description: 'When its term began.' }),
    release: Type.String({ description: 'The image that it runs.' }),
  }),
  terms: Type.Array(SnapshotTerm, {
    description: 'The last terms of leaders, at most 10, that of this leader first. They outlive restarts.',
  }),
  pools: Type.Array(SnapshotPool),
  runners: Type.Array(SnapshotRunner, { description: 'Busy ones first.' }),
  tools: Type.Array(SnapshotTool, { description: 'Those that are not ready first.' }),
  'tools-ready': count('Tool versions that are ready, of all that there are.'),
  'tools-total': count(),
  queue: Type.Object({
    waiting: count(),
    running: count(),
    'oldest-wait-ms': milliseconds('Absent: no job waits.'),
    accounts: Type.Array(SnapshotAccount, { description: 'Those with the most waiting jobs first.' }),
  }),
  faults: Type.Object(
    {
      'attempts-lost': count('Attempts that were lost with their runner.'),
      'jobs-lost': count('Jobs that ended because their runners were lost, or with an internal error.'),
      'proofs-failed': count('Proofs of tool versions that failed.'),
      dependencies: Type.Array(Dependency),
      events: Type.Array(SnapshotEvent, { description: 'The latest first. Repeated ones are counted.' }),
    },
    { description: 'In the term of this leader.' },
  ),
  'left-out': Type.Object(
    { pools: count(), runners: count(), tools: count(), accounts: count(), events: count() },
    { description: 'Entries that did not fit, by list. The counts above include them.' },
  ),
});
export type ClusterSnapshot = Static<typeof ClusterSnapshot>;
