/** What an issuer says of a person, and what follows from their groups. */
import assert from 'node:assert/strict';
import type { IssuerSettings } from '../../../src/base/issuer_settings.ts';
import { accessOf, notFrom, personOf, type Access, type Person } from '../../../src/service/api/sso/person.ts';

const NAMES = { email: 'email', groups: 'groups' };
const CLAIMS = { iss: 'https://id.example', sub: 'one', email: 'ada@example.org', groups: ['staff'] };
const ADA: Person = {
  issuer: 'https://id.example',
  subject: 'one',
  email: 'ada@example.org',
  isVerified: null,
  firstName: '',
  lastName: '',
  groups: ['staff'],
};

describe('single sign-on: claims', () => {
  const cases: [string, object, Partial<Person>, Partial<typeof NAMES>?][] = [
    ['the usual ones', {}, {}],
    ['names', { given_name: ' Ada ', family_name: 'Lovelace' }, { firstName: 'Ada', lastName: 'Lovelace' }],
    ['one name for all', { name: 'Ada Lovelace' }, { firstName: 'Ada Lovelace' }],
    ['a name with hidden characters', { given_name: 'A\u202Ed\u0000a' }, { firstName: 'Ada' }],
    ['a name that is too long', { given_name: '\u{1F600}'.repeat(200) }, { firstName: '\u{1F600}'.repeat(100) }],
    ['a name that is no text', { given_name: 7 }, {}],
    ['a confirmed address', { email_verified: true }, { isVerified: true }],
    ['an unconfirmed address', { email_verified: false }, { isVerified: false }],
    ['a text in place of a boolean', { email_verified: 'false' }, {}],
    ['no address', { email: undefined }, { email: null }],
    ['an address with a letter that lower case makes another one', { email: '\u212A@example.org' }, { email: null }],
    ['two addresses', { email: 'a@b@example.org' }, { email: null }],
    ['an address with a line break', { email: 'ada@example.org\n' }, { email: null }],
    ['another claim for the address', { upn: 'a@example.org' }, { email: 'a@example.org' }, { email: 'upn' }],
    ['no groups', { groups: undefined }, { groups: null }],
    ['one group as a text', { hd: 'example.org' }, { groups: ['example.org'] }, { groups: 'hd' }],
    ['groups that are no texts', { groups: ['a', 7, null, ['b']] }, { groups: ['a'] }],
    ['groups elsewhere', { groups: { a: 1 } }, { groups: null }],
    ['groups at a path', { realm: { roles: ['x'] } }, { groups: ['x'] }, { groups: 'realm.roles' }],
    ['a claim whose name has dots', { 'https://x.y/g': ['z'] }, { groups: ['z'] }, { groups: 'https://x.y/g' }],
    ['a path to what every object has', {}, { groups: null }, { groups: 'constructor.name' }],
  ];
  for (const [title, claims, expected, names] of cases)
    it(`reads ${title}`, () => {
      assert.deepEqual(personOf({ ...CLAIMS, ...claims }, { ...NAMES, ...names }), { ...ADA, ...expected });
    });

  for (const sub of [undefined, '', 'a\u0000', 'x'.repeat(256), 7])
    it(`refuses the subject ${JSON.stringify(sub)?.slice(0, 20)}`, () => {
      assert.equal(personOf({ ...CLAIMS, sub }, NAMES), null);
    });
});

describe('single sign-on: what groups give', () => {
  const GIVEN: IssuerSettings['groups'] = { staff: 'user', admins: 'admin', north: 7, south: 3 };
  const admin: Access = { role: 'admin', parentId: null };
  const user: Access = { role: 'user', parentId: null };
  const below = (parentId: number): Access => ({ role: 'sub', parentId });
  type Now = Parameters<typeof accessOf>[2];
  const own = (role: 'root' | 'admin' | 'user'): Now => ({ role, parentId: null });
  const member = (parentId: number): Now => ({ role: 'sub', parentId });
  const cases: [string[], Now, Access | null][] = [
    [[], null, null],
    [['others', 'toString', '__proto__', 'Staff'], null, null],
    [['staff'], null, user],
    [['others', 'staff', 'admins'], null, admin],
    [['staff', 'north'], null, below(7)],
    [['north', 'south'], null, below(3)],
    [['north', 'admins'], null, admin],
    // A user stays where they are.
    [['north', 'south'], member(7), below(7)],
    [['north', 'admins'], member(7), below(7)],
    [['south', 'staff', 'admins'], member(7), null],
    [['staff', 'north'], own('user'), user],
    [['staff', 'admins'], own('user'), admin],
    [['staff'], own('admin'), user],
    [['north'], own('user'), null],
    [['admins'], own('root'), admin],
    [['staff', 'north'], own('root'), null],
  ];
  for (const [groups, now, expected] of cases)
    it(`${groups.join(', ') || 'none'}; now ${now === null ? 'nobody' : `${now.role} ${now.parentId ?? ''}`}`, () => {
      assert.deepEqual(accessOf(groups, GIVEN, now), expected);
    });
});

describe('single sign-on: who is not let in, whatever their groups are', () => {
  const cases: [string, Partial<Person>, string[], RegExp | null][] = [
    ['an address, where all may come', {}, [], null],
    ['no address', { email: null }, [], /^Corp gave no e-mail address/],
    ['an unconfirmed address', { isVerified: false }, [], /has not confirmed/],
    ['another domain', {}, ['example.com'], /^addresses of example\.org have no access$/],
    ['a domain that ends alike', { email: 'a@notexample.org' }, ['example.org'], /notexample\.org/],
    ['a subdomain', { email: 'a@x.example.org' }, ['example.org'], /x\.example\.org/],
    ['the domain in other letters', { email: 'a@EXAMPLE.org' }, ['Example.ORG'], null],
  ];
  for (const [title, change, allowedDomains, expected] of cases)
    it(title, () => {
      const refused = notFrom({ ...ADA, ...change }, { name: 'Corp', allowedDomains } as unknown as IssuerSettings);
      if (expected === null) assert.equal(refused, null);
      else assert.match(refused ?? '', expected);
    });
});
