/** ProbeSource: a bucket source as an object. Its request is the body of `POST /v1/source`, added by charts/crds.ts. */
import Type, { type Static } from 'typebox';
import {
  AGE,
  conditions,
  count,
  createdBy,
  flag,
  kept,
  observedGeneration,
  oneOf,
  optional,
  text,
  time,
  type Definition,
  type Resource,
} from './resource.ts';

const ProbeSourceSpec = Type.Object(
  {
    request: Type.Unsafe<object>({ type: 'object' }),
    ...optional({
      createdBy,
      suspend: flag('True: the source is paused with its batches, or not created yet. False again: it goes on.'),
    }),
  },
  {
    'x-kubernetes-validations': [
      { rule: kept('createdBy'), message: 'spec.createdBy: cannot be changed' },
      // What is known of its objects would be that of another place.
      {
        rule: 'self.request.bucket.url == oldSelf.request.bucket.url',
        message: 'spec.request.bucket.url: cannot be changed; make a new ProbeSource',
      },
    ],
  },
);
export type ProbeSourceSpec = Static<typeof ProbeSourceSpec>;

const STATES = ['Waiting', 'Suspended', 'Running', 'Stopped', 'Deleting', 'Refused'] as const;
export type ProbeSourceState = (typeof STATES)[number];

const ProbeSourceStatus = Type.Object(
  {
    // What `kubectl get` shows is never empty.
    state: oneOf(STATES, 'Where it stands. Waiting: it has no source yet. Refused: its request is not accepted.', {
      default: 'Waiting',
    }),
    objects: count('Objects that are known.', { default: 0 }),
    conditions,
    observedGeneration,
    ...optional({
      id: text(64, 'The id of the source, as GET /v1/source/{id} reads it.'),
      batches: count('Its batches that have not ended.'),
      lastListing: time('When the last listing that has ended began.'),
    }),
  },
  { default: {} },
);
export type ProbeSourceStatus = Static<typeof ProbeSourceStatus>;

export type ProbeSource = Resource<ProbeSourceSpec, ProbeSourceStatus>;

const messageOf = (type: string): string => `.status.conditions[?(@.type=='${type}')].message`;

export const PROBE_SOURCE: Definition = {
  kind: 'ProbeSource',
  plural: 'probesources',
  short: 'psrc',
  description: 'A bucket, of which each new version of an object is probed. Deleting it cancels what has not ended.',
  spec: ProbeSourceSpec,
  status: ProbeSourceStatus,
  columns: [
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Bucket', type: 'string', jsonPath: '.spec.request.bucket.url' },
    { name: 'Objects', type: 'integer', jsonPath: '.status.objects' },
    { name: 'Last Listing', type: 'date', jsonPath: '.status.lastListing' },
    AGE,
    { name: 'Creator', type: 'string', jsonPath: '.spec.createdBy', priority: 1 },
    { name: 'Message', type: 'string', jsonPath: messageOf('Ready'), priority: 1 },
    { name: 'Listing', type: 'string', jsonPath: messageOf('Listed'), priority: 1 },
  ],
  selectable: [],
};
