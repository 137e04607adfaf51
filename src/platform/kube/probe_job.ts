/** ProbeJob: one request. */
import Type, { type Static } from 'typebox';
import { MAX_QUEUE_MS, MAX_TIMEOUT_MS, MOST_OF_CHUNK } from '../../base/limits.ts';
import { OUTCOMES } from '../../media/policy/types.ts';
import { FRAMES, probeReport } from '../../media/tools/probe_report.ts';
import { ENDPOINT_TOOLS, TOOLS, type EndpointTool } from '../../media/tools/table.ts';
import { MAX_POLICY_NAME, SHARED_PREFIX } from './probe_policy.ts';
import {
  AGE,
  conditions,
  count,
  createdBy,
  flag,
  integer,
  kept,
  listOf,
  managedBy,
  mapOf,
  millis,
  object,
  oneOf,
  optional,
  shownText,
  text,
  time,
  type Definition,
  type Resource,
} from './resource.ts';

/** `file`, each tool with an endpoint of its own, and `compare`: several versions of one tool, or two sources. */
export type Kind = 'file' | EndpointTool | 'compare';
export const KINDS: readonly Kind[] = ['file', ...ENDPOINT_TOOLS, 'compare'];

/** The kind, in the record, of a request that was answered from the cache: it had no job. */
export const CACHED = 'cached';
export type RecordedKind = Kind | typeof CACHED;
export const RECORDED_KINDS: readonly RecordedKind[] = [...KINDS, CACHED];

/** Maximum number of tools of a job; for a comparison, of runs. */
export const MOST_TOOLS = 8;

/** Reasons why a job waits. */
export const WAITING = [
  'Queued',
  'TokenAtLimit',
  'AccountAtLimit',
  'AccountAtShare',
  'NoRunner',
  'IsolationMissing',
] as const;
export type WaitingCause = (typeof WAITING)[number];

/**
 * Reasons of the `Succeeded` condition, shown in the State column. The condition is Unknown until the job ends, and
 * True only for Completed.
 */
const REASONS = [
  ...WAITING,
  'Suspended',
  'Running',
  'Completed',
  'ToolFailed',
  'OriginUnreachable',
  'SourceForbidden',
  'SourceTooLarge',
  'ToolUnavailable',
  'InvalidRequest',
  'TokenInactive',
  'QuotaExceeded',
  'QueueTimeout',
  'QueueFull',
  'RateLimited',
  'DeadlineExceeded',
  'Cancelled',
  'RunnerLost',
  'InternalError',
] as const;
export type Reason = (typeof REASONS)[number];

const sealed = (what: string) => text(24576, `${what} as a compact JWE. Only the API server of Probeyard may set it.`);

const Source = object(
  optional({
    display: shownText(
      1024,
      'What may be shown of the source: scheme, host and last path segment. No control or bidirectional marks.',
      { default: '-' },
    ),
    sealed: sealed('The whole source'),
    url: text(4096, 'A plain address for jobs made by hand: without user info and without a query.', { minLength: 1 }),
    secretRef: object(
      {
        name: text(253, 'Name of the Secret. It has the label probeyard.dev/source=true.', { minLength: 1 }),
        key: text(253, 'Key of the address in it.', { minLength: 1, default: 'url' }),
      },
      'A Secret of the same namespace that holds the address, for jobs made by hand.',
    ),
  }),
  'What is analysed.',
  {
    'x-kubernetes-validations': [
      {
        rule: '(has(self.sealed) ? 1 : 0) + (has(self.url) ? 1 : 0) + (has(self.secretRef) ? 1 : 0) == 1',
        message: 'exactly one of url, secretRef and sealed is needed',
      },
      {
        rule:
          "!has(self.url) || (!self.url.contains('?') && !self.url.contains('#') && " +
          "!self.url.matches('^[A-Za-z0-9+.-]+://[^/]*@'))",
        message:
          'url must have no user info, query or fragment: put such an address into a Secret and name it in secretRef',
      },
    ],
  },
);

const ToolRequest = Type.Object({
  name: oneOf(TOOLS, 'The tool.'),
  version: text(64, '`latest`, an exact version, or the newest that begins with it: `6`.', {
    minLength: 1,
    default: 'latest',
  }),
  timeoutMs: Type.Optional(millis(MAX_TIMEOUT_MS, 'Milliseconds that the tool may take, within those of the job.')),
  // Options are stored as text: this keeps the CRD structural and bounded, and the runner's table interprets them.
  options: Type.Optional(
    Type.Record(Type.String(), text(1024), {
      maxProperties: 64,
      description: 'Options of the tool by their names in the API; every value as text.',
    }),
  ),
});
export type ToolRequest = Static<typeof ToolRequest>;

