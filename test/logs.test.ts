/**
 * Log lines name requests and runners only through the functions of src/base/log.ts, so that one request has the same
 * keys in every role.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { requestFields, runnerFields, sampler } from '../src/base/log.ts';

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

describe('sampled log lines', () => {
  const requests = (count: number, suffix = '') =>
    Array.from({ length: count }, (_, n) => `0197f2a4-0000-7000-8000-${n.toString(16).padStart(12, '0')}${suffix}`);

  it('each second, the first of a text are written, and of the others those of the same requests everywhere', () => {
    let now = 0;
    const [one, other] = [0, 1].map(() => sampler({ perSecond: 3, oneIn: 10 }, () => now));
    const ids = requests(50);
    const weights = ids.map((id) => one!('admitted', id));
    assert.deepEqual(weights.slice(0, 4), [1, 1, 1, 0]);
    const written = (found: number[]) => ids.filter((_, n) => n >= 3 && found[n] === 10);
    assert.deepEqual(
      written(weights),
      [10, 20, 30, 40].map((n) => ids[n]),
    );
    // Another process, at which other requests came first.
    assert.deepEqual(written(ids.map((id) => other!('result recorded', id))), written(weights));
    assert.equal(one!('another text', ids[7]), 1);
    now = 1_000;
    assert.equal(one!('admitted', ids[7]), 1);
  });

  it('lines without an id are counted; one in one is all', () => {
    const counted = sampler({ perSecond: 0, oneIn: 4 }, () => 0);
    assert.deepEqual(
      Array.from({ length: 8 }, () => counted('request', undefined)),
      [0, 0, 0, 4, 0, 0, 0, 4],
    );
    const all = sampler({ perSecond: 0, oneIn: 1 }, () => 0);
    assert.ok(requests(20).every((id) => all('request', id) === 1));
  });

  it('a role writes every unusual line, and says for how many a usual one stands', () => {
    const script =
      `import { frequentIf, makeLog, requestFields } from ${JSON.stringify(join(SOURCES, 'base/log.ts'))};` +
      "const log = makeLog('api', { logLevel: 'info', podName: 'p', logSample: { perSecond: 0, oneIn: 3 } });" +
      "for (let n = 0; n < 6; n++) { const id = 'a-00000' + n;" +
      "log.info({ ...frequentIf(true), ...requestFields({ id }), status: 200 }, 'request');" +
      "log.info({ ...frequentIf(false), ...requestFields({ id }), status: 404 }, 'request');" +
      "log.warn({ err: new Error('x') }, 'text'); log.info('text alone'); }";
    const text = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const told = (status: number) =>
      lines.filter((line) => line['status'] === status).map(({ request_id: id, sampled }) => [id, sampled]);
    assert.deepEqual(told(200), [
      ['a-000000', 3],
      ['a-000003', 3],
    ]);
    assert.equal(told(404).length, 6);
    assert.equal(lines.length, 2 + 6 + 12);
  });
});
