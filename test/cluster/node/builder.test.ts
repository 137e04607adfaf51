/** The lines of `make up` and `make status` about tools that are still being built. */
import assert from 'node:assert/strict';
import { builderLog, builderStatus, lineOf } from '../../node/builder.ts';

describe('background builder', () => {
  const since = '2026-11-22T18:39:09.000Z';
  const progress = { tools: ['ffprobe-9.0', 'c2pa-0.90.22'], since };
  for (const [title, given, running, line] of [
    [
      'is running',
      progress,
      true,
      `ffprobe-9.0, then c2pa-0.90.22: being built in the background since ${since} (log: ${builderLog})`,
    ],
    [
      'has many left',
      { since, tools: ['ffprobe-6.1', 'ffprobe-6.0', 'ffprobe-9.0', 'c2pa-0.90.22'] },
      true,
      `ffprobe-6.1 and 3 further tool versions: being built in the background since ${since} (log: ${builderLog})`,
    ],
    [
      'was killed',
      progress,
      false,
      `ffprobe-9.0, c2pa-0.90.22: not built: the builder was ended; make up tries again (log: ${builderLog})`,
    ],
    [
      'failed',
      { ...progress, tools: ['c2pa-0.90.22'], error: 'the disk is full' },
      false,
      `c2pa-0.90.22: not built: the disk is full; make up tries again (log: ${builderLog})`,
    ],
  ] as const)
    it(`${title}: the status line says so, and what to do`, () =>
      assert.equal(lineOf({ ...given, tools: [...given.tools] }, running), line));

  it('has nothing left to build when the tests run', async () => {
    assert.equal(await builderStatus(), undefined);
  });
});
