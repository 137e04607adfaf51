/** Fields of accounts: those of several endpoints, and a user as the API shows them. */
import Type, { type Static } from 'typebox';
import { PERMISSIONS } from '../../../platform/store/permissions.ts';
import { closed, component, oneOf, orNull, PLAIN, time } from '../http/request_fields.ts';
import { ROLES, STATUSES } from '../../accounts/caller.ts';
import type { ShortUser, UserRecord } from '../../../platform/store/users.ts';

const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
export const Email = Type.String({
  maxLength: 254,
  pattern: `^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@${LABEL}(?:\\.${LABEL})+$`,
  description: 'An e-mail address.',
});
export const Password = Type.String({ minLength: 6, maxLength: 72, description: '6 to 72 characters.' });
/** A password to be checked, not set: any text. */
export const GivenPassword = Type.String({ minLength: 1, maxLength: 1024, description: 'The password.' });
const PersonName = Type.String({ maxLength: 100, pattern: PLAIN, description: 'A name.' });
export const Names = { 'first-name': Type.Optional(PersonName), 'last-name': Type.Optional(PersonName) };
export const Jwt = Type.String({ minLength: 1, maxLength: 4096, description: 'The code from the mail.' });
export const RetUrl = Type.Optional(
  Type.String({
    maxLength: 2048,
    pattern: PLAIN,
    description: 'Where to redirect afterwards: echoed if it is a path of this site, else left out.',
  }),
);
export const Permissions = Type.Array(oneOf<string>(PERMISSIONS, { title: 'Permission' }), {
  maxItems: PERMISSIONS.length,
  uniqueItems: true,
  description: 'Names of permissions.',
});
export const Id = Type.String({ description: 'An id.', pattern: '^[0-9]{1,16}$' });
export const Uuid = Type.String({ description: 'An id.', format: 'uuid' });

/** Only accepts a path of this site, never one that a browser resolves to another site. */
export const safeRetUrl = (url: string | undefined): string | null =>
  url !== undefined && /^\/(?![/\\])[^\\]*$/.test(url) ? url : null;

const role = oneOf(ROLES, { title: 'UserRole' });
const status = oneOf(STATUSES, { title: 'UserStatus' });
const texts = Type.Array(Type.String());

const SHORT = { id: Type.Integer(), username: Type.String(), email: Type.String(), role, status };
const ShownShortUser = component('ShortUser', SHORT);

export const ShownUser = component('User', {
  id: Type.Integer(),
  username: Type.String({ description: 'The e-mail address.' }),
  email: Type.String(),
  'additional-emails': texts,
  'first-name': Type.String(),
  'last-name': Type.String(),
  role,
  status,
  parent: Type.Unsafe<Static<typeof ShownShortUser> | null>({ anyOf: [ShownShortUser, { type: 'null' }] }),
  'parent-user-ids': Type.Array(Type.Integer(), { description: 'All accounts above, the topmost first.' }),
  'root-user-id': Type.Integer(),
  permissions: Type.Unsafe<Record<string, { name: string; scopes: string[] }>>({
    type: 'object',
    description: 'By name: `read:media`, with the scope `read`.',
    additionalProperties: closed({ name: Type.String(), scopes: texts }),
  }),
  restrictions: texts,
  plan: closed({ id: Type.Integer(), name: Type.String(), expires: orNull(time()) }),
  created: time(),
  updated: time(),
});

export const ShownListedUser = component('ListedUser', { ...SHORT, created: time(), updated: time() });

const shortUser = ({ id, email, role: itsRole, status: itsStatus }: ShortUser): Static<typeof ShownShortUser> => ({
  id,
  username: email,
  email,
  role: itsRole,
  status: itsStatus,
});

/** `read:media` to `read:media: {name, scopes}`. */
const permissionsByName = (permissions: readonly string[]): Record<string, { name: string; scopes: string[] }> =>
  Object.fromEntries(permissions.map((name) => [name, { name, scopes: [name.split(':', 1)[0]!] }]));

export const shownUser = (user: UserRecord): Static<typeof ShownUser> => ({
  id: user.id,
  username: user.email,
  email: user.email,
  'additional-emails': user.additionalEmails,
  'first-name': user.firstName,
  'last-name': user.lastName,
  role: user.role,
  status: user.status,
  parent: user.parent ? shortUser(user.parent) : null,
  'parent-user-ids': user.parentIds,
  'root-user-id': user.rootId,
  permissions: permissionsByName(user.permissions),
  restrictions: user.restrictions,
  plan: { id: 1, name: 'default', expires: null },
  created: user.createdAt.toISOString(),
  updated: user.updatedAt.toISOString(),
});

export const listedUser = (user: UserRecord): Static<typeof ShownListedUser> => ({
  ...shortUser(user),
  created: user.createdAt.toISOString(),
  updated: user.updatedAt.toISOString(),
});

export const auditedUser = (user: UserRecord) => ({
  email: user.email,
  'first-name': user.firstName,
  'last-name': user.lastName,
  role: user.role,
  status: user.status,
  permissions: user.permissions,
  restrictions: user.restrictions,
});
