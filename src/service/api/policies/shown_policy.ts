/** Policies as callers see them. */
import Type, { type Static } from 'typebox';
import type { PolicyRevision } from '../../../platform/store/policies.ts';
import { shownName } from './names.ts';

export const REVISION = {
  revision: Type.Integer({ minimum: 1 }),
  created_at: Type.String({ format: 'date-time', description: 'When the revision was saved.' }),
  user_id: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'The user who saved the revision; null for a shared policy.',
  }),
};

export const PolicyRow = Type.Object(
  {
    name: Type.String({ description: '`shared/NAME` if the policy is shared.' }),
    ...REVISION,
    description: Type.Optional(Type.String()),
  },
  { title: 'PolicyRow', additionalProperties: false },
);

export const shownRevision = ({ revision, createdAt, userId }: PolicyRevision) => ({
  revision,
  created_at: createdAt.toISOString(),
  user_id: userId,
});

export const shownRow = (policy: PolicyRevision): Static<typeof PolicyRow> => ({
  name: shownName(policy),
  ...shownRevision(policy),
  ...(policy.description === null ? {} : { description: policy.description }),
});
