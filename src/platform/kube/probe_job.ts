/** ProbeJob: one request. */
import Type, { type Static } from 'typebox';
import { MAX_QUEUE_MS, MAX_TIMEOUT_MS } from '../../base/limits.ts';
import { OUTCOMES } from '../../media/policy/types.ts';
import { FRAMES, probeReport } from '../../media/tools/probe_report.ts';
import { ENDPOINT_TOOLS, TOOLS, type EndpointTool } from '../../media/tools/table.ts';
import { MAX_POLICY_NAME, SHARED_PREFIX } from './probe_policy.ts';
import {
  AGE,
  conditions,
  count,
  GROUP,
  millis,
  oneOf,
  shownText,
  text,
  time,
  type Definition,
  type Resource,
} from './resource.ts';

/** `file`, each tool with an endpoint of its own, and `compare`: several versions of one tool, or two sources. */
export type Kind = 'file' | EndpointTool | 'compare';
export const KINDS: readonly Kind[] = ['file', ...ENDPOINT_TOOLS, 'compare'];

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

const sealed = (what: string) =>
  text(24576, { description: `${what} as a compact JWE. Only the API server of Probeyard may set it.` });

const Source = Type.Object(
  {
    display: Type.Optional(
      shownText(1024, {
        default: '-',
        description:
          'What may be shown of the source: scheme, host and last path segment. No control or bidirectional marks.',
      }),
    ),
    sealed: Type.Optional(sealed('The whole source')),
    url: Type.Optional(
      text(4096, {
        minLength: 1,
        description: 'A plain address for jobs made by hand: without user info and without a query.',
      }),
    ),
    secretRef: Type.Optional(
      Type.Object(
        {
          name: text(253, {
            minLength: 1,
            description: 'Name of the Secret. It has the label probeyard.dev/source=true.',
          }),
          key: text(253, { minLength: 1, default: 'url', description: 'Key of the address in it.' }),
        },
        { description: 'A Secret of the same namespace that holds the address, for jobs made by hand.' },
      ),
    ),
  },
  {
    description: 'What is analysed.',
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
  name: oneOf(TOOLS, { description: 'The tool.' }),
  version: text(64, {
    minLength: 1,
    default: 'latest',
    description: '`latest`, an exact version, or the newest that begins with it: `6`.',
  }),
  timeoutMs: Type.Optional(
    millis(MAX_TIMEOUT_MS, { description: 'Milliseconds that the tool may take, within those of the job.' }),
  ),
  // Options are stored as text: this keeps the CRD structural and bounded, and the runner's table interprets them.
  options: Type.Optional(
    Type.Record(Type.String(), text(1024), {
      maxProperties: 64,
      description: 'Options of the tool by their names in the API; every value as text.',
    }),
  ),
});
export type ToolRequest = Static<typeof ToolRequest>;

const Report = Type.Object(
  {
    enabled: Type.Boolean({ default: true, description: 'Whether it is made.' }),
    diff: Type.Optional(Type.Boolean({ description: 'Whether it lists where the tools disagree.' })),
    prefer: Type.Optional(
      oneOf(probeReport.from, { description: 'The tool whose values it has where both have one.' }),
    ),
    frames: Type.Optional(oneOf(FRAMES, { description: 'When pictures are decoded for it.' })),
  },
  { description: 'The report that compares the tools.' },
);

/** A policy name. The longest are those of ProbePolicy objects with the prefix `shared/`. */
const policyName = text(SHARED_PREFIX.length + MAX_POLICY_NAME, {
  minLength: 1,
  pattern: '^(shared/)?[a-z0-9]([-a-z0-9._]*[a-z0-9])?$',
  description: 'Name of the policy; shared/NAME for a ProbePolicy.',
});
const policyRevision = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Its revision; the newest if it is not set.' }),
);

const PolicyRequest = Type.Object(
  {
    name: Type.Optional(policyName),
    revision: policyRevision,
    digest: Type.Optional(
      text(64, {
        pattern: '^[0-9a-f]{64}$',
        description:
          'SHA-256 of the policy as the API keeps it. Only the API server of Probeyard may set it; ' +
          'a job made by hand names a shared policy.',
      }),
    ),
  },
  {
    description: 'The policy to judge the result by.',
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

/** In `spec.managedBy`: the controller of Probeyard, as if it were not set. */
const CONTROLLER = `${GROUP}/controller`;

const specFields = {
  kind: oneOf(KINDS, {
    default: 'file',
    description: 'What is done: file is a probe, compare one of several versions or of two sources; others are tools.',
  }),
  source: Source,
  other: Type.Optional(
    Type.Object({ sealed: sealed('The whole source') }, { description: 'The second source of a comparison of two.' }),
  ),
  token: Type.Optional(
    Type.Object(
      {
        id: Type.Integer({ minimum: 1, description: 'Id of the token.' }),
        user: Type.Integer({ minimum: 1, description: 'Id of its user.' }),
      },
      {
        description:
          'Whose request this is. Only the API server of Probeyard may set it; ' +
          'a job without it runs on the default token, or on one of the account that its namespace is bound to.',
      },
    ),
  ),
  createdBy: Type.Optional(
    shownText(512, {
      description:
        'The Kubernetes user who created the job with kubectl. An admission policy refuses a name that is not ' +
        'theirs, and a job of a tenant without one.',
    }),
  ),
  submittedAt: Type.Optional(time({ description: 'When the API accepted the request, with milliseconds.' })),
  queueTimeoutMs: Type.Optional(
    millis(MAX_QUEUE_MS, { description: 'Milliseconds in the queue after which it ends with QueueTimeout.' }),
  ),
  timeoutMs: Type.Optional(
    millis(MAX_TIMEOUT_MS, {
      description: 'Milliseconds from its admission after which it ends with DeadlineExceeded.',
    }),
  ),
  tools: Type.Optional(
    Type.Array(ToolRequest, {
      minItems: 1,
      maxItems: MOST_TOOLS,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name', 'version'],
      description: 'The tools to run, side by side; those of the kind if it is not set.',
    }),
  ),
  report: Type.Optional(Report),
  policy: Type.Optional(PolicyRequest),
  timeline: Type.Optional(
    Type.Object(
      { enabled: Type.Boolean({ default: true, description: 'Whether it is made.' }) },
      { description: 'One more run of ffprobe, over all packets: bit rate, key frames, gaps and jumps over time.' },
    ),
  ),
  ttlSecondsAfterFinished: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 604_800,
      description:
        'Seconds that a job made by hand is kept when it has ended; 600 if it is not set (values: jobs.finished). ' +
        'The oldest go earlier if there are too many, but none within five minutes. The result stays in the record.',
    }),
  ),
  suspend: Type.Optional(
    Type.Boolean({
      description:
        'True: the job waits, counts for no limit, and its time in the queue begins when this becomes false. It ' +
        'cannot become true again.',
    }),
  ),
  managedBy: Type.Optional(
    text(63, {
      pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$',
      description: `The controller that the job is for. One for another than ${CONTROLLER} is left alone.`,
    }),
  ),
};