const Report = object(
  {
    enabled: flag('Whether it is made.', { default: true }),
    diff: Type.Optional(flag('Whether it lists where the tools disagree.')),
    prefer: Type.Optional(oneOf(probeReport.from, 'The tool whose values it has where both have one.')),
    frames: Type.Optional(oneOf(FRAMES, 'When pictures are decoded for it.')),
  },
  'The report that compares the tools.',
);

/** A policy name. The longest are those of ProbePolicy objects with the prefix `shared/`. */
const policyName = text(SHARED_PREFIX.length + MAX_POLICY_NAME, 'Name of the policy; shared/NAME for a ProbePolicy.', {
  minLength: 1,
  pattern: '^(shared/)?[a-z0-9]([-a-z0-9._]*[a-z0-9])?$',
});
const policyRevision = Type.Optional(integer(1, 2_147_483_647, 'Its revision; the newest if it is not set.'));

const PolicyRequest = object(
  {
    name: Type.Optional(policyName),
    revision: policyRevision,
    digest: Type.Optional(
      text(
        64,
        'SHA-256 of the policy as the API keeps it. Only the API server of Probeyard may set it; ' +
          'a job made by hand names a shared policy.',
        { pattern: '^[0-9a-f]{64}$' },
      ),
    ),
  },
  'The policy to judge the result by.',
  {
    'x-kubernetes-validations': [
      { rule: 'has(self.name) || has(self.digest)', message: 'a policy needs a name: shared/NAME' },
    ],
  },
);
export type PolicyRequest = Static<typeof PolicyRequest>;

/**
 * The API server notes who wrote each field, on every write. One writer owns all fields of a job's spec, and one all of
 * its status, so it is noted for both as a whole: an object is smaller, and a write cheaper (bench/kube/fields.ts).
 */
const OWNED_AS_ONE = { 'x-kubernetes-map-type': 'atomic' };

const specFields = {
  kind: oneOf(
    KINDS,
    'What is done: file is a probe, compare one of several versions or of two sources; others are tools.',
    { default: 'file' },
  ),
  source: Source,
  ...optional({
    other: object({ sealed: sealed('The whole source') }, 'The second source of a comparison of two.'),
    items: integer(
      2,
      MOST_OF_CHUNK,
      'Of a chunk of a batch: how many sources the sealed text has, each with a request of its own. They are read ' +
        'one after the other. Only the API server of Probeyard may set it.',
    ),
    token: object(
      {
        id: Type.Integer({ minimum: 1, description: 'Id of the token.' }),
        user: Type.Integer({ minimum: 1, description: 'Id of its user.' }),
      },
      'Whose request this is. Only the API server of Probeyard may set it; ' +
        'a job without it runs on the default token, or on one of the account that its namespace is bound to.',
    ),
    createdBy,
    background: flag('True: an item of a batch. Jobs that callers wait for are admitted before it, most of the time.'),
    submittedAt: time('When the API accepted the request, with milliseconds.'),
    queueTimeoutMs: millis(MAX_QUEUE_MS, 'Milliseconds in the queue after which it ends with QueueTimeout.'),
    timeoutMs: millis(MAX_TIMEOUT_MS, 'Milliseconds from its admission after which it ends with DeadlineExceeded.'),
    tools: mapOf(
      ToolRequest,
      ['name', 'version'],
      MOST_TOOLS,
      'The tools to run, side by side; those of the kind if it is not set.',
      { minItems: 1 },
    ),
    report: Report,
    policy: PolicyRequest,
    timeline: object(
      { enabled: flag('Whether it is made.', { default: true }) },
      'One more run of ffprobe, over all packets: bit rate, key frames, gaps and jumps over time.',
    ),
    ttlSecondsAfterFinished: integer(
      0,
      604_800,
      'Seconds that a job made by hand is kept when it has ended; 600 if it is not set (values: jobs.finished). ' +
        'The oldest go earlier if there are too many, but none within five minutes. The result stays in the record.',
    ),
    suspend: flag(
      'True: the job waits, counts for no limit, and its time in the queue begins when this becomes false. It ' +
        'cannot become true again.',
    ),
    managedBy,
  }),
};

