/** Verdicts of policies: stored results judged anew, and the verdict of one request, also as CI systems read it. */
import Type from 'typebox';
import { SHARED_PREFIX } from '../../../platform/kube/probe_policy.ts';
import { MOST_BYTES } from '../../../media/policy/limits.ts';
import { type PolicyResult, PolicyResultSchema } from '../../../media/policy/schema.ts';
import { OUTCOMES, type Outcome } from '../../../media/policy/types.ts';
import { readKeptRequest } from '../../result/kept_request.ts';
import { type NamedPolicy, unknownVerdict, verdictOf } from '../../result/verdict.ts';
import type { Deps } from '../deps.ts';
import { ApiError, expired, invalid } from '../errors.ts';
import { type Context, paramOf, tokenOf } from '../http/request_context.ts';
import { endpoint, type EndpointName } from '../http/endpoint.ts';
import { takeRequestRate } from '../http/rate.ts';
import { checkedBy } from '../http/read_input.ts';
import {
  judged,
  type NoResult,
  ownRequest,
  resultFor,
  storedResult,
  type StoredResult,
  untilClosed,
} from '../probe/stored_result.ts';
import { policyInText, shownName, useNamed } from './asked_policy.ts';
import { NAME_PARAM, RevisionField, savedPolicy } from './policy_endpoints.ts';
import { junitText } from '../../../media/ci_formats/junit.ts';
import { judgedByPolicy } from '../../../media/ci_formats/policy_rules.ts';
import { sarifText } from '../../../media/ci_formats/sarif.ts';
import { readHead } from '../../result/unpack.ts';
import type { RequestRecord } from '../../../platform/store/records.ts';
import { choice, closed, component, orNull, UUID } from '../http/request_fields.ts';
import { POLICY_OUTCOME } from '../probe/answer_schemas.ts';

/** Of one call. A result of a common file is judged in 2 to 10 ms. */
const MOST_REQUESTS = 100;

const EvaluateBody = closed({
  request_ids: Type.Array(Type.String({ pattern: UUID }), {
    minItems: 1,
    maxItems: MOST_REQUESTS,
    description: `Requests of the caller that have ended, at most ${MOST_REQUESTS}.`,
  }),
  revision: RevisionField,
  policy: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MOST_BYTES,
      description:
        'A policy as YAML or JSON to judge by instead, without saving it: to try a change. There need not be a ' +
        'policy of the name.',
    }),
  ),
});

const EvaluateAnswer = component('PolicyEvaluation', {
  name: Type.String(),
  revision: orNull(Type.Integer({ minimum: 1, description: 'Null for a policy that came with the call.' })),
  summary: closed(Object.fromEntries(OUTCOMES.map((outcome) => [outcome, Type.Integer({ minimum: 0 })])), {
    description: 'How many requests have each outcome.',
  }),
  results: Type.Array(closed({ request_id: Type.String({ format: 'uuid' }), policy: PolicyResultSchema }), {
    description: 'In the order of `request_ids`.',
  }),
});

/** A verdict, whatever became of the result: one that is gone is unknown, with the reason. */
async function verdictOn(
  { work }: Pick<Deps, 'work'>,
  stored: StoredResult | NoResult,
  { document, named }: Judge,
  account: number,
): Promise<PolicyResult> {
  if ('absent' in stored) return unknownVerdict(named, `the request ${stored.why}`);
  const { record, place } = stored;
  try {
    const [verdict] = await work.run(
      'judge',
      { ...judged(stored), documents: [document], options: readKeptRequest(record).options },
      { account, what: 'policy' },
    );
    return { ...named, ...verdict! };
  } finally {
    place.release();
  }
}

interface Judge {
  /** The policy, as it is saved. */
  document: string;
  named: NamedPolicy & { name: string };
}

async function judgeOf(
  deps: Deps,
  ctx: Context,
  { name, revision, text }: { name: string; revision: number | null; text: string | undefined },
): Promise<Judge> {
  // JSON is YAML.
  if (text !== undefined)
    return {
      document: (await policyInText(deps, ctx, { text, mediaType: 'application/yaml' })).document,
      named: { name, revision: null },
    };
  const saved = await savedPolicy(deps, ctx, name, revision, revision === null ? undefined : useNamed);
  return {
    document: saved.document,
    named: { name: shownName(saved), revision: saved.revision },
  };
}

