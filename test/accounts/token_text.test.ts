import assert from 'node:assert/strict';
import { newTokenText, tokenChecksum, type Checksum } from '../../src/service/accounts/token_text.ts';
import { boxKeys } from '../../src/service/setup/secrets.ts';
import { isToken } from '../../src/platform/store/token_text.ts';

type KeySet = Parameters<typeof newTokenText>[0];
const keySet = (...sets: KeySet[]): KeySet =>
  sets.length === 0 ? (JSON.parse(boxKeys()['box.jwks']!) as KeySet) : { keys: sets.flatMap(({ keys }) => keys) };

/** Another letter at this place. */
const altered = (token: string, at: number): string =>
  `${token.slice(0, at)}${token[at] === 'x' ? 'y' : 'x'}${token.slice(at + 1)}`;

describe('token text', () => {
  const [first, second] = [keySet(), keySet()];
  const rotated = keySet(first, second);
  const token = newTokenText(first);
  const ofSecond = newTokenText(rotated);

  it('a new token is 64 letters and digits that begin with probeyard, different each time', () => {
    assert.ok(isToken(token));
    assert.match(token, /^probeyard/);
    assert.equal(new Set(Array.from({ length: 1_000 }, () => newTokenText(first))).size, 1_000);
  });

  const CASES: [what: string, text: string, keys: KeySet, Checksum][] = [
    ['a token', token, first, 'right'],
    ['a token after a rotation', token, rotated, 'right'],
    ['a token by the newest key', ofSecond, rotated, 'right'],
    ['a token by a key that the replica has not read yet', ofSecond, first, 'none'],
    ['a token of another installation', token, second, 'none'],
    ['a token without a key', token, { keys: [] }, 'none'],
    ['an earlier token', 'a'.repeat(64), first, 'none'],
    ['a token chosen by an operator', `probeyard${'a'.repeat(55)}`, first, 'none'],
    ['an invented random part', altered(token, 20), first, 'wrong'],
    ['an invented checksum', altered(token, 63), first, 'wrong'],
    ['the checksum of another token', token.slice(0, 42) + newTokenText(first).slice(42), first, 'wrong'],
    ['a short text', token.slice(0, 50), first, 'wrong'],
  ];
  for (const [what, text, keys, checksum] of CASES)
    it(`the checksum of ${what}: ${checksum}`, () => assert.equal(tokenChecksum(text, keys), checksum));

  it('a key set without a usable key makes no token', () =>
    assert.throws(() => newTokenText({ keys: [] }), { code: 'seal-no-key' }));
});
