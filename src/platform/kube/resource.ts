/** Common parts of all custom resources: group and labels, the form of an object, conditions, and bounded fields. */
import Type, { type Static, type TOptional, type TSchema } from 'typebox';

export const GROUP = 'probeyard.dev';
/** The only version that is served and stored. A second one cost the API server a tenth of each job. */
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Label keys set by the controller, under a reserved prefix. */
export const LABEL = {
  token: `${GROUP}/token`,
  kind: `${GROUP}/kind`,
  pool: `${GROUP}/pool`,
  generation: `${GROUP}/generation`,
  tool: `${GROUP}/tool`,
  /** On a runner that has been at one job for a while: evictions are refused. */
  longJob: `${GROUP}/long-job`,
  /** Marks a Secret that jobs may use as their source. */
  source: `${GROUP}/source`,
  component: 'app.kubernetes.io/component',
  managedBy: 'app.kubernetes.io/managed-by',
} as const;

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

export interface Column {
  name: string;
  type: 'string' | 'integer' | 'boolean' | 'date';
  jsonPath: string;
  priority?: number;
  description?: string;
}

/** Definition of a custom resource, from which its CRD (charts/crds.ts), types and checks are derived. */
export interface Definition {
  kind: string;
  plural: string;
  short: string;
  description: string;
  spec: TSchema;
  status: TSchema;
  /** Rules on the whole object. */
  validations?: { rule: string; message: string }[];
  columns: Column[];
  selectable: string[];
  /**
   * No subresource: the status is written with the object, at its creation, too. The chart's admission policy then says
   * who may write it.
   */
  statusInObject?: true;
  scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string };
}

export const AGE: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

const described = (description: string | undefined) => (description === undefined ? {} : { description });

export const oneOf = <const T extends string>(values: readonly T[], description?: string, more: object = {}) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], ...more, ...described(description) });
export const text = (maxLength: number, description?: string, more: object = {}) =>
  Type.String({ maxLength, ...more, ...described(description) });
/** For text that `kubectl get` prints: no control character, and none that reverses or hides what stands beside it. */
export const shownText = (maxLength: number, description: string, more: object = {}) =>
  text(maxLength, description, { pattern: '^[^\\p{Cc}\\p{Cf}\\p{Co}\\p{Zl}\\p{Zp}]*$', ...more });
export const createdBy = shownText(
  512,
  'The Kubernetes user who created the object. An admission policy refuses a name that is not theirs, and an object ' +
    'of a tenant without one.',
);
/** In `spec.managedBy`: the controller of Probeyard, as if it were not set. */
const CONTROLLER = `${GROUP}/controller`;
export const managedBy = text(
  63,
  `The controller that the object is for. One for another than ${CONTROLLER} is left alone.`,
  { pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$' },
);
interface Managed {
  spec: { managedBy?: string };
}
export const managerOf = ({ spec }: Managed): string => spec.managedBy ?? CONTROLLER;
/** False: another controller looks after it, and whoever may create such an object may have written its status. */
export const isOurs = (object: Managed): boolean => managerOf(object) === CONTROLLER;

export const time = (description: string) => Type.String({ format: 'date-time', maxLength: 40, description });
export const flag = (description: string, more: object = {}) => Type.Boolean({ ...more, description });
export const integer = (minimum: number, maximum: number, description: string, more: object = {}) =>
  Type.Integer({ minimum, maximum, ...more, description });
export const count = (description: string, more: object = {}) => integer(0, 2_147_483_647, description, more);
export const millis = (maximum: number, description: string) => integer(1, maximum, description);

export const object = <T extends Record<string, TSchema>>(properties: T, description: string, more: object = {}) =>
  Type.Object(properties, { description, ...more });
/** Fields that may be absent. */
export const optional = <T extends Record<string, TSchema>>(properties: T) =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)])) as {
    [Name in keyof T]: TOptional<T[Name]>;
  };
const array = <T extends TSchema>(kind: string, items: T, maxItems: number, description: string, more: object = {}) =>
  Type.Array(items, { maxItems, 'x-kubernetes-list-type': kind, ...more, description });
export const listOf = <T extends TSchema>(items: T, maxItems: number, description: string, more: object = {}) =>
  array('atomic', items, maxItems, description, more);
export const setOf = <T extends TSchema>(items: T, maxItems: number, description: string, more: object = {}) =>
  array('set', items, maxItems, description, more);
/** No two items have the same values of `keys`. */
export const mapOf = <T extends TSchema>(
  items: T,
  keys: readonly string[],
  maxItems: number,
  description: string,
  more: object = {},
) => array('map', items, maxItems, description, { 'x-kubernetes-list-map-keys': keys, ...more });

/** A rule: this member cannot be changed. */
export const kept = (name: string): string =>
  `has(self.${name}) == has(oldSelf.${name}) && (!has(self.${name}) || self.${name} == oldSelf.${name})`;

const generation = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));
export const observedGeneration = generation('Generation of the object that the status was made for.');

const Condition = Type.Object({
  type: text(316, 'What the condition is about.'),
  status: oneOf(['True', 'False', 'Unknown'], 'Whether it holds.'),
  reason: text(1024, 'Why, in one word.', { minLength: 1 }),
  message: text(32768, 'Why, for people.'),
  lastTransitionTime: time('When the status of the condition changed last.'),
  observedGeneration: generation('Generation of the object that the condition was set for.'),
});
export type Condition = Static<typeof Condition>;

export const conditions = Type.Optional(mapOf(Condition, ['type'], 16, 'Conditions of the object, one of each type.'));
