import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { VERSIONED, withVersion } from '../../charts/version.ts';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

describe('version of a release', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  for (const file of VERSIONED)
    it(`is set in ${file}, and nothing else changes`, () => {
      const text = read(file);
      const changed = withVersion(file, text, '12.3.4-rc.1');
      const lines = text.split('\n');
      const others = changed.split('\n').filter((line, index) => line !== lines[index]);
      assert.ok(others.length > 0);
      for (const line of others) assert.match(line, /12\.3\.4-rc\.1/);
      assert.equal(withVersion(file, changed, version), text);
    });

  it('a file that names none is an error, not an old version', () =>
    assert.throws(() => withVersion('src/cli/package.json', '{}', '1.0.0'), /names no version/));
});