const ProbeJobSpec = Type.Object(specFields, {
  ...OWNED_AS_ONE,
  'x-kubernetes-validations': [
    {
      rule: `self == oldSelf || (${Object.keys(specFields)
        .filter((name) => name !== 'suspend')
        .map(kept)
        .join(' && ')})`,
      message: 'the spec of a ProbeJob cannot be changed, except for suspend: make a new one',
    },
    {
      rule: '!has(self.suspend) || !self.suspend || (has(oldSelf.suspend) && oldSelf.suspend)',
      message: 'only a new job can be suspended: delete this one',
    },
    {
      rule:
        "self.kind == 'compare' || !has(self.tools) || " +
        'self.tools.all(t, self.tools.exists_one(u, u.name == t.name))',
      message: 'two versions of one tool are only possible with the kind compare',
    },
  ],
});
export type ProbeJobSpec = Static<typeof ProbeJobSpec>;

/** Maximum number of failed rules named in a status. The full verdict is in the result. */
export const MOST_FAILED = 20;

const PolicyStatus = object(
  {
    name: Type.Optional(policyName),
    revision: policyRevision,
    outcome: oneOf(OUTCOMES, 'The outcome of the policy.'),
    failed: Type.Optional(listOf(text(100), MOST_FAILED, `Rules that do not pass, at most ${MOST_FAILED} of them.`)),
  },
  'The verdict of the policy.',
);
export type PolicyStatus = Static<typeof PolicyStatus>;

const ProbeJobStatus = Type.Object(
  {
    conditions,
    ...optional({
      admittedBy: object(
        {
          holder: text(253, 'The controller.'),
          epoch: Type.Integer({ minimum: 0, description: 'Its term as leader.' }),
          token: Type.Optional(Type.Integer({ minimum: 1, description: 'The token that the job holds a slot of.' })),
          account: Type.Optional(
            Type.Integer({ minimum: 1, description: 'The account that the job holds a slot of: its root user.' }),
          ),
        },
        'Who admitted it.',
      ),
      startedAt: time('When it was admitted first.'),
      completedAt: time('When it ended.'),
      batch: text(64, 'Finished jobs of one batch are deleted together.'),
      queueTimeMs: count('Milliseconds in the queue.'),
      durationMs: count('Milliseconds from its admission to its end.'),
      progress: integer(
        0,
        100,
        'While it runs: percent of the declared duration that content checks have decoded. Not of short jobs.',
      ),
      attempts: integer(0, 100, 'How often it ran: again when its runner is lost.'),
      runner: object(
        { pod: text(253, 'Its pod.'), uid: text(64, 'Id of the pod, and its life.') },
        'The runner of the last attempt.',
      ),
      tools: mapOf(
        Type.Object({
          name: oneOf(TOOLS, 'The tool.'),
          version: text(64, 'Its exact version.'),
          success: Type.Optional(flag('Whether it succeeded.')),
          durationMs: Type.Optional(count('Milliseconds that it ran.')),
        }),
        ['name', 'version'],
        16,
        'The tools that run or ran.',
      ),
      policy: PolicyStatus,
      summary: text(1024, 'The outcome in one line.'),
      resultPath: text(256, 'Where the API gives the result back.'),
    }),
  },
  OWNED_AS_ONE,
);
export type ProbeJobStatus = Static<typeof ProbeJobStatus>;

export type ProbeJob = Resource<ProbeJobSpec, ProbeJobStatus>;

export const PROBE_JOB: Definition = {
  kind: 'ProbeJob',
  plural: 'probejobs',
  short: 'pj',
  description: 'One request to analyse one source. `kubectl describe pj` tells where it stands and why.',
  spec: ProbeJobSpec,
  status: ProbeJobStatus,
  statusInObject: true,
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.kind' },
    { name: 'Source', type: 'string', jsonPath: '.spec.source.display' },
    { name: 'Token', type: 'integer', jsonPath: '.spec.token.id', description: 'Its token; none: made with kubectl' },
    { name: 'State', type: 'string', jsonPath: ".status.conditions[?(@.type=='Succeeded')].reason" },
    { name: 'Queue', type: 'integer', jsonPath: '.status.queueTimeMs', description: 'Milliseconds in the queue' },
    {
      name: 'Duration',
      type: 'integer',
      jsonPath: '.status.durationMs',
      description: 'Milliseconds from admission to the end',
    },
    {
      name: 'Progress',
      type: 'integer',
      jsonPath: '.status.progress',
      description: 'Percent of the duration that content checks have decoded',
    },
    { name: 'Policy', type: 'string', jsonPath: '.status.policy.outcome' },
    AGE,
    { name: 'Creator', type: 'string', jsonPath: '.spec.createdBy', priority: 1 },
    { name: 'Runner', type: 'string', jsonPath: '.status.runner.pod', priority: 1 },
    { name: 'Summary', type: 'string', jsonPath: '.status.summary', priority: 1 },
  ],
  selectable: ['.spec.kind', '.spec.token.id', '.status.batch'],
};
