import assert from 'node:assert/strict';
import { newBatchKey, unsealItem, sealItem } from '../../../src/service/api/batch/item_seal.ts';

describe('batch: a sealed address', () => {
  const key = newBatchKey();
  const place = { batch: '01890000-0000-7000-8000-000000000001', n: 7 };
  const address = 'https://user:päss@media.test/film.mp4?sig=1';
  const sealed = sealItem(address, place, key);

  it('opens for its batch and place, and holds no part of the address', () => {
    assert.equal(unsealItem(sealed, place, key), address);
    assert.ok(!sealed.toString('latin1').includes('media.test'));
  });

  it('is another text each time', () => assert.notDeepEqual(sealItem(address, place, key), sealed));

  const changed = Buffer.from(sealed);
  changed[20]! ^= 1;
  for (const [what, text, at, by] of [
    ['another place', sealed, { ...place, n: 8 }, key],
    ['another batch', sealed, { ...place, batch: '01890000-0000-7000-8000-000000000002' }, key],
    ['another key', sealed, place, newBatchKey()],
    ['a changed text', changed, place, key],
    ['a short text', sealed.subarray(0, 20), place, key],
    ['no text', Buffer.alloc(0), place, key],
  ] as const)
    it(`${what}: does not open`, () => {
      assert.throws(() => unsealItem(text, at, by), { code: 'seal-unreadable' });
    });
});
