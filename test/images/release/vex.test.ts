import assert from 'node:assert/strict';
import { readCatalog } from '../../../images/catalog.ts';
import { documentOf, readFindings, statusOf } from '../../../images/vex/vex.ts';

interface Document {
  timestamp: string;
  statements: { vulnerability: { name: string }; status: string; status_notes: string; action_statement?: string }[];
}

describe('vex: status of a finding in a release', () => {
  for (const [title, finding, exact, status] of [
    ['older than the fix of its branch', { fixed: ['5.1.7', '7.1.1'] }, '5.1.2', 'affected'],
    ['the fix of its branch', { fixed: ['5.1.7', '7.1.1'] }, '7.1.1', 'fixed'],
    ['newer than the fix of its branch', { fixed: ['5.1.7'] }, '5.1.9', 'fixed'],
    ['the first release of a fixed branch', { fixed: ['4.0.1'] }, '4.0', 'affected'],
    ['10 is more than 9', { fixed: ['4.0.9'] }, '4.0.10', 'fixed'],
    ['an older branch', { fixed: ['4.3.1'] }, '4.2.2', 'under_investigation'],
    ['a newer branch, which may have begun before the fix', { fixed: ['4.3.3'] }, '4.4', 'under_investigation'],
    ['a newer branch than one whose first release has the fix', { fixed: ['8.1'] }, '9.0.2', 'fixed'],
    ['a release that Debian had to patch', { fixed: [], seen: ['4.3.2'] }, '4.3.2', 'affected'],
    ['no release is known', { fixed: [], seen: ['4.3.2'] }, '6.0', 'under_investigation'],
  ] as const)
    it(title, () =>
      assert.equal(
        statusOf({ fixed: [...finding.fixed], ...('seen' in finding ? { seen: [...finding.seen] } : {}) }, exact),
        status,
      ),
    );

  it('a package of Debian that has the fix', () => {
    const finding = { fixed: [], patched: ['20.09+dfsg-2'] };
    assert.equal(statusOf(finding, '20.09', ['20.09-1', '20.09+dfsg-2']), 'fixed');
    assert.equal(statusOf(finding, '20.09', ['20.09-1', '20.09+dfsg-1']), 'under_investigation');
  });
});

describe('vex: documents', () => {
  const documents = readCatalog().tools.map(({ tool, version, exact }) => ({
    tool,
    document: documentOf({ tool, version, exact, purl: 'pkg:oci/x@sha256%3Aabc?tag=1' }) as Document | undefined,
  }));

  it('every version of ffprobe, qc and mediainfo has one, dated when the changelogs were read', () => {
    for (const { tool, document } of documents) {
      assert.equal(document === undefined, tool === 'c2pa', tool);
      if (document) assert.equal(document.timestamp, `${readFindings().read}T00:00:00Z`);
    }
  });

  it('never says not_affected, says that it is incomplete, and what to do where a version is affected', () => {
    for (const statement of documents.flatMap(({ document }) => document?.statements ?? [])) {
      assert.match(statement.status, /^(?:fixed|affected|under_investigation)$/);
      assert.match(statement.status_notes, /not complete/);
      assert.equal(statement.action_statement !== undefined, statement.status === 'affected');
    }
  });

  it('no finding is named twice', () => {
    const names = readFindings().findings.map(({ id, program }) => `${program} ${id}`);
    assert.deepEqual(names, [...new Set(names)]);
  });
});