const judge = (prefix: string) =>
  async function judgeStored(deps: Deps, ctx: Context): Promise<void> {
    const { request_ids: ids, revision, policy: text } = checkedBy(EvaluateBody, ctx);
    const distinct = [...new Set(ids.map((id) => id.toLowerCase()))];
    if (distinct.length < ids.length) throw invalid('request_ids', 'must not name a request more than once');
    await takeRequestRate(deps, ctx);
    const by = await judgeOf(deps, ctx, { name: `${prefix}${paramOf(ctx, 'name')}`, revision, text });
    const signal = untilClosed(ctx);
    const summary = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Record<Outcome, number>;
    const results: { request_id: string; policy: PolicyResult }[] = [];
    // One after the other: at any time the call holds one result.
    for (const id of distinct) {
      signal.throwIfAborted();
      const stored = await storedResult(deps, ctx, id, { signal });
      const verdict = await verdictOn(deps, stored, by, tokenOf(ctx).rootUserId);
      summary[verdict.outcome] += 1;
      results.push({ request_id: id, policy: verdict });
    }
    ctx.body = { ...by.named, summary, results };
  };

const evaluating = (name: EndpointName, id: string, summary: string, prefix = '') =>
  endpoint(
    name,
    {
      id,
      summary,
      description:
        'Judges results on record without reading any source. What is no longer on record, or is not a request of ' +
        'the caller, is `unknown` with the reason. An output of a tool over 256 KB is not read again: rules about it ' +
        'are `unknown`, too. Nothing is stored: the log keeps the verdict of the request itself.',
      rate: 'request',
      params: NAME_PARAM,
      body: EvaluateBody,
      answer: { description: 'The verdicts.', schema: EvaluateAnswer },
    },
    judge(prefix),
  );

export const evaluateOwnPolicy = evaluating(
  'POST /v1/policy/:name/evaluate',
  'evaluatePolicy',
  'Judge stored results by a policy',
);
export const evaluateSharedPolicy = evaluating(
  'POST /v1/policy/shared/:name/evaluate',
  'evaluateSharedPolicy',
  'Judge stored results by a shared policy',
  SHARED_PREFIX,
);

const FORMATS = ['json', 'junit', 'sarif'] as const;
const VerdictQuery = closed({
  format: choice(FORMATS, 'json', 'json: the member `policy` of the answer; junit: JUnit XML; sarif: SARIF 2.1.0.'),
});

async function storedVerdict(deps: Deps, ctx: Context, record: RequestRecord): Promise<PolicyResult> {
  const asked = readKeptRequest(record).response.policy;
  if (!asked) throw new ApiError('not-found', { text: 'the request named no policy' });
  if (!record.hasBody) return unknownVerdict(asked, record.error ?? 'the request ended without a result');
  const head = await resultFor(deps, ctx, record, readHead);
  if (!head) throw expired();
  return verdictOf(head.value, asked)!;
}

async function readStored(deps: Deps, ctx: Context): Promise<void> {
  const { format } = checkedBy(VerdictQuery, ctx);
  const record = await ownRequest(deps, ctx);
  if (record.state === 'open') throw new ApiError('not-found', { text: 'the request has not ended' });
  const verdict = await storedVerdict(deps, ctx, record);
  ctx.set('X-Policy-Outcome', verdict.outcome);
  // What stands in it comes from the media: no browser may run it as ours.
  ctx.set({ 'Content-Security-Policy': "sandbox; default-src 'none'", 'X-Content-Type-Options': 'nosniff' });
  if (format === 'json') ctx.body = verdict;
  else {
    ctx.type = format === 'junit' ? 'application/xml; charset=utf-8' : 'application/sarif+json; charset=utf-8';
    const policies = [judgedByPolicy(verdict, record.display)];
    ctx.body = format === 'junit' ? junitText(policies) : sarifText(policies);
  }
}

export const readVerdict = endpoint(
  'GET /v1/probe/:id/policy',
  {
    id: 'readVerdict',
    summary: 'Read the verdict of a request',
    description: 'For as long as the result is on record. A request that ended without a result is `unknown`.',
    params: { id: Type.String({ format: 'uuid', description: "The request's id." }) },
    query: VerdictQuery,
    answer: {
      description: 'The verdict.',
      schema: PolicyResultSchema,
      otherTypes: { 'application/xml': Type.String(), 'application/sarif+json': Type.Object({}) },
      headers: POLICY_OUTCOME,
    },
    errors: { 404: 'The caller has no such request, it has not ended, named no policy, or its result has expired.' },
  },
  readStored,
);
