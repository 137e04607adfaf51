/** The custom resources: one description each, from which the types, the CRDs (crd.ts) and the checks come. */
import Type, { type Static, type TSchema } from 'typebox';
import { MAX_QUEUE_MS, MAX_TIMEOUT_MS } from '../limits.ts';
import { probeReport } from '../tools/probe_report.ts';
import { PROOF_LIMITS } from '../tools/proof.ts';
import { ENDPOINT_TOOLS, TOOLS, type EndpointTool } from '../tools/table.ts';

export const GROUP = 'probeyard.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Label keys that the controller sets; the prefix is ours alone. */
export const LABEL = {
  token: `${GROUP}/token`,
  kind: `${GROUP}/kind`,
  pool: `${GROUP}/pool`,
  generation: `${GROUP}/generation`,
  tool: `${GROUP}/tool`,
  /** Of a Secret that jobs may name as their source. */
  source: `${GROUP}/source`,
  component: 'app.kubernetes.io/component',
  managedBy: 'app.kubernetes.io/managed-by',
} as const;

const oneOf = <const T extends string>(values: readonly T[], options: object = {}) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], ...options });

const text = (maxLength: number, options: object = {}) => Type.String({ maxLength, ...options });
const millis = (maximum: number, options: object = {}) => Type.Integer({ minimum: 1, maximum, ...options });
const time = (options: object = {}) => Type.String({ format: 'date-time', maxLength: 40, ...options });
const count = (options: object = {}) => Type.Integer({ minimum: 0, maximum: 2_147_483_647, ...options });

const Condition = Type.Object({
  type: text(316),
  status: oneOf(['True', 'False', 'Unknown']),
  reason: text(1024, { minLength: 1 }),
  message: text(32768),
  lastTransitionTime: time(),
  observedGeneration: Type.Optional(Type.Integer({ minimum: 0 })),
});
export type Condition = Static<typeof Condition>;

const conditions = Type.Optional(
  Type.Array(Condition, {
    maxItems: 16,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  }),
);

// ---------------------------------------------------------------- ProbeJob

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
        rule: "!has(self.url) || (!self.url.contains('?') && !self.url.contains('#') && !self.url.matches('^[A-Za-z0-9+.-]+://[^/]*@'))",
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
            'Whose request this is. Only the API server of Probeyard may set it; a job without it runs on the default token.',
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

// --------------------------------------------------------------- ProbeTool

const ProbeToolSpec = Type.Object({
  tool: oneOf(TOOLS),
  version: text(64, {
    minLength: 1,
    pattern: '^[0-9A-Za-z][0-9A-Za-z._-]*$',
    description: 'The name that callers use.',
  }),
  image: text(1024, { minLength: 1, description: 'The tool image, by digest where it is known.' }),
  latest: Type.Optional(Type.Boolean({ description: 'Callers who name no version get this one.' })),
  command: Type.Array(text(1024, { minLength: 1 }), {
    minItems: 1,
    maxItems: 16,
    description: '{root} stands for the place where the image is mounted, {node} for the Node of the runner.',
  }),
});
export type ProbeToolSpec = Static<typeof ProbeToolSpec>;

const ProbeToolStatus = Type.Object({
  conditions,
  observedGeneration: Type.Optional(Type.Integer({ minimum: 0 })),
  /** Name of the proof that the conditions rest on: made from image, command and runner image. */
  proof: Type.Optional(text(128)),
  /** Short form of what the binary itself says, for the printer column. */
  reported: Type.Optional(text(PROOF_LIMITS.version)),
  architectures: Type.Optional(
    Type.Array(
      Type.Object({
        arch: text(32),
        version: text(PROOF_LIMITS.version, { description: 'The first line that the binary printed of its version.' }),
        startupMs: Type.Optional(count()),
        options: Type.Optional(
          Type.Array(text(PROOF_LIMITS.optionLength), {
            maxItems: PROOF_LIMITS.options,
            'x-kubernetes-list-type': 'atomic',
          }),
        ),
        protocols: Type.Optional(
          Type.Array(text(PROOF_LIMITS.protocolLength), {
            maxItems: PROOF_LIMITS.protocols,
            'x-kubernetes-list-type': 'atomic',
          }),
        ),
      }),
      { maxItems: 8, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['arch'] },
    ),
  ),
});
export type ProbeToolStatus = Static<typeof ProbeToolStatus>;

// --------------------------------------------------------------- ProbePool

const REUSE_SCOPES = ['job', 'token', 'account', 'any'] as const;
export type ReuseScope = (typeof REUSE_SCOPES)[number];

/** What may stand between a tool and the node: conditions of a ProbePool, and what it may require. */
export const WALLS = ['UserNamespace', 'SyscallFilter', 'NetworkEnforced'] as const;
export type Wall = (typeof WALLS)[number];

const quantity = text(32, { pattern: '^[0-9]+(\\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi)?$' });
const Resources = Type.Object({
  requests: Type.Optional(Type.Object({ cpu: Type.Optional(quantity), memory: Type.Optional(quantity) })),
  limits: Type.Optional(Type.Object({ cpu: Type.Optional(quantity), memory: Type.Optional(quantity) })),
});

