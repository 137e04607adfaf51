import assert from 'node:assert/strict';
import { FIELDS } from '../../src/media/report/fields.ts';
import { reportMembers } from '../../docs/tables/report_fields.ts';
import { reportNamesPage } from '../../docs/tables/report_names.ts';

describe('report: schema', () => {
  const members = reportMembers();
  const paths = new Set(members.map(({ path }) => path));

  it('has a meaning and an example for each member', () => {
    const without = members.filter(
      ({ type, meaning, example }) => !meaning || (!example && type !== 'list of objects'),
    );
    assert.deepEqual(without, []);
    assert.ok(members.length > 100);
  });

  it('has each field of the field table where the table shows it', () => {
    for (const [field, { stream, container, atTop, shown }] of Object.entries(FIELDS)) {
      if (field === 'chapters') continue;
      const shapes = shown === 'fraction' ? [`${field}.numerator`, `${field}.denominator`] : [field];
      for (const shape of shapes) {
        if (stream) assert.ok(paths.has(`streams[].${shape}`), `streams[].${shape}`);
        if (container) assert.ok(paths.has(`container.${shape}`), `container.${shape}`);
        if (atTop) assert.ok(paths.has(shape), shape);
      }
    }
  });

  it('lists each name once per table on the page of names', () => {
    for (const table of reportNamesPage().split('\n## ').slice(1)) {
      const names = [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name);
      assert.ok(names.length > 10, table.slice(0, 30));
      assert.equal(new Set(names).size, names.length);
    }
  });
});
