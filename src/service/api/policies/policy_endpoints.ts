/**
 * Policies of an account, and the shared ones: list, read a revision, save a new one, delete. Verdicts: stored results
 * judged anew, and the verdict of one request, also as CI systems read it.
 */
import Type, { type Static } from 'typebox';
import { MOST_POLICIES } from '../../../base/limits.ts';
import { junitText } from '../../../media/ci_formats/junit.ts';
import { judgedByPolicy } from '../../../media/ci_formats/policy_rules.ts';
import { sarifText } from '../../../media/ci_formats/sarif.ts';
import { MOST_BYTES, MOST_XML_BYTES } from '../../../media/policy/limits.ts';
import { type Policy, type PolicyResult, PolicyResultSchema, PolicySchema } from '../../../media/policy/schema.ts';
import { withWaivers } from '../../../media/policy/evaluate.ts';
import { OUTCOMES, type Outcome } from '../../../media/policy/types.ts';
import { SHARED_PREFIX } from '../../../platform/kube/probe_policy.ts';
import { type PolicyRevision, type SavedPolicy, SHARED } from '../../../platform/store/policies.ts';
import type { RequestRecord } from '../../../platform/store/requests.ts';
import { readKeptRequest } from '../../result/kept_request.ts';
import { readHead } from '../../result/unpack.ts';
import { type NamedPolicy, unknownVerdict, verdictOf } from '../../result/verdict.ts';
import type { Deps } from '../deps.ts';
import { ApiError, expired, invalid } from '../errors.ts';
import { changesOf, note, withEntry } from '../http/audit.ts';
import { endpoint, type EndpointName } from '../http/endpoint.ts';
import { SAVES_PER_MINUTE, takeRequestRate, takeSaveRate } from '../http/rate.ts';
import type { TextBody } from '../http/read_input.ts';
import { type Context, paramOf, tokenOf } from '../http/request_context.ts';
import { choice, closed, component, nonEmpty, optionalWhole, orNull, time, UUID } from '../http/request_fields.ts';
import { POLICY_OUTCOME } from '../probe/answer_schemas.ts';
import {
  judged,
  type NoResult,
  ownRequest,
  resultFor,
  storedResult,
  type StoredResult,
  untilClosed,
} from '../probe/stored_result.ts';
import { type Of, waiversOf } from '../waivers/applied.ts';
import { checkedOwnName, findNamed, policyInText, shownName, unknownPolicy } from './asked_policy.ts';

const REVISION = {
  revision: Type.Integer({ minimum: 1 }),
  created_at: time('When the revision was saved.'),
  user_id: orNull(Type.Integer({ description: 'The user who saved the revision; null for a shared policy.' })),
};

const PolicyRow = component('PolicyRow', {
  name: Type.String({ description: '`shared/NAME` if the policy is shared.' }),
  ...REVISION,
  description: Type.Optional(Type.String()),
});

const shownRevision = ({ revision, createdAt, userId }: PolicyRevision) => ({
  revision,
  created_at: createdAt.toISOString(),
  user_id: userId,
});

const shownRow = (policy: PolicyRevision): Static<typeof PolicyRow> => ({
  name: shownName(policy),
  ...shownRevision(policy),
  ...(policy.description === null ? {} : { description: policy.description }),
});

export const listPolicies = endpoint('GET /v1/policy', {
  id: 'listPolicies',
  summary: 'List policies',
  description:
    "The latest revision of each policy of the caller's account, then of each shared policy of the installation.",
  answer: { description: 'The policies.', schema: Type.Object({ policies: Type.Array(PolicyRow) }) },
  async work({ store }, ctx) {
    const { rootUserId } = tokenOf(ctx);
    const policies = await store.latestPolicies([rootUserId, SHARED]);
    const own = policies.filter(({ account }) => account !== SHARED);
    const shared = policies.filter(({ account }) => account === SHARED);
    return { policies: [...own, ...shared].map(shownRow) };
  },
});

