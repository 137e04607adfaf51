/** `POST /v1/policy/{name}/evaluate`: stored results, judged anew. */
import Type from 'typebox';
import { SHARED_PREFIX } from '../../kube/probe_policy.ts';
import { evaluate } from '../../policy/evaluate.ts';
import { PolicyResultSchema, type PolicyResult } from '../../policy/schema.ts';
import { OUTCOMES, type Outcome, type Policy } from '../../policy/types.ts';
import { readKeptRequest } from '../../result/kept_request.ts';
import { LiftError } from '../../result/lift.ts';
import { OverBudget } from '../../result/memory_budget.ts';
import { openResult } from '../../result/open_result.ts';
import { unpackResult } from '../../result/unpack.ts';
import { unknownVerdict, type NamedPolicy } from '../../result/verdict.ts';
import { isStoreError } from '../../store/errors.ts';
import type { RequestRecord } from '../../store/records.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid } from '../errors.ts';
import { paramOf, tokenOf, type Context } from '../http/context.ts';
import { endpoint, type EndpointName } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';
import { shownName } from './names.ts';
import { NAME_PARAM, RevisionField, savedPolicy } from './read.ts';
import { storedFacts } from './stored_facts.ts';

/** Of one call. A result of a common file is judged in 2 to 10 ms. */
const MOST_REQUESTS = 100;

const Body = Type.Object(
  {
    request_ids: Type.Array(Type.String({ pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' }), {
      minItems: 1,
      maxItems: MOST_REQUESTS,
      description: `Requests of the caller that have ended, at most ${MOST_REQUESTS}.`,
    }),
    revision: RevisionField,
  },
  { additionalProperties: false },
);

const Answer = Type.Object(
  {
    name: Type.String(),
    revision: Type.Integer({ minimum: 1 }),
    summary: Type.Object(Object.fromEntries(OUTCOMES.map((outcome) => [outcome, Type.Integer({ minimum: 0 })])), {
      additionalProperties: false,
      description: 'How many requests have each outcome.',
    }),
    results: Type.Array(
      Type.Object(
        { request_id: Type.String({ format: 'uuid' }), policy: PolicyResultSchema },
        { additionalProperties: false },
      ),
      { description: 'In the order of `request_ids`.' },
    ),
  },
  { title: 'PolicyEvaluation', additionalProperties: false },
);

const NOT_FOUND = 'there is no such request, or it belongs to another account';
const OPEN = 'the request has not ended';
const NO_RESULT = 'the request ended without a result';
const EXPIRED = 'the result has expired';
const UNREADABLE = 'the stored result cannot be read';

interface Judged {
  policy: Policy;
  named: NamedPolicy;
}

/** A verdict, whatever became of the result: one that is gone is unknown, with the reason. */
async function verdictOn(
  { store, memory }: Pick<Deps, 'store' | 'memory'>,
  record: RequestRecord | null,
  { policy, named }: Judged,
  { account, signal }: { account: number; signal: AbortSignal },
): Promise<PolicyResult> {
  if (!record) return unknownVerdict(named, NOT_FOUND);
  if (record.state === 'open') return unknownVerdict(named, OPEN);
  if (!record.hasBody) return unknownVerdict(named, NO_RESULT);
  try {
    const opened = await openResult({ store, memory }, record, account, signal);
    if (!opened) return unknownVerdict(named, EXPIRED);
    try {
      const unpacked = await unpackResult(opened.packed, opened.inflatedBytes);
      const began = performance.now();
      const { options } = readKeptRequest(record);
      const verdict = evaluate(policy, storedFacts(unpacked, { options, display: record.display }));
      await opened.place.pace(performance.now() - began);
      return { ...named, ...verdict };
    } finally {
      opened.place.release();
    }
  } catch (error) {
    if (isStoreError(error, 'not-ready')) return unknownVerdict(named, EXPIRED);
    if (error instanceof LiftError) return unknownVerdict(named, UNREADABLE);
    throw error;
  }
}

const judge = (prefix: string) =>
  async function judgeStored(deps: Deps, ctx: Context): Promise<void> {
    const { request_ids: ids, revision } = checkedBy(Body, ctx);
    const { rootUserId: account, userId } = tokenOf(ctx);
    const distinct = [...new Set(ids.map((id) => id.toLowerCase()))];
    if (distinct.length < ids.length) throw invalid('request_ids', 'must not name a request more than once');
    const saved = await savedPolicy(deps, ctx, `${prefix}${paramOf(ctx, 'name')}`, revision);
    const named = { name: shownName(saved), revision: saved.revision };
    const policy = JSON.parse(saved.document) as Policy;
    const gone = new AbortController();
    const closed = (): void => gone.abort(new ApiError('hung-up'));
    ctx.res.once('close', closed);
    if (ctx.res.closed) closed();
    const summary = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Record<Outcome, number>;
    const results: { request_id: string; policy: PolicyResult }[] = [];
    try {
      // One after the other: at any time the call holds one result.
      for (const id of distinct) {
        gone.signal.throwIfAborted();
        const record = await deps.store.readRequest(id, { userId });
        const verdict = await verdictOn(deps, record, { policy, named }, { account, signal: gone.signal });
        summary[verdict.outcome] += 1;
        results.push({ request_id: id, policy: verdict });
      }
    } catch (error) {
      if (error instanceof OverBudget)
        throw new ApiError('unavailable', { text: 'too many results are being read', retryAfterS: error.retryAfterS });
      throw error;
    } finally {
      ctx.res.off('close', closed);
    }
    ctx.body = { ...named, summary, results };
  };

const evaluating = (name: EndpointName, id: string, summary: string, prefix = '') =>
  endpoint(
    name,
    {
      id,
      tag: 'policy',
      summary,
      description:
        'Judges results on record without reading any source. What is no longer on record, or is not a request of ' +
        'the caller, is `unknown` with the reason. An output of a tool over 256 KB is not read again: rules about it ' +
        'are `unknown`, too. Nothing is stored: the log keeps the verdict of the request itself.',
      params: NAME_PARAM,
      body: Body,
      answer: { description: 'The verdicts.', schema: Answer },
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
