import assert from 'node:assert/strict';
import { packagesToFetch } from './debian_program.ts';

describe('programs of Debian', () => {
  const needed = ['chromium', 'chromium-common', 'libnss3', 'libc6'];
  const rows: [title: string, installed: Record<string, string>, fetched: string[]][] = [
    ['fetch everything where nothing is installed', {}, needed],
    ['fetch no library that is installed', { libc6: 'glibc' }, ['chromium', 'chromium-common', 'libnss3']],
    [
      'fetch their own parts, installed or not',
      { chromium: 'chromium', 'chromium-common': 'chromium', libnss3: 'nss', libc6: 'glibc' },
      ['chromium', 'chromium-common'],
    ],
  ];
  for (const [title, installed, fetched] of rows)
    it(title, () => {
      assert.deepEqual(packagesToFetch(needed, new Map(Object.entries(installed)), 'chromium'), fetched);
    });
});