/** A field is as it was, or not there as before. */
const kept = (name: string): string =>
  `has(self.${name}) == has(oldSelf.${name}) && (!has(self.${name}) || self.${name} == oldSelf.${name})`;

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

const PolicyStatus = Type.Object(
  {
    name: Type.Optional(policyName),
    revision: policyRevision,
    outcome: oneOf(OUTCOMES, { description: 'The outcome of the policy.' }),
    failed: Type.Optional(
      Type.Array(text(100), {
        maxItems: MOST_FAILED,
        'x-kubernetes-list-type': 'atomic',
        description: `Rules that do not pass, at most ${MOST_FAILED} of them.`,
      }),
    ),
  },
  { description: 'The verdict of the policy.' },
);
export type PolicyStatus = Static<typeof PolicyStatus>;

const ProbeJobStatus = Type.Object(
  {
    conditions,
    admittedBy: Type.Optional(
      Type.Object(
        {
          holder: text(253, { description: 'The controller.' }),
          epoch: Type.Integer({ minimum: 0, description: 'Its term as leader.' }),
          token: Type.Optional(Type.Integer({ minimum: 1, description: 'The token that the job holds a slot of.' })),
          account: Type.Optional(
            Type.Integer({ minimum: 1, description: 'The account that the job holds a slot of: its root user.' }),
          ),
        },
        { description: 'Who admitted it.' },
      ),
    ),
    startedAt: Type.Optional(time({ description: 'When it was admitted first.' })),
    completedAt: Type.Optional(time({ description: 'When it ended.' })),
    batch: Type.Optional(text(64, { description: 'Finished jobs of one batch are deleted together.' })),
    queueTimeMs: Type.Optional(count({ description: 'Milliseconds in the queue.' })),
    durationMs: Type.Optional(count({ description: 'Milliseconds from its admission to its end.' })),
    attempts: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 100, description: 'How often it ran: again when its runner is lost.' }),
    ),
    runner: Type.Optional(
      Type.Object(
        { pod: text(253, { description: 'Its pod.' }), uid: text(64, { description: 'Id of the pod, and its life.' }) },
        { description: 'The runner of the last attempt.' },
      ),
    ),
    tools: Type.Optional(
      Type.Array(
        Type.Object({
          name: oneOf(TOOLS, { description: 'The tool.' }),
          version: text(64, { description: 'Its exact version.' }),
          success: Type.Optional(Type.Boolean({ description: 'Whether it succeeded.' })),
          durationMs: Type.Optional(count({ description: 'Milliseconds that it ran.' })),
        }),
        {
          maxItems: 16,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name', 'version'],
          description: 'The tools that run or ran.',
        },
      ),
    ),
    policy: Type.Optional(PolicyStatus),
    summary: Type.Optional(text(1024, { description: 'The outcome in one line.' })),
    resultPath: Type.Optional(text(256, { description: 'Where the API gives the result back.' })),
  },
  OWNED_AS_ONE,
);
export type ProbeJobStatus = Static<typeof ProbeJobStatus>;

export type ProbeJob = Resource<ProbeJobSpec, ProbeJobStatus>;

/** False: another controller looks after it, and whoever may create a job may have written its status. */
export const isOurs = ({ spec: { managedBy = CONTROLLER } }: ProbeJob): boolean => managedBy === CONTROLLER;

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
    { name: 'Creator', type: 'string', jsonPath: '.spec.createdBy' },
    { name: 'State', type: 'string', jsonPath: ".status.conditions[?(@.type=='Succeeded')].reason" },
    { name: 'Queue', type: 'integer', jsonPath: '.status.queueTimeMs', description: 'Milliseconds in the queue' },
    {
      name: 'Duration',
      type: 'integer',
      jsonPath: '.status.durationMs',
      description: 'Milliseconds from admission to the end',
    },
    { name: 'Policy', type: 'string', jsonPath: '.status.policy.outcome' },
    AGE,
    { name: 'Runner', type: 'string', jsonPath: '.status.runner.pod', priority: 1 },
    { name: 'Summary', type: 'string', jsonPath: '.status.summary', priority: 1 },
  ],
  selectable: ['.spec.kind', '.spec.token.id', '.status.batch'],
};
