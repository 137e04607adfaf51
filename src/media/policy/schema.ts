/** Policies and their results as schemas: for the OpenAPI description, and the validator in tests. */
import Type, { type Static, type TObject } from 'typebox';
import { oneOf, titled, WaivedSchema } from '../../base/schema_parts.ts';
import type { Level as HlsLevel } from '../hls/rule.ts';
import { LONGEST_NAME, LONGEST_TEXT, MOST_RULES, MOST_TOLD } from './limits.ts';
import {
  LEVELS,
  OUTCOMES,
  RAW_TOOLS,
  RULE_OUTCOMES,
  STREAM_TYPES,
  type Counted,
  type Operand,
  type Scalar,
} from './types.ts';

const text = (description: string, maxLength: number = LONGEST_TEXT) => Type.String({ maxLength, description });

const RuleResultSchema = titled('RuleResult', {
  name: text('Of the rule.', LONGEST_NAME),
  level: oneOf(LEVELS, 'What a failure of the rule is.'),
  outcome: oneOf(RULE_OUTCOMES, 'The outcome of the rule. waived: it failed or warned, and somebody accepts that.'),
  waived: Type.Optional(WaivedSchema),
  stream: Type.Optional(text('The first stream that decided, as `probe_report` numbers it: `streams[1]`.')),
  field: Type.Optional(text('The field, as the rule names it.')),
  actual: Type.Optional(text('What was found.')),
  expected: Type.Optional(text('What the rule asks for.')),
  from: Type.Optional(
    text('Where the value comes from: `probe_report`, the tool that it chose in a dispute, or a tool and its version.'),
  ),
  confidence: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: 'How often such a value was right, where that was learned.' }),
  ),
  message: text('The same as a sentence.', 1000),
  also: Type.Optional(
    Type.Array(Type.Object({ stream: text('Its path.'), actual: Type.Optional(text('What was found.')) }), {
      maxItems: MOST_TOLD,
      description: 'Further streams with the same outcome.',
    }),
  ),
  more: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Further streams with the same outcome that are not named.' }),
  ),
});
export type RuleResult = Static<typeof RuleResultSchema>;

export const PolicyResultSchema = titled('PolicyResult', {
  name: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    maxLength: LONGEST_NAME,
    description: 'Of the policy; null for one that came with the request.',
  }),
  revision: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 1,
    description: 'Its revision; null for one that came with the request.',
  }),
  outcome: oneOf(
    OUTCOMES,
    'fail where a rule failed; else unknown where a rule of level fail could not be judged; else warn where a rule ' +
      'of level warn failed or could not be judged; else pass; not-applicable where no rule applied. A rule that is ' +
      'waived counts as one that passed.',
  ),
  rules: Type.Array(RuleResultSchema, { maxItems: MOST_RULES }),
});
export type PolicyResult = Static<typeof PolicyResultSchema>;
export type Verdict = Pick<PolicyResult, 'outcome' | 'rules'>;

/** Written out for readers and clients: `readPolicy` checks a policy, and names what is wrong with it. */
const operand = <T = Operand>(description: string) =>
  Type.Unsafe<T>({ type: ['string', 'number', 'boolean', 'object'], description });
const texts = (description: string) =>
  Type.Unsafe<string | string[]>({ type: ['string', 'array'], items: { type: 'string' }, description });
const values = <T extends Scalar[] = Scalar[]>(description: string) =>
  Type.Unsafe<T>({ type: 'array', minItems: 1, items: { type: ['string', 'number', 'boolean'] }, description });
const counted = <T = number | Counted>(description: string) =>
  Type.Unsafe<T>({ type: ['number', 'object'], description });
const object = <T extends object>(description: string) => Type.Unsafe<T>({ type: 'object', description });

const conditions = (description: string, items: object) =>
  Type.Unsafe<Condition[]>({ type: 'array', minItems: 1, items, description });

