import assert from 'node:assert/strict';
import { summaryOf } from '../../bench/summary.ts';

describe('bench: the summary of aims', () => {
  it('counts the aims of each section, and names those that are missed with the figure', () => {
    const measured = `## warm: a title

| what | unit | n | p50 | p99 | ratio | aim | reached |
| --- | --- | --- | --- | --- | --- | --- | --- |
| whole | ms | 9 | 29.8 | 113 | 2.44 × | ≤ 2.0 × bare | NO |
| added | ms | 9 | 10.1 | 20 |  | ≤ 15 ms | yes |
| — a part | ms | 9 | 1 | 2 |  |  |  |
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
    ]);
    assert.deepEqual(lines.split('\n').slice(4), [
      '| warm | 1 of 2 | whole: 2.44 ×, p99 113, aim ≤ 2.0 × bare |',
      '| far | 1 of 2 | a.mxf: 0.52 ×, aim ≤ 0.4 × |',
      '',
    ]);
  });
});
