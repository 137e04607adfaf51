/** ProbePool: warm runner pods. */
import Type, { type Static, type TSchema } from 'typebox';
import { KINDS } from './probe_job.ts';
import { AGE, conditions, count, observedGeneration, oneOf, text, type Definition, type Resource } from './resource.ts';

const REUSE_SCOPES = ['job', 'token', 'account', 'any'] as const;
export type ReuseScope = (typeof REUSE_SCOPES)[number];

const RENEWALS = ['pod', 'process'] as const;

/** Walls between a tool and the node: conditions of a ProbePool, and walls that it may require. */
export const WALLS = ['UserNamespace', 'SyscallFilter', 'NetworkEnforced'] as const;
export type Wall = (typeof WALLS)[number];

/** Names and values of labels, and names of objects, as the API server takes them in a pod. */
const NAME = '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
export const LABEL_NAME = `^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?${NAME}$`;
const labelName = (description: string) => text(316, { pattern: LABEL_NAME, description });
export const LABEL_VALUE = `^(${NAME})?$`;
const labelValue = text(63, { pattern: LABEL_VALUE });
const objectName = (description: string) =>
  text(253, { pattern: '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$', description });
const labels = (maxProperties: number, description: string) =>
  Type.Record(Type.String(), labelValue, {
    maxProperties,
    description,
    'x-kubernetes-validations': [
      { rule: `self.all(name, name.matches('${LABEL_NAME}'))`, message: 'a name is not that of a label' },
    ],
  });
const listOf = <T extends TSchema>(items: T, maxItems: number, description: string) =>
  Type.Array(items, { maxItems, 'x-kubernetes-list-type': 'atomic', description });

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
  Type.Object(
    {
      requests: Type.Optional(Amounts('What a node keeps for it.')),
      limits: Type.Optional(Amounts('What it may use.')),
    },
    {
      description: `Resources of the container ${of}.`,
      'x-kubernetes-validations': ['cpu', 'memory', 'ephemeral-storage'].map(withinLimit),
    },
  );

const Requirement = Type.Object(
  {
    key: labelName('Name of the label.'),
    operator: oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'], {
      description: 'How the label stands to the values.',
    }),
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
const NodeTerm = Type.Object(
  { matchExpressions: listOf(Requirement, 16, 'All of them hold.') },
  { description: 'Nodes by their labels.' },
);
const weight = Type.Integer({ minimum: 1, maximum: 100, description: 'How much it counts beside the others.' });
/** Validated when a pod is created: the condition Ready then has the message. */
const podAffinity = (description: string) =>
  Type.Unsafe<object>({ type: 'object', description, 'x-kubernetes-preserve-unknown-fields': true });
const Affinity = Type.Object(
  {
    nodeAffinity: Type.Optional(
      Type.Object(
        {
          requiredDuringSchedulingIgnoredDuringExecution: Type.Optional(
            Type.Object(
              { nodeSelectorTerms: listOf(NodeTerm, 8, 'One of them holds.') },
              { description: 'Nodes that the pods may be on.' },
            ),
          ),
          preferredDuringSchedulingIgnoredDuringExecution: Type.Optional(
            listOf(Type.Object({ weight, preference: NodeTerm }), 8, 'Where possible, by weight.'),
          ),
        },
        { description: 'Which nodes the pods are on.' },
      ),
    ),
    podAffinity: Type.Optional(podAffinity('Which pods they are beside, as podAffinity of a pod.')),
    podAntiAffinity: Type.Optional(podAffinity('Which pods they are not beside, as podAntiAffinity of a pod.')),
  },
  { description: 'As the affinity of a pod, for all pods of the pool.' },
);

