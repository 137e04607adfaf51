import assert from 'node:assert/strict';
import { mayChange, notToGive, reachesNoFurther, subUserDefaults } from '../../src/service/accounts/authority.ts';
import { PERMISSIONS } from '../../src/platform/store/permissions.ts';
import { USER_PERMISSIONS, type Caller } from '../../src/service/accounts/caller.ts';

const caller = (role: Caller['role'], permissions: readonly string[] = PERMISSIONS) => ({
  userId: 1,
  role,
  permissions,
});
const target = (role: Caller['role'], parentIds: number[] = []) => ({ id: 2, role, parentIds });

describe('permissions of a caller', () => {
  const changes: [string, boolean, ReturnType<typeof caller>, ReturnType<typeof target>][] = [
    ['a user changes another user', false, caller('user', USER_PERMISSIONS), target('user')],
    ['a user changes a user below, at any depth', true, caller('user', USER_PERMISSIONS), target('sub', [7, 1])],
    ['callers change themselves', true, caller('sub', []), { ...target('sub'), id: 1 }],
    ['an administrator changes a user', true, caller('admin'), target('user')],
    ['an administrator changes another administrator', false, caller('admin'), target('admin')],
    ['an administrator changes the root user', false, caller('admin'), target('root')],
    ['the root user changes an administrator', true, caller('root'), target('admin')],
    [
      'an administrator with a token without the permission changes a user',
      false,
      caller('admin', USER_PERMISSIONS),
      target('user'),
    ],
    [
      'a user with the permission of administrators changes another user',
      false,
      caller('user', PERMISSIONS),
      target('user'),
    ],
  ];
  for (const [what, expected, by, whom] of changes)
    it(`${what}: ${expected ? 'allowed' : 'refused'}`, () => assert.equal(mayChange(by, whom), expected));

  it('a caller can give only their own permissions, and none of those for administrators', () => {
    const by = caller('user', ['read:media', 'write:media']);
    assert.equal(notToGive(by, ['read:media']), undefined);
    assert.equal(notToGive(by, ['read:media', 'read:statistics']), 'read:statistics');
    assert.equal(notToGive(caller('root'), ['write:admin']), 'write:admin');
    assert.deepEqual(subUserDefaults(by), ['read:media', 'write:media']);
  });

  it('a narrowed credential does not reach a wider one', () => {
    const owner = { permissions: ['read:media', 'write:media', 'read:user'], restrictions: ['read:user'] };
    const narrow = caller('user', ['read:media']);
    assert.equal(reachesNoFurther(narrow, owner, ['read:media']), true);
    assert.equal(
      reachesNoFurther(narrow, owner, ['read:user', 'read:media']),
      true,
      'what is restricted is not given by a token',
    );
    assert.equal(reachesNoFurther(narrow, owner, null), false);
    assert.equal(reachesNoFurther(narrow, owner, ['write:media']), false);
  });
});
