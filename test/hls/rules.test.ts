import assert from 'node:assert/strict';
import { CHAPTERS, RULES } from '../../src/media/hls/rules/catalog.ts';
import type { Rule } from '../../src/media/hls/rule.ts';
import { examplesOf, type Example } from './examples/index.ts';
import { Host } from './serve.ts';

const isReloaded = (example: Example): boolean => Object.values(example).some((text) => Array.isArray(text));

describe('HLS rules', () => {
  let host: Host;
  before(async () => {
    host = await new Host().start();
  });
  after(() => host.stop());

  const judge = async (example: Example) =>
    (await host.report(host.example(example), { watch: isReloaded(example), limits: { reloads: 1 } })).messages;

  for (const [chapter, rules] of Object.entries(CHAPTERS) as [string, Record<string, Rule>][]) {
    describe(chapter, () => {
      for (const [id, { level, clause, finding, remedy }] of Object.entries(rules)) {
        const { bad, good } = examplesOf(id);
        if (bad !== undefined) {
          it(`${id} is reported for its bad example`, async () => {
            const found = (await judge(bad)).filter(({ code }) => code === id);
            assert.notEqual(found.length, 0);
            assert.deepEqual([found[0]?.level, found[0]?.rule, found[0]?.remedy], [level, clause, remedy]);
            assert.ok(found[0]?.message === finding || found[0]?.message.startsWith(`${finding}: `), found[0]?.message);
            assert.ok((found[0]?.line ?? 0) >= 1);
          });
        }
        if (good !== undefined) {
          it(`${id} is not reported for its good example, which has no must-fix either`, async () => {
            const messages = await judge(good);
            assert.deepEqual(
              messages.filter((message) => message.code === id || message.level === 'must-fix'),
              [],
            );
          });
        }
      }
    });
  }

  for (const [id, { finding, remedy }] of Object.entries(RULES))
    it(`${id} says what is wrong and what to do`, () => {
      // After ": " is what was found: reports for CI systems take what is before it as the title.
      assert.match(finding, /^[A-Z].*[^.:]$/);
      assert.doesNotMatch(finding, /: /);
      assert.match(remedy, /^[A-Z].*\.$/);
    });

  it('have an example each if playlists alone can break them', () => {
    const without = Object.keys(RULES)
      .filter((id) => examplesOf(id).bad === undefined)
      .filter((id) => !Object.hasOwn(CHAPTERS['Measured on segments'], id));
    // Each of these has its own test.
    assert.deepEqual(without.sort(), [
      'analysis-cut',
      'content-type',
      'encoding-utf8',
      'line-too-long',
      'playlists-unread',
      'reload-stale',
      'reload-unreadable',
    ]);
  });
});
