/** ProbeBatch: a batch as an object. Its request is the body of `POST /v1/batch`, whose schema charts/crds.ts adds. */
import Type, { type Static } from 'typebox';
import {
  AGE,
  conditions,
  count,
  createdBy,
  flag,
  integer,
  kept,
  managedBy,
  observedGeneration,
  oneOf,
  optional,
  text,
  time,
  type Definition,
  type Resource,
} from './resource.ts';

const specFields = {
  request: Type.Unsafe<object>({ type: 'object' }),
  ...optional({
    createdBy,
    suspend: flag('True: the batch is paused, or not created yet. False again: it goes on.'),
    managedBy,
    ttlSecondsAfterFinished: integer(
      0,
      31_536_000,
      'Seconds after which the object is deleted when it has ended; never if it is not set. The batch and its ' +
        'results stay in the record.',
    ),
  }),
};

/** They can be changed while it runs. */
const CHANGEABLE = ['suspend', 'ttlSecondsAfterFinished'];

const ProbeBatchSpec = Type.Object(specFields, {
  'x-kubernetes-validations': [
    {
      rule: Object.keys(specFields)
        .filter((name) => !CHANGEABLE.includes(name))
        .map(kept)
        .join(' && '),
      message: `of the spec of a ProbeBatch only ${CHANGEABLE.join(' and ')} can be changed: make a new one`,
    },
  ],
});
export type ProbeBatchSpec = Static<typeof ProbeBatchSpec>;

/** `Waiting`: it has no batch yet, and will. The last five are final. */
const STATES = [
  'Waiting',
  'Suspended',
  'Running',
  'Stopped',
  'Cancelling',
  'Completed',
  'Cancelled',
  'DeadlineExceeded',
  'Refused',
] as const;
export type ProbeBatchState = (typeof STATES)[number];

const ProbeBatchStatus = Type.Object(
  {
    // What `kubectl get` shows is never empty.
    state: oneOf(STATES, 'Where it stands. Refused: its request is not accepted, and the message says why.', {
      default: 'Waiting',
    }),
    total: count('Items of the batch.', { default: 0 }),
    done: count('Items that ended, whatever became of them.', { default: 0 }),
    failed: count('Of them: those that ended with an error, or with errors of some of their tools.', { default: 0 }),
    conditions,
    observedGeneration,
    ...optional({
      id: text(64, 'The id of the batch, as GET /v1/batch/{id} reads it.'),
      progress: integer(0, 100, 'Percent of the items that ended.'),
      running: count('Items that run.'),
      skipped: count(
        'Items that were skipped, because the batch was cancelled or came to its deadline, or their file is unchanged.',
      ),
      perMinute: Type.Number({ minimum: 0, description: 'Items that ended, per minute.' }),
      startedAt: time('When the batch was created.'),
      completedAt: time('When it ended.'),
    }),
  },
  { default: {} },
);
export type ProbeBatchStatus = Static<typeof ProbeBatchStatus>;

export type ProbeBatch = Resource<ProbeBatchSpec, ProbeBatchStatus>;

export const PROBE_BATCH: Definition = {
  kind: 'ProbeBatch',
  plural: 'probebatches',
  short: 'pb',
  description: 'Many sources that are probed by one template. Deleting it cancels what has not ended.',
  spec: ProbeBatchSpec,
  status: ProbeBatchStatus,
  columns: [
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Done', type: 'integer', jsonPath: '.status.done' },
    { name: 'Failed', type: 'integer', jsonPath: '.status.failed' },
    { name: 'Total', type: 'integer', jsonPath: '.status.total' },
    AGE,
    { name: 'Creator', type: 'string', jsonPath: '.spec.createdBy', priority: 1 },
    { name: 'Message', type: 'string', jsonPath: ".status.conditions[?(@.type=='Succeeded')].message", priority: 1 },
  ],
  selectable: [],
};
