import assert from 'node:assert/strict';
import { page, type Run } from './page.ts';
import { BY_HELM, ON_NODE, ON_SERVER, versions } from './versions.ts';
import { globSync } from 'node:fs';

const run = (version: string, failed: string[] = []): Run => ({
  version,
  exact: `${version}.1`,
  delivery: 'image volumes',
  when: '2026-11-23',
  areas: [{ name: 'Chart', passed: 7, failed }],
});

describe('matrix of Kubernetes versions', () => {
  it('the page has a column for each version, oldest first, and names what failed', () => {
    const text = page([run('1.36'), run('1.9', ['chart > is installed'])]);
    assert.match(text, /\| Tests \| 1\.9\.1 \| 1\.36\.1 \|/);
    assert.match(text, /\| Chart \| \*\*1 failed\*\*, 7 passed \| 7 passed \|/);
    assert.match(text, /- 1\.9\.1: chart > is installed/);
  });

  it('an area that one version lacks is not taken for passed', () => {
    assert.match(page([run('1.36'), { ...run('1.35'), areas: [] }]), /\| Chart \| not run \| 7 passed \|/);
  });

  it('the versions follow one another, and each area has tests', () => {
    assert.deepEqual(versions(), ['1.33', '1.34', '1.35', '1.36', '1.37']);
    for (const [name, patterns] of [...ON_SERVER, ...ON_NODE, ...BY_HELM.map(({ area }) => area)])
      for (const pattern of patterns) assert.ok(globSync(pattern).length > 0, `${name}: ${pattern}`);
  });
});
