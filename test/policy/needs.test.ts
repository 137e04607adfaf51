import assert from 'node:assert/strict';
import { asksForIntegrity, asksForPictures, checksOf } from '../../src/media/policy/needs.ts';
import type { Condition } from '../../src/media/policy/schema.ts';

const policyOf = (condition: Condition) => ({ rules: [{ name: 'r', ...condition }] });

describe('policy: needs', () => {
  for (const [condition, expected] of [
    [{ field: 'video[0].captions', exists: true }, true],
    [{ each: 'video', all: [{ field: 'captions', exists: true }] }, true],
    [{ when: { field: 'video[1].pulldown', is: true }, count: 'video', is: 1 }, true],
    [{ field: 'video[0].hdr.dolby_vision_rpu', is: false }, true],
    [{ field: 'video[0].hdr.formats', is: 'HDR10' }, false],
    [{ field: 'container.title', is: 'captions' }, false],
    [{ count: 'video', is: 1 }, false],
  ] as const satisfies readonly (readonly [object, boolean])[])
    it(`${JSON.stringify(condition)} ${expected ? 'reads pictures' : 'reads no pictures'}`, () =>
      assert.equal(asksForPictures(policyOf(condition as unknown as Condition)), expected));

  for (const [path, expected] of [
    ['integrity.streams[*].errors.count', true],
    ['file.as_given', true],
    ['"integrity".cut', true],
    ['"file".cut', true],
    ['video[*].black.count', false],
    ['cut', false],
  ] as const)
    it(`qc ${path} ${expected ? 'looks' : 'does not look'} for damage`, () =>
      assert.equal(asksForIntegrity(policyOf({ any: [{ tool: 'qc', path, absent: true }] })), expected));

  it('names the checks that conditions inside others ask for', () => {
    const inner: Condition[] = [{ findings: { 'must-fix': 0 } }, { count: 'video', is: 1 }];
    assert.deepEqual(checksOf(policyOf({ any: inner })), ['msv']);
    const black: Condition = { tool: 'qc', path: 'video[*].black.count', 'at-most': 0 };
    assert.deepEqual(checksOf(policyOf({ count: 'audio', is: 1, when: { none: [black] } })), ['qc']);
    assert.deepEqual(checksOf(policyOf({ count: 'video', is: 1 })), []);
  });
});