const ProbePoolSpec = Type.Object({
  serves: Type.Object({
    kinds: Type.Array(oneOf(KINDS), { minItems: 1, maxItems: 3, 'x-kubernetes-list-type': 'set' }),
  }),
  minReady: Type.Integer({
    minimum: 0,
    maximum: 1000,
    default: 2,
    description: 'Pods kept ready that no tenant has touched.',
  }),
  maxPods: Type.Integer({ minimum: 0, maximum: 5000, default: 20 }),
  maxPodsPerTenant: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 5000,
      description:
        'Share of one account, all its tokens and sub-users together: it gets no further runner while an account with fewer waits. Half of maxPods where it is not set.',
    }),
  ),
  reuse: Type.Optional(
    Type.Object({
      scope: oneOf(REUSE_SCOPES, {
        default: 'account',
        description: 'Who may be served by the same pod, one after the other.',
      }),
      maxJobs: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 200 }),
      maxAgeSeconds: Type.Integer({ minimum: 10, maximum: 604_800, default: 3600 }),
      idleSeconds: Type.Integer({
        minimum: 1,
        maximum: 86_400,
        default: 120,
        description: 'A bound pod that got no job for so long is ended.',
      }),
    }),
  ),
  resources: Type.Optional(Type.Object({ agent: Type.Optional(Resources), tools: Type.Optional(Resources) })),
  runtimeClassName: Type.Optional(text(253)),
  userNamespaces: Type.Optional(oneOf(['Required', 'Preferred', 'Disabled'], { default: 'Preferred' })),
  isolation: Type.Optional(
    Type.Object({
      require: Type.Optional(
        Type.Array(oneOf(WALLS), {
          maxItems: 3,
          'x-kubernetes-list-type': 'set',
          description: 'A runner that lacks one of these walls serves no job.',
        }),
      ),
    }),
  ),
  nodeSelector: Type.Optional(Type.Record(Type.String(), text(63), { maxProperties: 32 })),
  tolerations: Type.Optional(
    Type.Array(
      Type.Object({
        key: Type.Optional(text(316)),
        operator: Type.Optional(oneOf(['Exists', 'Equal'])),
        value: Type.Optional(text(63)),
        effect: Type.Optional(oneOf(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])),
        tolerationSeconds: Type.Optional(Type.Integer()),
      }),
      { maxItems: 32, 'x-kubernetes-list-type': 'atomic' },
    ),
  ),
});
export type ProbePoolSpec = Static<typeof ProbePoolSpec>;

const ProbePoolStatus = Type.Object({
  conditions,
  observedGeneration: Type.Optional(Type.Integer({ minimum: 0 })),
  ready: Type.Optional(count()),
  busy: Type.Optional(count()),
  starting: Type.Optional(count()),
  replicas: Type.Optional(count()),
  selector: Type.Optional(text(1024)),
  generation: Type.Optional(
    text(64, { description: 'Hash of the tool set and the runner protocol that new pods carry.' }),
  ),
});
export type ProbePoolStatus = Static<typeof ProbePoolStatus>;

// ------------------------------------------------------------------ shared

export interface Meta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: {
    apiVersion: string;
    kind: string;
    name: string;
    uid: string;
    controller?: boolean;
    blockOwnerDeletion?: boolean;
  }[];
}

export interface Resource<Spec = unknown, Status = unknown> {
  apiVersion: string;
  kind: string;
  metadata: Meta;
  spec: Spec;
  status?: Status;
}

export type ProbeJob = Resource<ProbeJobSpec, ProbeJobStatus>;
export type ProbeTool = Resource<ProbeToolSpec, ProbeToolStatus>;
export type ProbePool = Resource<ProbePoolSpec, ProbePoolStatus>;

export interface Column {
  name: string;
  type: 'string' | 'integer' | 'boolean' | 'date';
  jsonPath: string;
  priority?: number;
  description?: string;
}

export interface Definition {
  kind: string;
  plural: string;
  short: string;
  description: string;
  spec: TSchema;
  status: TSchema;
  columns: Column[];
  selectable: string[];
  scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string };
}

const AGE: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

const PROBE_JOB: Definition = {
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

export const PROBE_TOOL: Definition = {
  kind: 'ProbeTool',
  plural: 'probetools',
  short: 'pt',
  description: 'One tool at one version, as an image that runners mount.',
  spec: ProbeToolSpec,
  status: ProbeToolStatus,
  columns: [
    { name: 'Tool', type: 'string', jsonPath: '.spec.tool' },
    { name: 'Version', type: 'string', jsonPath: '.spec.version' },
    { name: 'Latest', type: 'boolean', jsonPath: '.spec.latest' },
    { name: 'Available', type: 'string', jsonPath: ".status.conditions[?(@.type=='Available')].status" },
    { name: 'Reason', type: 'string', jsonPath: ".status.conditions[?(@.type=='Available')].reason" },
    { name: 'Reported', type: 'string', jsonPath: '.status.reported' },
    AGE,
    { name: 'Image', type: 'string', jsonPath: '.spec.image', priority: 1 },
  ],
  selectable: ['.spec.tool'],
};

export const PROBE_POOL: Definition = {
  kind: 'ProbePool',
  plural: 'probepools',
  short: 'pp',
  description: 'Warm runner pods for some kinds of jobs.',
  spec: ProbePoolSpec,
  status: ProbePoolStatus,
  columns: [
    { name: 'MinReady', type: 'integer', jsonPath: '.spec.minReady' },
    { name: 'Max', type: 'integer', jsonPath: '.spec.maxPods' },
    { name: 'Ready', type: 'integer', jsonPath: '.status.ready' },
    { name: 'Busy', type: 'integer', jsonPath: '.status.busy' },
    { name: 'Starting', type: 'integer', jsonPath: '.status.starting' },
    { name: 'Scope', type: 'string', jsonPath: '.spec.reuse.scope' },
    { name: 'State', type: 'string', jsonPath: ".status.conditions[?(@.type=='Ready')].reason" },
    AGE,
  ],
  selectable: [],
  scale: {
    specReplicasPath: '.spec.minReady',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
};

export const DEFINITIONS: readonly Definition[] = [PROBE_JOB, PROBE_TOOL, PROBE_POOL];