const RevisionField = optionalWhole(1, 2_147_483_647, 'A revision; by default the latest.');

const NAME_PARAM = { name: Type.String({ description: 'The name of the policy.' }) };

/** A 404 with the nearest name. `usePolicy`: the revision is to stay readable. */
async function savedPolicy(
  { store }: Pick<Deps, 'store'>,
  ctx: Context,
  asked: string,
  revision: number | null,
  how: 'findPolicy' | 'usePolicy' = 'findPolicy',
): Promise<SavedPolicy> {
  const { rootUserId } = tokenOf(ctx);
  const found = await findNamed(store, asked, rootUserId, revision, how);
  if (found) return found;
  if (revision !== null && (await findNamed(store, asked, rootUserId)))
    throw new ApiError('not-found', { text: `the policy has no revision ${revision}, or it is no longer on record` });
  throw new ApiError('not-found', { text: `the policy ${await unknownPolicy(store, asked, rootUserId)}` });
}

const reading = (name: EndpointName, id: string, summary: string, prefix = '') =>
  endpoint(name, {
    id,
    summary,
    params: NAME_PARAM,
    query: closed({ revision: RevisionField }),
    answer: {
      description: 'The policy.',
      schema: component('SavedPolicy', {
        ...PolicyRow.properties,
        policy: PolicySchema,
        revisions: Type.Array(Type.Object(REVISION), { description: 'The revisions on record, the newest first.' }),
      }),
    },
    async work(deps, ctx, { revision }) {
      const found = await savedPolicy(deps, ctx, `${prefix}${paramOf(ctx, 'name')}`, revision);
      const revisions = await deps.store.policyRevisions(found.account, found.name);
      return {
        ...shownRow(found),
        policy: JSON.parse(found.document) as Policy,
        revisions: revisions.map(shownRevision),
      };
    },
  });

export const readOwnPolicy = reading('GET /v1/policy/:name', 'readPolicy', 'Read a policy');
export const readSharedPolicy = reading(
  'GET /v1/policy/shared/:name',
  'readSharedPolicy',
  'Read a shared policy',
  SHARED_PREFIX,
);

const NO_ROOM =
  `the account has reached its limit of ${MOST_POLICIES.documents} policy revisions and documents; ` +
  'revisions that requests on record were judged by are kept';

const yaml = Type.String({ description: 'A policy as YAML.' });
const xml = Type.String({ description: 'A policy of MediaConch, without a DTD and of at most 1 MB.' });

export const savePolicy = endpoint('PUT /v1/policy/:name', {
  id: 'savePolicy',
  summary: 'Save a policy',
  description:
    'Makes a new revision. A revision never changes, and no name gets the same number twice. The same content as ' +
    `that of the latest one makes none. An account has at most ${MOST_POLICIES.policies} policies, and of each ` +
    `the latest ${MOST_POLICIES.revisions} revisions are kept. Earlier ones stay readable by their number for as ` +
    'long as a request that was judged by them is on record; 409 if the account has ' +
    `${MOST_POLICIES.documents} revisions. All users of an account share its policies, and together they save at ` +
    `most ${SAVES_PER_MINUTE} a minute.`,
  params: NAME_PARAM,
  body: PolicySchema,
  bounds: { bytes: MOST_XML_BYTES },
  text: { 'application/yaml': yaml, 'application/xml': xml, 'text/xml': xml },
  bodyExamples: {
    delivery: {
      summary: 'H.264 in MP4',
      value: {
        rules: [
          { name: 'wrapper', field: 'container.format', in: ['mp4', 'mov'] },
          { name: 'video', each: 'video', field: 'codec.name', is: 'h264' },
        ],
      },
    },
  },
  also: [409],
  answer: {
    description: 'The revision.',
    schema: component('PolicySaved', {
      name: Type.String(),
      revision: Type.Integer({ minimum: 1 }),
      changed: Type.Boolean({ description: 'False: the latest revision has this content already.' }),
      untranslated: Type.Array(Type.String(), {
        description: 'Parts of a MediaConch policy that have no equivalent here; the saved policy omits them.',
      }),
    }),
  },
  async work(deps, ctx) {
    const { rootUserId, userId } = tokenOf(ctx);
    const name = checkedOwnName(paramOf(ctx, 'name'));
    await takeSaveRate(deps, ctx);
    const { description, untranslated, ...kept } = await policyInText(deps, ctx, ctx.state.checked as TextBody);
    const of = { account: rootUserId, name, description, userId };
    const put = await withEntry(deps, ctx, async (store) => {
      const saved = await store.putPolicy(of, kept, MOST_POLICIES);
      if (saved.outcome === 'too-many') throw new ApiError('too-many-policies');
      if (saved.outcome === 'no-room') throw new ApiError('no-room-for-policy', { text: NO_ROOM });
      const { revision, outcome } = saved;
      note(ctx, { changes: outcome === 'saved' ? changesOf(null, { revision }) : [] });
      return saved;
    });
    return { name, revision: put.revision, changed: put.outcome === 'saved', untranslated };
  },
});

