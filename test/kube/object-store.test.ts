import assert from 'node:assert/strict';
import { ObjectStore } from '../../src/platform/kube/reflector.ts';

interface Thing {
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  tags?: string[];
}

const store = () =>
  new ObjectStore<Thing>({ label: (thing) => thing.metadata.labels?.['x'], tag: (thing) => thing.tags });
const names = (things: Thing[]) => things.map(({ metadata }) => metadata.name).sort();

describe('object store', () => {
  it('finds by index exactly the objects that it holds', () => {
    const things = store();
    things.set({ metadata: { name: 'a', labels: { x: '1' } }, tags: ['t', 'u'] });
    things.set({ metadata: { name: 'b', labels: { x: '1' } }, tags: ['u'] });
    things.set({ metadata: { name: 'c' } });
    assert.deepEqual(names(things.by('label', '1')), ['a', 'b']);
    assert.deepEqual(names(things.by('tag', 't')), ['a']);
    assert.equal(things.countBy('tag', 'u'), 2);
    assert.deepEqual(things.by('label', 'none'), []);
    assert.equal(things.size, 3);
  });

  it('moves a changed object to its new index values', () => {
    const things = store();
    things.set({ metadata: { name: 'a', labels: { x: '1' } }, tags: ['t'] });
    const before = things.set({ metadata: { name: 'a', labels: { x: '2' } } });
    assert.deepEqual(before?.tags, ['t']);
    assert.deepEqual(
      [things.countBy('label', '1'), things.countBy('label', '2'), things.countBy('tag', 't')],
      [0, 1, 0],
    );
  });

  it('removes a deleted object from every index', () => {
    const things = store();
    things.set({ metadata: { name: 'a', namespace: 'n', labels: { x: '1' } }, tags: ['t'] });
    assert.equal(things.delete('a'), undefined, 'the key of a namespaced object has its namespace');
    assert.equal(things.delete('n/a')?.metadata.name, 'a');
    assert.deepEqual([things.size, things.countBy('label', '1'), things.countBy('tag', 't')], [0, 0, 0]);
  });

  it('refuses an unknown index', () => {
    assert.throws(() => store().by('other', 'x'), /no index named other/);
  });
});
