/** Every permission. An administrator has all of them. */
export const PERMISSIONS = [
  'read:admin',
  'read:audit',
  'read:billing',
  'read:invite',
  'read:media',
  'read:profile',
  'read:statistics',
  'read:sub-user',
  'read:user',
  'write:admin',
  'write:billing',
  'write:invite',
  'write:media',
  'write:policy',
  'write:sub-user',
  'write:user',
  'write:webhook',
] as const;
/** A new token gets it only if its maker names it: a program must not change the policy that judges its files. */
export const NAMED_ONLY: Permission = 'write:policy';
export type Permission = (typeof PERMISSIONS)[number];