export const deletePolicy = endpoint('DELETE /v1/policy/:name', {
  id: 'deletePolicy',
  summary: 'Delete a policy',
  description:
    'Requests that were accepted before are still judged by it, and their results go on naming its revision, which ' +
    '`GET /v1/policy/{name}?revision=` answers for as long as such a request is on record. ' +
    'A policy that is saved under the same name later gets other revision numbers.',
  params: NAME_PARAM,
  answer: { description: 'Deleted.' },
  async work(deps, ctx) {
    const { rootUserId } = tokenOf(ctx);
    const name = paramOf(ctx, 'name');
    const isText = /^[\x21-\x7e]{1,64}$/.test(name);
    await withEntry(deps, ctx, async (store) => {
      const last = isText ? await store.findPolicy(rootUserId, name) : null;
      if (!last || !(await store.deletePolicy(rootUserId, name)))
        throw new ApiError('not-found', { text: `the policy ${await unknownPolicy(store, name, rootUserId)}` });
      note(ctx, { changes: changesOf({ revision: last.revision }, null) });
    });
  },
});

// Verdicts.

/** Of one call. A result of a common file is judged in 2 to 10 ms. */
const MOST_REQUESTS = 100;

/** A verdict, whatever became of the result: one that is gone is unknown, with the reason. */
async function verdictOn(
  { work, store }: Pick<Deps, 'work' | 'store'>,
  stored: StoredResult | NoResult,
  { document, named }: Judge,
  account: number,
): Promise<PolicyResult> {
  if ('absent' in stored) return unknownVerdict(named, `the request ${stored.why}`);
  const { record } = stored;
  using _held = stored.place;
  const [verdict] = await work.run(
    'judge',
    { ...judged(stored), documents: [document], options: readKeptRequest(record).options },
    { account, what: 'policy' },
  );
  return await waived({ store }, record, { ...named, ...verdict! });
}

/** As it counts now. */
async function waived(deps: Pick<Deps, 'store'>, of: Of, verdict: PolicyResult): Promise<PolicyResult> {
  if (verdict.name === null) return verdict;
  const { rules } = await waiversOf(deps, of, verdict.name);
  return withWaivers(verdict, rules);
}

interface Judge {
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
  const saved = await savedPolicy(deps, ctx, name, revision, revision === null ? 'findPolicy' : 'usePolicy');
  return {
    document: saved.document,
    named: { name: shownName(saved), revision: saved.revision },
  };
}

