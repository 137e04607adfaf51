/** Policies of an account, and the shared ones: list, read a revision, save a new one, delete. */
import Type, { type Static } from 'typebox';
import { type PolicyRevision, type SavedPolicy, SHARED } from '../../../platform/store/policies.ts';
import { checkedOwnName, findNamed, policyInText, shownName, unknownPolicy } from './asked_policy.ts';
import type { Deps } from '../deps.ts';
import { type Context, paramOf, tokenOf } from '../http/request_context.ts';
import { endpoint, type EndpointName } from '../http/endpoint.ts';
import { SHARED_PREFIX } from '../../../platform/kube/probe_policy.ts';
import { PolicySchema } from '../../../media/policy/schema.ts';
import { ApiError } from '../errors.ts';
import { checkedBy, type TextBody } from '../http/read_input.ts';
import { closed, component, orNull } from '../http/request_fields.ts';
import { MOST_POLICIES } from '../../../base/limits.ts';
import { MOST_XML_BYTES } from '../../../media/policy/limits.ts';
import { SAVES_PER_MINUTE, takeSaveRate } from '../http/rate.ts';

const REVISION = {
  revision: Type.Integer({ minimum: 1 }),
  created_at: Type.String({ format: 'date-time', description: 'When the revision was saved.' }),
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

async function list({ store }: Deps, ctx: Context): Promise<void> {
  const { rootUserId } = tokenOf(ctx);
  const policies = await store.latestPolicies([rootUserId, SHARED]);
  const own = policies.filter(({ account }) => account !== SHARED);
  const shared = policies.filter(({ account }) => account === SHARED);
  ctx.body = { policies: [...own, ...shared].map(shownRow) };
}

export const listPolicies = endpoint(
  'GET /v1/policy',
  {
    id: 'listPolicies',
    summary: 'List policies',
    description:
      "The latest revision of each policy of the caller's account, then of each shared policy of the installation.",
    answer: { description: 'The policies.', schema: Type.Object({ policies: Type.Array(PolicyRow) }) },
  },
  list,
);

export const RevisionField = orNull(
  Type.Integer({
    minimum: 1,
    maximum: 2_147_483_647,
    default: null,
    description: 'A revision; by default the latest.',
  }),
);
const RevisionQuery = closed({ revision: RevisionField });

const RevisionAnswer = component('SavedPolicy', {
  ...PolicyRow.properties,
  policy: PolicySchema,
  revisions: Type.Array(Type.Object(REVISION), { description: 'The revisions on record, the newest first.' }),
});

export const NAME_PARAM = { name: Type.String({ description: 'The name of the policy.' }) };

/** A 404 with the nearest name. `find`: useNamed for a revision that is to stay readable. */
export async function savedPolicy(
  { store }: Pick<Deps, 'store'>,
  ctx: Context,
  asked: string,
  revision: number | null,
  find = findNamed,
): Promise<SavedPolicy> {
  const { rootUserId } = tokenOf(ctx);
  const found = await find(store, asked, rootUserId, revision);
  if (found) return found;
  if (revision !== null && (await findNamed(store, asked, rootUserId)))
    throw new ApiError('not-found', { text: `the policy has no revision ${revision}, or it is no longer on record` });
  throw new ApiError('not-found', { text: `the policy ${await unknownPolicy(store, asked, rootUserId)}` });
}

const read = (prefix: string) =>
  async function readPolicyOf(deps: Deps, ctx: Context): Promise<void> {
    const { revision } = checkedBy(RevisionQuery, ctx);
    const found = await savedPolicy(deps, ctx, `${prefix}${paramOf(ctx, 'name')}`, revision);
    const revisions = await deps.store.policyRevisions(found.account, found.name);
    ctx.body = {
      ...shownRow(found),
      policy: JSON.parse(found.document) as unknown,
      revisions: revisions.map(shownRevision),
    };
  };

const reading = (name: EndpointName, id: string, summary: string, prefix = '') =>
  endpoint(
    name,
    {
      id,
      summary,
      params: NAME_PARAM,
      query: RevisionQuery,
      answer: { description: 'The policy.', schema: RevisionAnswer },
    },
    read(prefix),
  );

export const readOwnPolicy = reading('GET /v1/policy/:name', 'readPolicy', 'Read a policy');
export const readSharedPolicy = reading(
  'GET /v1/policy/shared/:name',
  'readSharedPolicy',
  'Read a shared policy',
  SHARED_PREFIX,
);

const SavedAnswer = component('PolicySaved', {
  name: Type.String(),
  revision: Type.Integer({ minimum: 1 }),
  changed: Type.Boolean({ description: 'False: the latest revision has this content already.' }),
  untranslated: Type.Array(Type.String(), {
    description: 'Parts of a MediaConch policy that have no equivalent here; the saved policy omits them.',
  }),
});

const NO_ROOM =
  `the account has reached its limit of ${MOST_POLICIES.documents} policy revisions and documents; ` +
  'revisions that requests on record were judged by are kept';

async function save(deps: Deps, ctx: Context): Promise<void> {
  const { rootUserId, userId } = tokenOf(ctx);
  const name = checkedOwnName(paramOf(ctx, 'name'));
  await takeSaveRate(deps, ctx);
  const { description, untranslated, ...kept } = await policyInText(deps, ctx, ctx.state.checked as TextBody);
  const of = { account: rootUserId, name, description, userId };
  const put = await deps.store.putPolicy(of, kept, MOST_POLICIES);
  if (put.outcome === 'too-many') throw new ApiError('too-many-policies');
  if (put.outcome === 'no-room') throw new ApiError('no-room-for-policy', { text: NO_ROOM });
  ctx.body = { name, revision: put.revision, changed: put.outcome === 'saved', untranslated };
}

const text = (description: string) => Type.String({ description });
const yaml = text('A policy as YAML.');
const xml = text('A policy of MediaConch, without a DTD and of at most 1 MB.');

export const savePolicy = endpoint(
  'PUT /v1/policy/:name',
  {
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
    answer: { description: 'The revision.', schema: SavedAnswer },
  },
  save,
);

async function remove({ store }: Deps, ctx: Context): Promise<void> {
  const { rootUserId } = tokenOf(ctx);
  const name = paramOf(ctx, 'name');
  const isText = /^[\x21-\x7e]{1,64}$/.test(name);
  if (isText && (await store.deletePolicy(rootUserId, name))) ctx.status = 204;
  else throw new ApiError('not-found', { text: `the policy ${await unknownPolicy(store, name, rootUserId)}` });
}

export const deletePolicy = endpoint(
  'DELETE /v1/policy/:name',
  {
    id: 'deletePolicy',
    summary: 'Delete a policy',
    description:
      'Requests that were accepted before are still judged by it, and their results go on naming its revision, which ' +
      '`GET /v1/policy/{name}?revision=` answers for as long as such a request is on record. ' +
      'A policy that is saved under the same name later gets other revision numbers.',
    params: NAME_PARAM,
    answer: { description: 'Deleted.' },
  },
  remove,
);
