/** ProbeJob: one request. */
import Type, { type Static } from 'typebox';
import { MAX_QUEUE_MS, MAX_TIMEOUT_MS } from '../limits.ts';
import { probeReport } from '../tools/probe_report.ts';
import { ENDPOINT_TOOLS, TOOLS, type EndpointTool } from '../tools/table.ts';
import { AGE, conditions, count, millis, oneOf, text, time, type Definition, type Resource } from './resource.ts';

/** `file`, and each tool that has an endpoint of its own. */
export type Kind = 'file' | EndpointTool;
export const KINDS: readonly Kind[] = ['file', ...ENDPOINT_TOOLS];

/** Reasons of the `Succeeded` condition: the State column. Unknown while the job goes on, True only for Completed. */
const REASONS = [
  'Queued',
  'TokenAtLimit',
  'AccountAtLimit',
  'AccountAtShare',
  'NoRunner',
  'IsolationMissing',
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
  'DeadlineExceeded',
  'Cancelled',
  'RunnerLost',
  'InternalError',
] as const;
export type Reason = (typeof REASONS)[number];

export const WAITING: readonly Reason[] = [
  'Queued',
  'TokenAtLimit',
  'AccountAtLimit',
  'AccountAtShare',
  'NoRunner',
  'IsolationMissing',
];

const Source = Type.Object(
  {
    display: Type.Optional(
      text(1024, { description: 'What may be shown of the source: scheme, host and last path segment.' }),
    ),
    sealed: Type.Optional(
      text(24576, { description: 'The whole source as a compact JWE. Only the API server of Probeyard may set it.' }),
    ),
    url: Type.Optional(
      text(4096, {
        minLength: 1,
        description: 'A plain address for jobs made by hand: without user info and without a query.',
      }),
    ),
    secretRef: Type.Optional(
      Type.Object(
        { name: text(253, { minLength: 1 }), key: text(253, { minLength: 1, default: 'url' }) },
        { description: 'A Secret of the same namespace that holds the address, for jobs made by hand.' },
      ),
    ),
  },
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
  name: oneOf(TOOLS),
  version: text(64, { minLength: 1, default: 'latest' }),
  timeoutMs: Type.Optional(millis(MAX_TIMEOUT_MS)),
  // Every option is kept as text: the CRD stays structural and bounded, and the runner's own table gives each its
  // meaning.
  options: Type.Optional(
    Type.Record(Type.String(), text(1024), {
      maxProperties: 64,
      description: 'Options of the tool by their names in the API; every value as text.',
    }),
  ),
});
export type ToolRequest = Static<typeof ToolRequest>;

const Report = Type.Object({
  enabled: Type.Boolean({ default: true }),
  diff: Type.Optional(Type.Boolean()),
  prefer: Type.Optional(oneOf(probeReport.from)),
});

const ProbeJobSpec = Type.Object(
  {
    kind: oneOf(KINDS, { default: 'file' }),
    source: Source,
    token: Type.Optional(
      Type.Object(
        { id: Type.Integer({ minimum: 1 }), user: Type.Integer({ minimum: 1 }) },
        {
          description:
            'Whose request this is. Only the API server of Probeyard may set it; ' +
            'a job without it runs on the default token.',
        },
      ),
    ),
    submittedAt: Type.Optional(time({ description: 'When the API accepted the request, with milliseconds.' })),
    queueTimeoutMs: Type.Optional(millis(MAX_QUEUE_MS)),
    timeoutMs: Type.Optional(millis(MAX_TIMEOUT_MS)),
    tools: Type.Optional(
      Type.Array(ToolRequest, {
        minItems: 1,
        maxItems: 4,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      }),
    ),
    report: Type.Optional(Report),
  },
  {
    'x-kubernetes-validations': [
      { rule: 'self == oldSelf', message: 'the spec of a ProbeJob cannot be changed: make a new one' },
    ],
  },
);
export type ProbeJobSpec = Static<typeof ProbeJobSpec>;

const ProbeJobStatus = Type.Object({
  conditions,
  admittedBy: Type.Optional(
    Type.Object({
      holder: text(253),
      epoch: Type.Integer({ minimum: 0 }),
      token: Type.Optional(Type.Integer({ minimum: 1, description: 'The token that the job holds a slot of.' })),
      account: Type.Optional(
        Type.Integer({ minimum: 1, description: 'The account that the job holds a slot of: its root user.' }),
      ),
    }),
  ),
  startedAt: Type.Optional(time()),
  completedAt: Type.Optional(time()),
  queueTimeMs: Type.Optional(count()),
  durationMs: Type.Optional(count()),
  attempts: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  runner: Type.Optional(Type.Object({ pod: text(253), uid: text(64) })),
  tools: Type.Optional(
    Type.Array(
      Type.Object({
        name: oneOf(TOOLS),
        version: text(64),
        success: Type.Optional(Type.Boolean()),
        durationMs: Type.Optional(count()),
      }),
      { maxItems: 8, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
    ),
  ),
  summary: Type.Optional(text(1024, { description: 'The outcome in one line.' })),
  resultPath: Type.Optional(text(256, { description: 'Where the API gives the result back.' })),
});
export type ProbeJobStatus = Static<typeof ProbeJobStatus>;

export type ProbeJob = Resource<ProbeJobSpec, ProbeJobStatus>;

export const PROBE_JOB: Definition = {
  kind: 'ProbeJob',
  plural: 'probejobs',
  short: 'pj',
  description: 'One request to analyse one source. `kubectl describe pj` tells where it stands and why.',
  spec: ProbeJobSpec,
  status: ProbeJobStatus,
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.kind' },
    { name: 'Source', type: 'string', jsonPath: '.spec.source.display' },
    { name: 'Token', type: 'integer', jsonPath: '.spec.token.id' },
    { name: 'State', type: 'string', jsonPath: ".status.conditions[?(@.type=='Succeeded')].reason" },
    { name: 'Queue', type: 'integer', jsonPath: '.status.queueTimeMs', description: 'Milliseconds in the queue' },
    {
      name: 'Duration',
      type: 'integer',
      jsonPath: '.status.durationMs',
      description: 'Milliseconds from admission to the end',
    },
    AGE,
    { name: 'Runner', type: 'string', jsonPath: '.status.runner.pod', priority: 1 },
    { name: 'Summary', type: 'string', jsonPath: '.status.summary', priority: 1 },
  ],
  selectable: ['.spec.kind', '.spec.token.id'],
};
