/** `GET /v1/probe/{request_id}/policy`: the verdict of a request, also as CI systems read it. */
import Type from 'typebox';
import { junitText } from '../../../media/ci_formats/junit.ts';
import { judgedByPolicy } from '../../../media/ci_formats/policy_rules.ts';
import { sarifText } from '../../../media/ci_formats/sarif.ts';
import { PolicyResultSchema, type PolicyResult } from '../../../media/policy/schema.ts';
import { readKeptRequest } from '../../result/kept_request.ts';
import { skimResult } from '../../result/skim.ts';
import { unknownVerdict, verdictOf } from '../../result/verdict.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import type { RequestRecord } from '../../../platform/store/records.ts';
import type { Deps } from '../deps.ts';
import { ApiError, expired, notFound } from '../errors.ts';
import { tokenOf, uuidOf, type Context } from '../http/context.ts';
import { endpoint } from '../http/endpoint.ts';
import { choice } from '../http/fields.ts';
import { checkedBy } from '../http/read_input.ts';
import { POLICY_OUTCOME } from '../probe/description/answers.ts';
import { resultFor, unreadable } from '../probe/send_result.ts';

const FORMATS = ['json', 'junit', 'sarif'] as const;
const Query = Type.Object(
  { format: choice(FORMATS, 'json', 'json: the member `policy` of the answer; junit: JUnit XML; sarif: SARIF 2.1.0.') },
  { additionalProperties: false },
);

async function storedVerdict(
  deps: Deps,
  ctx: Context,
  { id, submittedAt, hasBody, inflatedBytes, ...record }: RequestRecord,
): Promise<PolicyResult> {
  const asked = readKeptRequest(record).response.policy;
  if (!asked) throw new ApiError('not-found', { text: 'the request named no policy' });
  if (!hasBody) return unknownVerdict(asked, record.error ?? 'the request ended without a result');
  const result = await resultFor(deps, ctx, { id, submittedAt, inflatedBytes }, tokenOf(ctx).rootUserId);
  if (!result) throw expired();
  try {
    const { body } = await skimResult(result.packed);
    return verdictOf(body, asked)!;
  } catch (error) {
    // Dropped between two reads.
    if (isStoreError(error, 'not-ready')) throw expired();
    throw unreadable(error);
  }
}

async function read(deps: Deps, ctx: Context): Promise<void> {
  const { format } = checkedBy(Query, ctx);
  const id = uuidOf(ctx);
  const record = await deps.store.readRequest(id, { userId: tokenOf(ctx).userId });
  if (!record) throw notFound();
  if (record.state === 'open') throw new ApiError('not-found', { text: 'the request has not ended' });
  const verdict = await storedVerdict(deps, ctx, record);
  ctx.set('X-Policy-Outcome', verdict.outcome);
  // What stands in it comes from the media: no browser may run it as ours.
  ctx.set({ 'Content-Security-Policy': "sandbox; default-src 'none'", 'X-Content-Type-Options': 'nosniff' });
  if (format === 'json') ctx.body = verdict;
  else {
    ctx.type = format === 'junit' ? 'application/xml; charset=utf-8' : 'application/sarif+json; charset=utf-8';
    const judged = [judgedByPolicy(verdict, record.display)];
    ctx.body = format === 'junit' ? junitText(judged) : sarifText(judged);
  }
}

export const readVerdict = endpoint(
  'GET /v1/probe/:id/policy',
  {
    id: 'readVerdict',
    tag: 'policy',
    summary: 'Read the verdict of a request',
    description: 'For as long as the result is on record. A request that ended without a result is `unknown`.',
    params: { id: Type.String({ format: 'uuid', description: "The request's id." }) },
    query: Query,
    answer: {
      description: 'The verdict.',
      schema: PolicyResultSchema,
      otherTypes: { 'application/xml': Type.String(), 'application/sarif+json': Type.Object({}) },
      headers: POLICY_OUTCOME,
    },
    errors: { 404: 'The caller has no such request, it has not ended, named no policy, or its result has expired.' },
  },
  read,
);
