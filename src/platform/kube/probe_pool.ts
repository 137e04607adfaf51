/** ProbePool: warm runner pods. */
import Type, { type Static } from 'typebox';
import { qc } from '../../media/tools/qc.ts';
import { KINDS, type Kind } from './probe_job.ts';
import {
  AGE,
  conditions,
  count,
  integer,
  listOf,
  object,
  observedGeneration,
  oneOf,
  optional,
  setOf,
  text,
  type Definition,
  type Resource,
} from './resource.ts';

const REUSE_SCOPES = ['job', 'token', 'account', 'any'] as const;
export type ReuseScope = (typeof REUSE_SCOPES)[number];

/** Kinds of jobs and, apart from the others of their kind, those with content checks. */
export type ServedKind = Kind | typeof qc.name;
export const SERVED_KINDS: readonly ServedKind[] = [...KINDS, qc.name];

const RENEWALS = ['pod', 'process'] as const;

/** Walls between a tool and the node: conditions of a ProbePool, and walls that it may require. */
export const WALLS = ['UserNamespace', 'SyscallFilter', 'NetworkEnforced'] as const;
export type Wall = (typeof WALLS)[number];

/** Names and values of labels, and names of objects, as the API server takes them in a pod. */
const NAME = '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
export const LABEL_NAME = `^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?${NAME}$`;
const labelName = (description: string) => text(316, description, { pattern: LABEL_NAME });
export const LABEL_VALUE = `^(${NAME})?$`;
const labelValue = Type.String({ maxLength: 63, pattern: LABEL_VALUE });
const objectName = (description: string) =>
  text(253, description, { pattern: '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$' });
const labels = (maxProperties: number, description: string) =>
  Type.Record(Type.String(), labelValue, {
    maxProperties,
    description,
    'x-kubernetes-validations': [
      { rule: `self.all(name, name.matches('${LABEL_NAME}'))`, message: 'a name is not that of a label' },
    ],
  });
const amount = (pattern: string, description: string) =>
  Type.Unsafe<string | number>({
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    'x-kubernetes-int-or-string': true,
    maxLength: 32,
    pattern,
    description,
  });
const BYTES = '^[0-9]+(\\.[0-9]+)?(k|Ki|M|Mi|G|Gi|T|Ti)?$';
const Amounts = (description: string) =>
  Type.Object(
    {
      cpu: Type.Optional(amount('^([0-9]+m|[0-9]+(\\.[0-9]{1,3})?)$', 'CPUs: 2, or 500m for half of one.')),
      memory: Type.Optional(amount(BYTES, 'Bytes, as 512Mi or 1Gi.')),
      'ephemeral-storage': Type.Optional(amount(BYTES, 'Bytes on the disk of the node.')),
    },
    { description },
  );
/** A member of both, as rules name it. */
const withinLimit = (name: string): { rule: string; message: string } => {
  const member = name.replaceAll('-', '__dash__');
  const has = (of: string): string => `has(self.${of}) && has(self.${of}.${member})`;
  const value = (of: string): string => `quantity(string(self.${of}.${member}))`;
  return {
    rule: `!(${has('requests')} && ${has('limits')}) || ${value('requests')}.compareTo(${value('limits')}) <= 0`,
    message: `requests.${name} must be at most limits.${name}`,
  };
};
const Resources = (of: string) =>
  object(
    {
      requests: Type.Optional(Amounts('What a node keeps for it.')),
      limits: Type.Optional(Amounts('What it may use.')),
    },
    `Resources of the container ${of}.`,
    { 'x-kubernetes-validations': ['cpu', 'memory', 'ephemeral-storage'].map(withinLimit) },
  );

const Requirement = Type.Object(
  {
    key: labelName('Name of the label.'),
    operator: oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'], 'How the label stands to the values.'),
    values: Type.Optional(listOf(labelValue, 64, 'The values; none for Exists and DoesNotExist.')),
  },
  {
    'x-kubernetes-validations': [
      {
        rule: "self.operator.contains('Exist') != (has(self.values) && self.values.size() > 0)",
        message: 'In, NotIn, Gt and Lt need values, Exists and DoesNotExist have none',
      },
    ],
  },
);
const NodeTerm = object({ matchExpressions: listOf(Requirement, 16, 'All of them hold.') }, 'Nodes by their labels.');
const weight = integer(1, 100, 'How much it counts beside the others.');
/** Validated when a pod is created: the condition Ready then has the message. */
const podAffinity = (description: string) =>
  Type.Unsafe<object>({ type: 'object', description, 'x-kubernetes-preserve-unknown-fields': true });
