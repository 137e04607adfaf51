/** `GET /v1/policy/{name}` and `GET /v1/policy/shared/{name}`: one revision of a policy. */
import Type from 'typebox';
import { SHARED_PREFIX } from '../../../platform/kube/probe_policy.ts';
import { PolicySchema } from '../../../media/policy/schema.ts';
import type { SavedPolicy } from '../../../platform/store/policies.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { paramOf, tokenOf, type Context } from '../http/context.ts';
import { endpoint, type EndpointName } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';
import { findNamed, unknownPolicy } from './names.ts';
import { PolicyRow, REVISION, shownRevision, shownRow } from './shown_policy.ts';

export const RevisionField = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  minimum: 1,
  maximum: 2_147_483_647,
  default: null,
  description: 'A revision; by default the latest.',
});
const Query = Type.Object({ revision: RevisionField }, { additionalProperties: false });

const Answer = Type.Object(
  {
    ...PolicyRow.properties,
    policy: PolicySchema,
    revisions: Type.Array(Type.Object(REVISION), { description: 'The revisions on record, the newest first.' }),
  },
  { title: 'SavedPolicy', additionalProperties: false },
);

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
    const { revision } = checkedBy(Query, ctx);
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
      tag: 'policy',
      summary,
      params: NAME_PARAM,
      query: Query,
      answer: { description: 'The policy.', schema: Answer },
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
