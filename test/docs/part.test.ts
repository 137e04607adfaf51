import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rowsOf, writePart } from '../../docs/tables/part.ts';

const PAGE = `# A page

<!-- table: its source -->

| fault | requests |
| --- | --- |
| one \`first\` | 200 |

<!-- /table -->

| fault | what is missing |
| --- | --- |
| a later one | \`first\` |
| \`second\` | a run |
`;

describe('docs: parts of a page', () => {
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-part-'));
  const page = join(folder, 'page.md');
  beforeEach(() => writeFileSync(page, PAGE));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('rows are those of the part, not of another table with the same names', () =>
    assert.deepEqual([...rowsOf(page, 'table')], [['first', '| one `first` | 200 |']]));

  it('writing a part leaves the rest of the page as it is', () => {
    writePart(page, 'table', 'new');
    const [before, after] = PAGE.split(/<!-- table[^]*\/table -->/);
    assert.equal(readFileSync(page, 'utf8'), `${before}<!-- table: its source -->\n\nnew\n\n<!-- /table -->${after}`);
  });

  it('an unknown part is an error', () => assert.throws(() => rowsOf(page, 'other'), /has no part "other"/));
});
