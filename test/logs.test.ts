/**
 * Log lines name requests and runners only through the functions of src/base/log.ts, so that one request has the same
 * keys in every role.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { requestFields, runnerFields } from '../src/base/log.ts';

const SOURCES = join(import.meta.dirname, '../src');
const CALL = /\blog(?:ger)?(?:\.(?:trace|debug|info|warn|error|fatal|child)|\[[^\]]+\])\(/g;
const BY_HAND = /(?<=[{,]\s*)['"]?(?:request|pod|request_id|requestId|job|runner|runner_uid|podUid)['"]?\s*(?=[:,}])/;

/** The text up to the bracket that closes the one before `start`, without the contents of strings. */
function enclosed(text: string, start: number): string {
  let depth = 1;
  let out = '';
  for (let at = start; at < text.length; at++) {
    const character = text[at]!;
    if (character === "'" || character === '"' || character === '`') {
      const opened = at;
      for (at++; at < text.length && text[at] !== character; at++) if (text[at] === '\\') at++;
      assert.ok(at < text.length, `a string without an end: ${text.slice(opened, opened + 40)}`);
      out += character + character;
      continue;
    }
    if ('([{'.includes(character)) depth++;
    if (')]}'.includes(character) && --depth === 0) return out;
    out += character;
  }
  throw new Error(`a bracket without an end: ${text.slice(start, start + 40)}`);
}

/** Without the calls of the two functions, whose own arguments may have any name. */
function withoutFields(text: string): string {
  let out = text;
  for (let found; (found = /\b(?:requestFields|runnerFields)\(/.exec(out)) !== null;) {
    const from = found.index + found[0].length;
    out = `${out.slice(0, found.index)}FIELDS${out.slice(from + enclosed(out, from).length + 1)}`;
  }
  return out;
}

/** The arguments of each log call, and the objects of the same file that it passes by name. */
function logged(source: string): string[] {
  return Array.from(source.matchAll(CALL), (call) => {
    const given = enclosed(source, call.index + call[0].length);
    const names = Array.from(given.matchAll(/(?:\.\.\.|^)(\w+)\b(?!\()/g), ([, name]) => name!);
    const declared = names.flatMap((name) =>
      Array.from(
        source.matchAll(new RegExp(`\\bconst ${name}(?:: \\w+)? = \\{`, 'g')),
        (found) => `{${enclosed(source, found.index + found[0].length)}}`,
      ),
    );
    return withoutFields([given, ...declared].join('\n'));
  });
}

const byHand = (source: string): string[] => logged(source).filter((text) => BY_HAND.test(text));

describe('log lines', () => {
  const files = globSync('**/*.ts', { cwd: SOURCES }).sort();

  it('name requests and runners through requestFields and runnerFields', () => {
    const calls = files.map((file) => ({ file, source: readFileSync(join(SOURCES, file), 'utf8') }));
    const read = calls.reduce((sum, { source }) => sum + logged(source).length, 0);
    assert.ok(read > 100, `only ${read} log calls were found`);
    assert.deepEqual(
      calls.flatMap(({ file, source }) => byHand(source).map((text) => `${file}: ${text}`)),
      [],
    );
  });

  for (const [what, source, expected] of [
    ['a member', "log.info({ request: id }, 'text');", 1],
    ['a shorthand', "deps.log.warn({ err, job }, 'text');", 1],
    ['the pod of a runner', "this.#deps.log.warn({ pod: runner.pod }, 'text');", 1],
    ['a level that is computed', "log[level]({\n  request_id: id, ms,\n}, 'text');", 1],
    ['a condition', "log.info({ ...(a ? { runner_uid: b } : {}) }, 'text');", 1],
    ['an object with a name', "const line = { request, code };\nlog.error({ ...line, err }, 'text');", 1],
    ['an object as it is', "const line = { job };\nlog.error(line, 'text');", 1],
    ['a logger of its own', 'const own = log.child({ job });', 1],
    [
      'the functions',
      "log.info({ ...requestFields({ id, job }), ...runnerFields({ pod, uid }), ms }, 'text of a job: it');",
      0,
    ],
    ['other members', "log.info({ jobs: 3, pool, tool }, 'request');", 0],
  ] as const) {
    it(`check of ${what}: ${expected === 0 ? 'passes' : 'is refused'}`, () =>
      assert.equal(byHand(source).length, expected));
  }

  it('omit unknown fields', () => {
    assert.deepEqual(requestFields({ id: undefined, job: 'a' }), { job: 'a' });
    assert.deepEqual(requestFields({ id: 'a' }), { request_id: 'a' });
    assert.deepEqual(runnerFields(undefined), {});
    assert.deepEqual(runnerFields({ pod: 'p', uid: 'u' }), { runner: 'p', runner_uid: 'u' });
  });
});
