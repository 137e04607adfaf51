import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('Makefile', () => {
  const makefile = read('Makefile');
  const targets = [...makefile.matchAll(/^([a-z][a-z0-9-]*):/gm)].map(([, name]) => name!);

  it('declares every target as phony, so that a file of its name cannot hide it', () => {
    const phony = /^\.PHONY: ((?:.*\\\n)*.*)$/m.exec(makefile)?.[1]?.split(/[\s\\]+/) ?? [];
    assert.deepEqual(phony.toSorted(), targets.toSorted());
  });

  it('has a help line for every target', () => {
    for (const name of targets) assert.match(makefile, new RegExp(`^${name}:.*## \\S`, 'm'), name);
  });

  it('runs the same tests as npm', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    assert.deepEqual([scripts['test'], scripts['test:unit']], ['make test', 'make test-unit']);
  });
});