const Affinity = object(
  {
    nodeAffinity: Type.Optional(
      object(
        optional({
          requiredDuringSchedulingIgnoredDuringExecution: object(
            { nodeSelectorTerms: listOf(NodeTerm, 8, 'One of them holds.') },
            'Nodes that the pods may be on.',
          ),
          preferredDuringSchedulingIgnoredDuringExecution: listOf(
            Type.Object({ weight, preference: NodeTerm }),
            8,
            'Where possible, by weight.',
          ),
        }),
        'Which nodes the pods are on.',
      ),
    ),
    podAffinity: Type.Optional(podAffinity('Which pods they are beside, as podAffinity of a pod.')),
    podAntiAffinity: Type.Optional(podAffinity('Which pods they are not beside, as podAntiAffinity of a pod.')),
  },
  'As the affinity of a pod, for all pods of the pool.',
);

const Toleration = Type.Object(
  {
    key: Type.Optional(labelName('Key of the taint; all of them if it is not set.')),
    operator: Type.Optional(oneOf(['Exists', 'Equal'], 'Equal, which is the default, needs the value.')),
    value: Type.Optional(text(63, 'Value of the taint.', { pattern: `^(${NAME})?$` })),
    effect: Type.Optional(
      oneOf(['NoSchedule', 'PreferNoSchedule', 'NoExecute'], 'Effect of the taint; all if not set.'),
    ),
    tolerationSeconds: Type.Optional(Type.Integer({ description: 'Seconds until a taint NoExecute ends the pod.' })),
  },
  {
    'x-kubernetes-validations': [
      {
        rule: "!has(self.operator) || self.operator != 'Exists' || !has(self.value) || self.value == ''",
        message: 'a toleration with the operator Exists has no value',
      },
      {
        rule: "has(self.key) || (has(self.operator) && self.operator == 'Exists')",
        message: 'a toleration without a key needs the operator Exists',
      },
      {
        rule: "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
        message: 'tolerationSeconds needs the effect NoExecute',
      },
    ],
  },
);

/** What a pool has that says nothing of it. */
export const REUSE = { scope: 'account', renew: 'pod', maxJobs: 200, maxAgeSeconds: 3600, idleSeconds: 900 } as const;