const evaluating = (name: EndpointName, id: string, summary: string, prefix = '') =>
  endpoint(name, {
    id,
    summary,
    description:
      'Judges results on record without reading any source. What is no longer on record, or is not a request of ' +
      'the caller, is `unknown` with the reason. An output of a tool over 256 KB is not read again: rules about it ' +
      'are `unknown`, too. Nothing is stored: the log keeps the verdict of the request itself.',
    rate: 'request',
    params: NAME_PARAM,
    body: closed({
      request_ids: Type.Array(Type.String({ pattern: UUID }), {
        minItems: 1,
        maxItems: MOST_REQUESTS,
        description: `Requests of the caller that have ended, at most ${MOST_REQUESTS}.`,
      }),
      revision: RevisionField,
      policy: Type.Optional(
        nonEmpty(
          MOST_BYTES,
          'A policy as YAML or JSON to judge by instead, without saving it: to try a change. There need not be a ' +
            'policy of the name.',
        ),
      ),
    }),
    answer: {
      description: 'The verdicts.',
      schema: component('PolicyEvaluation', {
        name: Type.String(),
        revision: orNull(Type.Integer({ minimum: 1, description: 'Null for a policy that came with the call.' })),
        summary: closed(Object.fromEntries(OUTCOMES.map((outcome) => [outcome, Type.Integer({ minimum: 0 })])), {
          description: 'How many requests have each outcome.',
        }),
        results: Type.Array(closed({ request_id: Type.String({ format: 'uuid' }), policy: PolicyResultSchema }), {
          description: 'In the order of `request_ids`.',
        }),
      }),
    },
    async work(deps, ctx, { request_ids: ids, revision, policy: text }) {
      const distinct = [...new Set(ids.map((one) => one.toLowerCase()))];
      if (distinct.length < ids.length) throw invalid('request_ids', 'must not name a request more than once');
      await takeRequestRate(deps, ctx);
      const by = await judgeOf(deps, ctx, { name: `${prefix}${paramOf(ctx, 'name')}`, revision, text });
      const signal = untilClosed(ctx);
      const counts = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Record<Outcome, number>;
      const results: { request_id: string; policy: PolicyResult }[] = [];
      // One after the other: at any time the call holds one result.
      for (const requestId of distinct) {
        signal.throwIfAborted();
        const stored = await storedResult(deps, ctx, requestId, { signal });
        const verdict = await verdictOn(deps, stored, by, tokenOf(ctx).rootUserId);
        counts[verdict.outcome] += 1;
        results.push({ request_id: requestId, policy: verdict });
      }
      return { ...by.named, summary: counts, results };
    },
  });

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

async function storedVerdict(deps: Deps, ctx: Context, record: RequestRecord): Promise<PolicyResult> {
  const asked = readKeptRequest(record).response.policy;
  if (!asked) throw new ApiError('not-found', { text: 'the request named no policy' });
  if (!record.hasBody) return unknownVerdict(asked, record.error ?? 'the request ended without a result');
  const head = await resultFor(deps, ctx, record, readHead);
  if (!head) throw expired();
  return waived(deps, record, verdictOf(head.value, asked)!);
}

export const readVerdict = endpoint('GET /v1/probe/:id/policy', {
  id: 'readVerdict',
  summary: 'Read the verdict of a request',
  description: 'For as long as the result is on record. A request that ended without a result is `unknown`.',
  params: { id: Type.String({ format: 'uuid', description: "The request's id." }) },
  query: closed({
    format: choice(FORMATS, 'json', 'json: the member `policy` of the answer; junit: JUnit XML; sarif: SARIF 2.1.0.'),
  }),
  answer: {
    description: 'The verdict.',
    schema: PolicyResultSchema,
    otherTypes: { 'application/xml': Type.String(), 'application/sarif+json': Type.Object({}) },
    headers: POLICY_OUTCOME,
  },
  errors: { 404: 'The caller has no such request, it has not ended, named no policy, or its result has expired.' },
  async work(deps, ctx, { format }) {
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
  },
});
