/** The store's calls are those of its files: none may hide another of the same name. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const STORE = new URL('../../src/platform/store/', import.meta.url);

describe('store: calls', () => {
  it('no two files give a call the same name', async () => {
    const files = [
      ...readFileSync(new URL('store.ts', STORE), 'utf8').matchAll(/^import \* as \w+ from '\.\/(.+)';$/gm),
    ];
    assert.ok(files.length > 10);
    const names: string[] = [];
    for (const [, file] of files) {
      const exported = (await import(new URL(file!, STORE).href)) as Record<string, unknown>;
      names.push(...Object.keys(exported).filter((name) => typeof exported[name] === 'function'));
    }
    const twice = names.filter((name, index) => names.indexOf(name) !== index);
    assert.deepEqual(twice, []);
  });
});
