import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { PAGE_SIZE, PageCache, type Page } from '../../src/source/file/cache.ts';
import { PageMemory } from '../../src/source/file/page_memory.ts';

const empty = (): Page => new PageCache(1 << 20, new PageMemory()).add('a', PAGE_SIZE);

describe('a page that is waited for', () => {
  it('is there with all that arrived in a turn', async () => {
    const page = empty();
    let seen: number | undefined;
    const waiting = page.changed().then(() => {
      seen = page.filled;
    });
    for (let i = 0; i < 3; i++) {
      page.append(Buffer.alloc(100));
      await Promise.resolve();
    }
    assert.equal(seen, undefined);
    await waiting;
    assert.equal(seen, 300);
  });

  it('is there at once when it is whole', async () => {
    const page = empty();
    let isSeen = false;
    const waiting = page.changed().then(() => {
      isSeen = true;
    });
    page.append(Buffer.alloc(PAGE_SIZE));
    await Promise.resolve();
    assert.equal(isSeen, true);
    await waiting;
  });

  it('wakes nobody twice', async () => {
    const page = empty();
    const first = page.changed();
    page.append(Buffer.alloc(100));
    page.wake();
    await first;
    let isWoken = false;
    void page.changed().then(() => {
      isWoken = true;
    });
    await turn();
    assert.equal(isWoken, false);
  });
});
