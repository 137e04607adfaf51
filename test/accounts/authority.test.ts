import assert from 'node:assert/strict';
import { mayChange, notToGive, reachesNoFurther, subUserDefaults } from '../../src/accounts/authority.ts';
import { PERMISSIONS } from '../../src/store/permissions.ts';
import { USER_PERMISSIONS, type Caller } from '../../src/accounts/caller.ts';

const caller = (role: Caller['role'], permissions: readonly string[] = PERMISSIONS) => ({
  userId: 1,
  role,
  permissions,
});
const target = (role: Caller['role'], parentIds: number[] = []) => ({ id: 2, role, parentIds });

describe('whom a caller may change, and what he may give', () => {
  const changes: [string, boolean, ReturnType<typeof caller>, ReturnType<typeof target>][] = [
    ['a user another', false, caller('user', USER_PERMISSIONS), target('user')],
    ['a user one under him, however deep', true, caller('user', USER_PERMISSIONS), target('sub', [7, 1])],
    ['the caller itself', true, caller('sub', []), { ...target('sub'), id: 1 }],
    ['an administrator a user', true, caller('admin'), target('user')],
    ['an administrator another administrator', false, caller('admin'), target('admin')],
    ['an administrator the root user', false, caller('admin'), target('root')],
    ['the root user an administrator', true, caller('root'), target('admin')],
    ['an administrator by a token that may not', false, caller('admin', USER_PERMISSIONS), target('user')],
    ['a user with the permission of administrators', false, caller('user', PERMISSIONS), target('user')],
  ];
  for (const [what, expected, by, whom] of changes)
    it(`${what}: ${expected ? 'yes' : 'no'}`, () => assert.equal(mayChange(by, whom), expected));

  it('nobody gives what he does not have, and nobody gives what only administrators have', () => {
    const by = caller('user', ['read:media', 'write:media']);
    assert.equal(notToGive(by, ['read:media']), undefined);
    assert.equal(notToGive(by, ['read:media', 'read:statistics']), 'read:statistics');
    assert.equal(notToGive(caller('root'), ['write:admin']), 'write:admin');
    assert.deepEqual(subUserDefaults(by), ['read:media', 'write:media']);
  });

  it('a narrowed credential reaches no wider one', () => {
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