const ProbePoolSpec = Type.Object(
  {
    priority: Type.Optional(
      integer(
        -1_000_000,
        1_000_000,
        'Of the pools that serve a job, the one of the highest priority runs it; of several, the first by name. ' +
          'A job waits for that pool, also while another one has free runners.',
        { default: 0 },
      ),
    ),
    serves: object(
      {
        kinds: setOf(
          oneOf(SERVED_KINDS),
          SERVED_KINDS.length,
          'Kinds of jobs: file is a probe; qc one with content checks, which a pool of its kind runs where no pool ' +
            'serves qc; the others are named as their endpoints.',
          { minItems: 1 },
        ),
        ...optional({
          accounts: setOf(
            Type.Integer({ minimum: 1 }),
            1000,
            'Jobs of these accounts alone, by the ids of their root users. Of all, if it is not set.',
            { minItems: 1 },
          ),
          labels: labels(
            8,
            'Jobs whose ProbeJob has these labels alone. Jobs of the API have probeyard.dev/token, the id of the ' +
              'token, and probeyard.dev/kind.',
          ),
        }),
      },
      'Which jobs the pool runs: those that match all of it.',
    ),
    minReady: integer(0, 1000, 'Pods kept ready that no tenant has touched.', { default: 2 }),
    maxPods: integer(0, 5000, 'Pods at most.', { default: 20 }),
    ...optional({
      maxPodsPerTenant: integer(
        1,
        5000,
        'Share of one account, all its tokens and sub-users together: it gets no further runner ' +
          'while an account with fewer waits. Half of maxPods where it is not set.',
      ),
      reuse: object(
        {
          scope: oneOf(REUSE_SCOPES, 'Who may be served by the same pod, one after the other.', {
            default: REUSE.scope,
          }),
          renew: Type.Optional(
            oneOf(
              RENEWALS,
              'What stands between two tenants: pod, a new pod for each of them; process, new processes in the ' +
                'same pod, which is faster, but relies on the agent. Never after a source with credentials.',
              { default: REUSE.renew },
            ),
          ),
          maxJobs: integer(
            1,
            1_000_000,
            'Number of jobs after which a runner becomes a new process in its pod, for the same tenant: of each ' +
              'runner another number from 80 % of it.',
            { default: REUSE.maxJobs },
          ),
          maxAgeSeconds: integer(
            10,
            604_800,
            'Age at which a runner becomes a new process in its pod, for the same tenant: of each runner another age ' +
              'from 80 % of it.',
            { default: REUSE.maxAgeSeconds },
          ),
          idleSeconds: integer(1, 86_400, 'A bound pod that got no job for so long is ended.', {
            default: REUSE.idleSeconds,
          }),
        },
        'When a runner is used again, and by whom.',
        { default: {} },
      ),
      resources: object(
        {
          agent: Type.Optional(Resources('agent, which reads the source and sends the result')),
          tools: Type.Optional(Resources('tools')),
        },
        'Resources of the pods.',
      ),
      runtimeClassName: objectName('Runtime class of the pods.'),
      userNamespaces: oneOf(
        ['Required', 'Preferred', 'Disabled'],
        'Whether the pods have a user namespace. Preferred: where the node has them.',
        { default: 'Preferred' },
      ),
      isolation: object(
        {
          require: Type.Optional(setOf(oneOf(WALLS), 3, 'A runner that lacks one of these walls serves no job.')),
        },
        'Walls between a tool and the node.',
      ),
      drainSeconds: integer(
        0,
        3600,
        'Time in which a runner whose pod is being deleted may finish its job. A job that takes longer runs again ' +
          'on another runner. 70 where it is not set, 645 in a pool that serves msv or qc.',
      ),
      priorityClassName: objectName("Priority class of the pool's pods, instead of the one of all runners."),
      topologySpreadConstraints: listOf(
        Type.Object({
          maxSkew: Type.Integer({ minimum: 1, description: 'By how many pods two places may differ.' }),
          topologyKey: labelName('Label of nodes: those with the same value are one place.'),
          whenUnsatisfiable: oneOf(['ScheduleAnyway', 'DoNotSchedule'], 'What is done beyond maxSkew.'),
          ...optional({
            minDomains: Type.Integer({ minimum: 1, description: 'Number of places that there are at least.' }),
            nodeAffinityPolicy: oneOf(['Honor', 'Ignore'], 'Whether nodes that the affinity excludes count.'),
            nodeTaintsPolicy: oneOf(['Honor', 'Ignore'], 'Whether nodes with taints that are not tolerated count.'),
          }),
        }),
        8,
        "How the pool's pods are spread. Over nodes and zones, where possible, if it is not set.",
      ),
      nodeSelector: labels(32, 'Labels of the nodes, beside those of runners.nodeSelector.'),
      affinity: Affinity,
      tolerations: listOf(Toleration, 32, 'Taints of nodes that the pods tolerate, beside runners.tolerations.'),
    }),
  },
  {
    'x-kubernetes-validations': [
      { rule: 'self.minReady <= self.maxPods', message: 'minReady must be at most maxPods' },
    ],
  },
);
export type ProbePoolSpec = Static<typeof ProbePoolSpec>;

/** Where the pool says nothing, or there is none. */
export const requestsOf = (spec: Pick<ProbePoolSpec, 'resources'> | undefined, container: 'agent' | 'tools') => ({
  cpu: '10m',
  memory: '64Mi',
  ...spec?.resources?.[container]?.requests,
});

const ProbePoolStatus = Type.Object({
  conditions,
  observedGeneration,
  ...optional({
    ready: count('Runners that could take a job now.'),
    busy: count('Runners at a job.'),
    starting: count('Runners that start.'),
    replicas: count('Pods that no tenant has touched, ready or starting: what minReady asks for, as scale shows it.'),
    epoch: count('Term of the leader. The admission policy refuses admissions of an earlier one.', {
      'x-kubernetes-validations': [{ rule: 'self >= oldSelf', message: 'a later term has begun' }],
    }),
    selector: text(1024, 'Selects the pods, for the scale subresource.'),
    generation: text(64, 'Hash of the tool set and the runner protocol that new pods carry.'),
  }),
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
    { name: 'Priority', type: 'integer', jsonPath: '.spec.priority', priority: 1 },
    { name: 'Renew', type: 'string', jsonPath: '.spec.reuse.renew', priority: 1 },
    AGE,
  ],
  selectable: [],
  // Pods have it in a label.
  validations: [
    { rule: 'self.metadata.name.size() <= 63', message: 'metadata.name: must be at most 63 characters long' },
  ],
  scale: {
    specReplicasPath: '.spec.minReady',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
};
