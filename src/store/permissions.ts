/** Every permission. An administrator has all of them. */
export const PERMISSIONS = [
  'read:admin',
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
  'write:sub-user',
  'write:user',
] as const;
export type Permission = (typeof PERMISSIONS)[number];
