/** ProbePool: warm runner pods. */
import Type, { type Static } from 'typebox';
import { KINDS } from './probe_job.ts';
import { AGE, conditions, count, oneOf, text, type Definition, type Resource } from './resource.ts';

const REUSE_SCOPES = ['job', 'token', 'account', 'any'] as const;
export type ReuseScope = (typeof REUSE_SCOPES)[number];

const RENEWALS = ['pod', 'process'] as const;

/** Walls between a tool and the node: conditions of a ProbePool, and walls that it may require. */
export const WALLS = ['UserNamespace', 'SyscallFilter', 'NetworkEnforced'] as const;
export type Wall = (typeof WALLS)[number];

const labelValue = text(63, { pattern: '^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$' });

const quantity = text(32, { pattern: '^[0-9]+(\\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi)?$' });
const Resources = Type.Object({
  requests: Type.Optional(Type.Object({ cpu: Type.Optional(quantity), memory: Type.Optional(quantity) })),
  limits: Type.Optional(Type.Object({ cpu: Type.Optional(quantity), memory: Type.Optional(quantity) })),
});

const ProbePoolSpec = Type.Object({
  priority: Type.Optional(
    Type.Integer({
      minimum: -1_000_000,
      maximum: 1_000_000,
      default: 0,
      description:
        'Of the pools that serve a job, the one of the highest priority runs it; of several, the first by name. A job ' +
        'waits for that pool, also while another one has free runners.',
    }),
  ),
  serves: Type.Object(
    {
      kinds: Type.Array(oneOf(KINDS), {
        minItems: 1,
        maxItems: KINDS.length,
        'x-kubernetes-list-type': 'set',
        description: 'Kinds of jobs: file is a probe; the others are named as their endpoints.',
      }),
      accounts: Type.Optional(
        Type.Array(Type.Integer({ minimum: 1 }), {
          minItems: 1,
          maxItems: 1000,
          'x-kubernetes-list-type': 'set',
          description: 'Jobs of these accounts alone, by the ids of their root users. Of all, if it is not set.',
        }),
      ),
      labels: Type.Optional(
        Type.Record(Type.String(), labelValue, {
          maxProperties: 8,
          description:
            'Jobs whose ProbeJob has these labels alone. Jobs of the API have probeyard.dev/token, the id of the ' +
            'token, and probeyard.dev/kind.',
        }),
      ),
    },
    { description: 'Which jobs the pool runs: those that match all of it.' },
  ),
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
        'Share of one account, all its tokens and sub-users together: it gets no further runner ' +
        'while an account with fewer waits. Half of maxPods where it is not set.',
    }),
  ),
  reuse: Type.Optional(
    Type.Object({
      scope: oneOf(REUSE_SCOPES, {
        default: 'account',
        description: 'Who may be served by the same pod, one after the other.',
      }),
      renew: Type.Optional(
        oneOf(RENEWALS, {
          default: 'pod',
          description:
            'What stands between two tenants: pod, a new pod for each of them; process, new processes in the same ' +
            'pod, which is faster, but relies on the agent. Never after a source with credentials.',
        }),
      ),
      maxJobs: Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        default: 200,
        description: 'Number of jobs after which a runner becomes a new process in its pod, for the same tenant.',
      }),
      maxAgeSeconds: Type.Integer({
        minimum: 10,
        maximum: 604_800,
        default: 3600,
        description: 'Age at which a runner becomes a new process in its pod, for the same tenant.',
      }),
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
  drainSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 3600,
      description:
        'Time in which a runner whose pod is being deleted may finish its job. A job that takes longer runs again on ' +
        'another runner. 70 where it is not set, 645 in a pool that serves msv.',
    }),
  ),
  priorityClassName: Type.Optional(
    text(253, { description: "Priority class of the pool's pods, instead of the one of all runners." }),
  ),
  topologySpreadConstraints: Type.Optional(
    Type.Array(
      Type.Object({
        maxSkew: Type.Integer({ minimum: 1 }),
        topologyKey: text(316),
        whenUnsatisfiable: oneOf(['ScheduleAnyway', 'DoNotSchedule']),
        minDomains: Type.Optional(Type.Integer({ minimum: 1 })),
        nodeAffinityPolicy: Type.Optional(oneOf(['Honor', 'Ignore'])),
        nodeTaintsPolicy: Type.Optional(oneOf(['Honor', 'Ignore'])),
      }),
      {
        maxItems: 8,
        'x-kubernetes-list-type': 'atomic',
        description: "How the pool's pods are spread. Over nodes and zones, where possible, if it is not set.",
      },
    ),
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
  replicas: Type.Optional(
    count({
      description: 'Pods that no tenant has touched, ready or starting: what minReady asks for, as scale shows it.',
    }),
  ),
  epoch: Type.Optional(
    count({
      description: 'Term of the leader. The admission policy refuses admissions of an earlier one.',
      'x-kubernetes-validations': [{ rule: 'self >= oldSelf', message: 'a later term has begun' }],
    }),
  ),
  selector: Type.Optional(text(1024)),
  generation: Type.Optional(
    text(64, { description: 'Hash of the tool set and the runner protocol that new pods carry.' }),
  ),
});
export type ProbePoolStatus = Static<typeof ProbePoolStatus>;

export type ProbePool = Resource<ProbePoolSpec, ProbePoolStatus>;

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
    { name: 'Renew', type: 'string', jsonPath: '.spec.reuse.renew', priority: 1 },
    AGE,
  ],
  selectable: [],
  scale: {
    specReplicasPath: '.spec.minReady',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
};