type Share = 'exactly' | 'at-least' | 'at-most';
const STREAMS = {
  each: Type.Optional(oneOf(STREAM_TYPES, 'Judge every stream of this type.')),
  match: Type.Optional(
    Type.Unsafe<string | { [K in Share]?: number }>({
      type: ['string', 'object'],
      description: 'How many streams have to satisfy it: every (default), any, or exactly, at-least, at-most a number.',
    }),
  ),
};
/** Exactly one of them, or a group. */
const SUBJECTS = {
  field: Type.Optional(text('A field of the report: `container.format`, `size.width`, `audio[0].channels`.')),
  confidence: Type.Optional(
    object<{ 'at-least': number }>('`{at-least: 0.9}`: the least confidence that the report must have in the field.'),
  ),
  tool: Type.Optional(oneOf(RAW_TOOLS, 'The tool whose own output `path` reads.')),
  path: Type.Optional(text('A path in its output: `track[@type=Video].Format_Level`.')),
  count: Type.Optional(oneOf(STREAM_TYPES, 'The number of streams of this type.')),
  disagreement: Type.Optional(
    counted<{ field: string; 'at-most'?: Scalar } | Counted>(
      'Fields on which the tools disagree: one (`field`, `at-most`), or how many.',
    ),
  ),
  warnings: Type.Optional(counted('How many warnings the report may have (`of`, `except`: codes).')),
  findings: Type.Optional(
    object<{ [K in HlsLevel]?: number | Counted }>('How many findings of each level the HLS validator may have.'),
  ),
  c2pa: Type.Optional(
    object<{ [K in 'state' | 'signer' | 'declared-ai']?: string | string[] }>(
      '`state`, `signer` and `declared-ai` of the C2PA manifest.',
    ),
  ),
};
const OPERATORS = {
  is: Type.Optional(operand('Equal in meaning: a value, or `{field}`.')),
  not: Type.Optional(
    Type.Unsafe<Operand | Scalar[]>({
      type: ['string', 'number', 'boolean', 'object', 'array'],
      items: { type: ['string', 'number', 'boolean'] },
      description: 'Not equal to the value, or to any of them.',
    }),
  ),
  in: Type.Optional(values('Equal to one of them.')),
  'at-least': Type.Optional(operand('A number, a quantity with its unit, or `{field}`.')),
  'at-most': Type.Optional(operand('A number, a quantity with its unit, or `{field}`.')),
  above: Type.Optional(operand('More than this.')),
  below: Type.Optional(operand('Less than this.')),
  between: Type.Optional(values<[Scalar, Scalar]>('Two numbers or quantities, both included.')),
  within: Type.Optional(
    operand<Operand | { value: Scalar; tolerance: Scalar } | { field: string; tolerance: Scalar }>(
      "Equal within the report's tolerance, or within `{value, tolerance}`.",
    ),
  ),
  'starts-with': Type.Optional(texts('One of them is its beginning.')),
  matches: Type.Optional(texts('One of these globs matches it: `*` is any text, `?` one character.')),
  exists: Type.Optional(Type.Boolean({ description: 'Whether a tool says it.' })),
  absent: Type.Optional(Type.Boolean({ description: 'Whether no tool says it.' })),
};
export type Operators = Static<TObject<typeof OPERATORS>>;

const members = (inner: object) => ({
  ...STREAMS,
  when: Type.Optional(Type.Unsafe<Condition>({ allOf: [inner], description: 'The rule applies where this holds.' })),
  ...SUBJECTS,
  all: Type.Optional(conditions('Conditions that all have to hold.', inner)),
  any: Type.Optional(conditions('Conditions of which one has to hold.', inner)),
  none: Type.Optional(conditions('Conditions of which none may hold.', inner)),
  ...OPERATORS,
});
type Groups = { [K in 'all' | 'any' | 'none']?: Condition[] };
export interface Condition extends Static<TObject<typeof STREAMS & typeof SUBJECTS>>, Operators, Groups {
  /** Where this does not hold, the condition is not applicable. */
  when?: Condition;
}

const NESTED = { type: 'object', description: 'A condition, with the members of a rule.' };
const ConditionSchema = titled('PolicyCondition', members(NESTED));

export const RuleSchema = titled('PolicyRule', {
  name: text('Of the rule; once in a policy.', LONGEST_NAME),
  level: Type.Optional(oneOf(LEVELS, 'The outcome if the rule fails: fail (default) or warn.')),
  description: Type.Optional(text('For people.')),
  ...members(ConditionSchema),
});
export type Rule = Static<typeof RuleSchema>;

export const PolicySchema = titled('Policy', {
  description: Type.Optional(text('For people.')),
  uses: Type.Optional(
    Type.Object(
      { ffprobe: Type.Optional(text('Its version.', 30)), mediainfo: Type.Optional(text('Its version.', 30)) },
      { additionalProperties: false, description: 'The versions that the policy is written for.' },
    ),
  ),
  rules: Type.Array(RuleSchema, { minItems: 1, maxItems: MOST_RULES }),
});
export type Policy = Static<typeof PolicySchema>;
