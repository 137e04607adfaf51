/** ProbePolicy: rules that every account may apply to its files. */
import Type, { type Static } from 'typebox';
import { LONGEST_TEXT, MOST_CONDITIONS, MOST_RULES } from '../../media/policy/limits.ts';
import { RuleSchema } from '../../media/policy/schema.ts';
import {
  AGE,
  conditions,
  count,
  listOf,
  object,
  observedGeneration,
  text,
  type Definition,
  type Resource,
} from './resource.ts';

/** Prefix of shared policy names, in requests and in a ProbeJob. */
export const SHARED_PREFIX = 'shared/';
/** Length of any policy name, without the prefix. */
export const MAX_POLICY_NAME = 64;

const version = text(64, 'Its version: latest, an exact one, or the newest that begins with it.', {
  minLength: 1,
  pattern: '^[0-9A-Za-z][0-9A-Za-z._-]*$',
});

interface Node {
  type?: unknown;
  description?: string;
  items?: Node;
}

const KEPT = { 'x-kubernetes-preserve-unknown-fields': true };

/**
 * A member of a rule as a structural schema can say it, without choices of types and without recursion. What it cannot
 * say is kept as it is, and so is a member that does not exist: the leader validates all of it, and reports the outcome
 * in the condition Valid.
 */
function structural(node: Node): object {
  const { type, description, items, ...rest } = node;
  if (type === 'boolean') return node;
  if (type === 'string') return { maxLength: LONGEST_TEXT, ...node };
  const described = description === undefined ? {} : { description };
  if (type !== 'array') return { ...(type === 'object' ? { type } : {}), ...described, ...KEPT };
  const item = typeof items?.type === 'string' ? structural(items) : KEPT;
  return { maxItems: MOST_CONDITIONS, ...rest, type, ...described, items: item, 'x-kubernetes-list-type': 'atomic' };
}

const Rule = Type.Unsafe<object>({
  type: 'object',
  required: ['name'],
  properties: Object.fromEntries(
    (Object.entries(RuleSchema.properties) as [string, Node][]).map(([name, member]) => [name, structural(member)]),
  ),
  ...KEPT,
});

const ProbePolicySpec = Type.Object({
  // Lines and tabs are accepted: kubectl prints the first line.
  description: Type.Optional(
    text(500, 'What the policy is for.', { pattern: '^[^\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\p{Cf}\\p{Co}]*$' }),
  ),
  uses: Type.Optional(
    object(
      { ffprobe: Type.Optional(version), mediainfo: Type.Optional(version) },
      'Versions of tools for requests that name none.',
    ),
  ),
  rules: listOf(Rule, MOST_RULES, 'The rules, as the schema PolicyRule of /openapi.json describes them.', {
    minItems: 1,
  }),
});
export type ProbePolicySpec = Static<typeof ProbePolicySpec>;

const ProbePolicyStatus = Type.Object({
  conditions,
  observedGeneration,
  revision: Type.Optional(count('The revision that requests get, and that results name.')),
  digest: Type.Optional(text(64, 'SHA-256 of the canonical JSON of that revision.')),
  rules: Type.Optional(count('Number of rules of that revision.')),
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
