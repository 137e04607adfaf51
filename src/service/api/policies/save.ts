/** `PUT /v1/policy/{name}`: a new revision of a policy of the caller's account. */
import Type from 'typebox';
import { MOST_POLICIES } from '../../../base/limits.ts';
import { MOST_XML_BYTES } from '../../../media/policy/limits.ts';
import { PolicySchema } from '../../../media/policy/schema.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import type { TextBody } from '../http/body.ts';
import { paramOf, tokenOf, type Context } from '../http/context.ts';
import { endpoint } from '../http/endpoint.ts';
import { SAVES_PER_MINUTE, takeSaveRate } from '../http/rate.ts';
import { checkedOwnName } from './names.ts';
import { NAME_PARAM } from './read.ts';
import { policyInText } from './read_text.ts';

const Answer = Type.Object(
  {
    name: Type.String(),
    revision: Type.Integer({ minimum: 1 }),
    changed: Type.Boolean({ description: 'False: the latest revision has this content already.' }),
    untranslated: Type.Array(Type.String(), {
      description: 'Parts of a MediaConch policy that have no equivalent here; the saved policy omits them.',
    }),
  },
  { title: 'PolicySaved', additionalProperties: false },
);

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
    tag: 'policy',
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
    answer: { description: 'The revision.', schema: Answer },
  },
  save,
);
