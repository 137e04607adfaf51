import assert from 'node:assert/strict';
import { summaryOf } from '../../bench/summary.ts';

describe('bench: the summary of aims', () => {
  it('shows each aim with its comparison, its verdict and the load', () => {
    const measured = `## warm: a title

2026-11-24, 2 × AMD. Before: load 2.5 6.3 8.9; a sync of 2 KB to disk 0.2 ms. After: load 4.8 5.2 7.9.

| what | unit | n | p50 | p99 | spread | compared with | its p50 | ratio | aim | reached |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| whole | ms | 9 | 29.8 | 113 | 22 to 120 | bare | 12.2 | 2.44 × | ≤ 2.0 × bare | NO |
| added (a note, which is long) | ms | 9 | 10.1 | 20 | 9.0 to 21 |  |  |  | ≤ 15 ms | yes |
| — a part | ms | 9 | 1 | 2 |  |  |  |  |  |  |
`;
    const byHand = `## far: a title

| file | ratio | aim ≤ 0.4 × | MB | ratio | aim ≤ 0.5 × |
| --- | --- | --- | --- | --- | --- |
| a.mxf | 0.52 × | NO | 27 | 0.45 × | yes |
`;
    const lines = summaryOf([
      measured,
      '## unit: without aims\n\n| file | before |\n| --- | --- |\n| a | 1 |\n',
      byHand,
    ]).split('\n');
    assert.match(lines[2] ?? '', /^2 of 4 are reached\./);
    assert.deepEqual(lines.slice(7), [
      '| warm | 1 of 2 | whole: 2.44 ×, p99 113 (aim ≤ 2.0 × bare) | 2026-11-24, load 2.5 |',
      '| far | 1 of 2 | a.mxf: 0.52 × (aim ≤ 0.4 ×) |  |',
      '',
      '### Each aim',
      '',
      '| section | what | measured | spread | compared with | aim | reached | when |',
      '| --- | --- | --- | --- | --- | --- | --- | --- |',
      '| warm | whole | 2.44 ×, p99 113 | 22 to 120 | bare: 12.2 | ≤ 2.0 × bare | **no** | 2026-11-24, load 2.5 |',
      '| warm | added | 10.1 ms, p99 20 | 9.0 to 21 |  | ≤ 15 ms | yes | 2026-11-24, load 2.5 |',
      '| far | a.mxf | 0.52 × |  |  | ≤ 0.4 × | **no** |  |',
      '| far | a.mxf | 0.45 × |  |  | ≤ 0.5 × | yes |  |',
      '',
    ]);
  });
});