const Toleration = Type.Object(
  {
    key: Type.Optional(labelName('Key of the taint; all of them if it is not set.')),
    operator: Type.Optional(
      oneOf(['Exists', 'Equal'], { description: 'Equal, which is the default, needs the value.' }),
    ),
    value: Type.Optional(text(63, { pattern: `^(${NAME})?$`, description: 'Value of the taint.' })),
    effect: Type.Optional(
      oneOf(['NoSchedule', 'PreferNoSchedule', 'NoExecute'], { description: 'Effect of the taint; all if not set.' }),
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

const ProbePoolSpec = Type.Object(
  {
    priority: Type.Optional(
      Type.Integer({
        minimum: -1_000_000,
        maximum: 1_000_000,
        default: 0,
        description:
          'Of the pools that serve a job, the one of the highest priority runs it; of several, the first by name. ' +
          'A job waits for that pool, also while another one has free runners.',
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
          labels(
            8,
            'Jobs whose ProbeJob has these labels alone. Jobs of the API have probeyard.dev/token, the id of the ' +
              'token, and probeyard.dev/kind.',
          ),
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
    maxPods: Type.Integer({ minimum: 0, maximum: 5000, default: 20, description: 'Pods at most.' }),
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
      Type.Object(
        {
          scope: oneOf(REUSE_SCOPES, {
            default: 'account',
            description: 'Who may be served by the same pod, one after the other.',
          }),
          renew: Type.Optional(
            oneOf(RENEWALS, {
              default: 'pod',
              description:
                'What stands between two tenants: pod, a new pod for each of them; process, new processes in the ' +
                'same pod, which is faster, but relies on the agent. Never after a source with credentials.',
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
        },
        { default: {}, description: 'When a runner is used again, and by whom.' },
      ),
    ),
    resources: Type.Optional(
      Type.Object(
        {
          agent: Type.Optional(Resources('agent, which reads the source and sends the result')),
          tools: Type.Optional(Resources('tools')),
        },
        { description: 'Resources of the pods.' },
      ),
    ),
    runtimeClassName: Type.Optional(objectName('Runtime class of the pods.')),
    userNamespaces: Type.Optional(
      oneOf(['Required', 'Preferred', 'Disabled'], {
        default: 'Preferred',
        description: 'Whether the pods have a user namespace. Preferred: where the node has them.',
      }),
    ),
    isolation: Type.Optional(
      Type.Object(
        {
          require: Type.Optional(
            Type.Array(oneOf(WALLS), {
              maxItems: 3,
              'x-kubernetes-list-type': 'set',
              description: 'A runner that lacks one of these walls serves no job.',
            }),
          ),
        },
        { description: 'Walls between a tool and the node.' },
      ),
    ),
    drainSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3600,
        description:
          'Time in which a runner whose pod is being deleted may finish its job. A job that takes longer runs again ' +
          'on another runner. 70 where it is not set, 645 in a pool that serves msv.',
      }),
    ),
    priorityClassName: Type.Optional(
      objectName("Priority class of the pool's pods, instead of the one of all runners."),
    ),
    topologySpreadConstraints: Type.Optional(
      Type.Array(
        Type.Object({
          maxSkew: Type.Integer({ minimum: 1, description: 'By how many pods two places may differ.' }),
          topologyKey: labelName('Label of nodes: those with the same value are one place.'),
          whenUnsatisfiable: oneOf(['ScheduleAnyway', 'DoNotSchedule'], {
            description: 'What is done beyond maxSkew.',
          }),
          minDomains: Type.Optional(
            Type.Integer({ minimum: 1, description: 'Number of places that there are at least.' }),
          ),
          nodeAffinityPolicy: Type.Optional(
            oneOf(['Honor', 'Ignore'], { description: 'Whether nodes that the affinity excludes count.' }),
          ),
          nodeTaintsPolicy: Type.Optional(
            oneOf(['Honor', 'Ignore'], { description: 'Whether nodes with taints that are not tolerated count.' }),
          ),
        }),
        {
          maxItems: 8,
          'x-kubernetes-list-type': 'atomic',
          description: "How the pool's pods are spread. Over nodes and zones, where possible, if it is not set.",
        },
      ),
    ),
    nodeSelector: Type.Optional(labels(32, 'Labels of the nodes, beside those of runners.nodeSelector.')),
    affinity: Type.Optional(Affinity),
    tolerations: Type.Optional(
      listOf(Toleration, 32, 'Taints of nodes that the pods tolerate, beside runners.tolerations.'),
    ),
  },
  {
    'x-kubernetes-validations': [
      { rule: 'self.minReady <= self.maxPods', message: 'minReady must be at most maxPods' },
    ],
  },
);
export type ProbePoolSpec = Static<typeof ProbePoolSpec>;

const ProbePoolStatus = Type.Object({
  conditions,
  observedGeneration,
  ready: Type.Optional(count({ description: 'Runners that could take a job now.' })),
  busy: Type.Optional(count({ description: 'Runners at a job.' })),
  starting: Type.Optional(count({ description: 'Runners that start.' })),
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
  selector: Type.Optional(text(1024, { description: 'Selects the pods, for the scale subresource.' })),
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
