/** ProbePolicy: rules that every account may apply to its files. */
import Type, { type Static } from 'typebox';
import { MOST_RULES } from '../../media/policy/limits.ts';
import { AGE, conditions, count, text, type Definition, type Resource } from './resource.ts';

/** Prefix of shared policy names, in requests and in a ProbeJob. */
export const SHARED_PREFIX = 'shared/';
/** Length of any policy name, without the prefix. */
export const MAX_POLICY_NAME = 64;

const version = text(64, { minLength: 1, pattern: '^[0-9A-Za-z][0-9A-Za-z._-]*$' });

const ProbePolicySpec = Type.Object({
  // Lines and tabs are accepted: kubectl prints the first line.
  description: Type.Optional(text(500, { pattern: '^[^\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\p{Cf}\\p{Co}]*$' })),
  uses: Type.Optional(
    Type.Object(
      { ffprobe: Type.Optional(version), mediainfo: Type.Optional(version) },
      { description: 'Versions of tools for requests that name none.' },
    ),
  ),
  // Rules are recursive, which a structural schema cannot express: the leader validates them, and reports the outcome
  // in the condition Valid.
  rules: Type.Array(Type.Object({}, { 'x-kubernetes-preserve-unknown-fields': true }), {
    minItems: 1,
    maxItems: MOST_RULES,
    'x-kubernetes-list-type': 'atomic',
    description: 'The rules, as the schema PolicyRule of /openapi.json describes them.',
  }),
});
export type ProbePolicySpec = Static<typeof ProbePolicySpec>;

const ProbePolicyStatus = Type.Object({
  conditions,
  observedGeneration: Type.Optional(Type.Integer({ minimum: 0 })),
  revision: Type.Optional(count({ description: 'The revision that requests get, and that results name.' })),
  digest: Type.Optional(text(64, { description: 'SHA-256 of the canonical JSON of that revision.' })),
  rules: Type.Optional(count()),
});
export type ProbePolicyStatus = Static<typeof ProbePolicyStatus>;

export type ProbePolicy = Resource<ProbePolicySpec, ProbePolicyStatus>;

export const PROBE_POLICY: Definition = {
  kind: 'ProbePolicy',
  plural: 'probepolicies',
  short: 'ppol',
  description: 'Rules that every account may have its files judged by, as shared/NAME.',
  spec: ProbePolicySpec,
  status: ProbePolicyStatus,
  columns: [
    { name: 'Revision', type: 'integer', jsonPath: '.status.revision' },
    { name: 'Rules', type: 'integer', jsonPath: '.status.rules' },
    { name: 'Valid', type: 'string', jsonPath: ".status.conditions[?(@.type=='Valid')].status" },
    AGE,
    { name: 'Description', type: 'string', jsonPath: '.spec.description', priority: 1 },
    { name: 'Message', type: 'string', jsonPath: ".status.conditions[?(@.type=='Valid')].message", priority: 1 },
  ],
  selectable: [],
};
