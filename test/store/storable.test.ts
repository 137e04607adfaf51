import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { openDatabase } from '../../src/platform/store/connection.ts';
import { bigint, integer, jsonb, MAX_TEXT, parameters, smallint, storable } from '../../src/platform/store/storable.ts';
import { aCloseInput, anOpenInput, type StoreFixture, startStore } from './fixture.ts';

const NUL = '\0';
const LONE = '\uD800';

describe('store: values that Postgres accepts', function () {
  this.timeout(60_000);

  for (const [title, text, expected] of [
    ['plain text is kept', 'a\n\u{1F3A5}\\u0000', 'a\n\u{1F3A5}\\u0000'],
    ['U+0000 is replaced', `a${NUL}b${NUL}`, 'a\uFFFDb\uFFFD'],
    ['a lone surrogate is replaced', `a${LONE}b`, 'a\uFFFDb'],
    ['a text over the limit is cut', 'x'.repeat(MAX_TEXT + 1), 'x'.repeat(MAX_TEXT)],
    ['a cut leaves no half character', `${'x'.repeat(MAX_TEXT - 1)}\u{1F3A5}`, `${'x'.repeat(MAX_TEXT - 1)}\uFFFD`],
  ] as const)
    it(`text: ${title}`, () => assert.equal(storable(text), expected));

  for (const [title, value] of [
    ['U+0000 in a value', { a: `x${NUL}y` }],
    ['U+0000 in a key', { [`a${NUL}`]: 1 }],
    ['a lone surrogate', { a: [LONE, '\uDFFF'] }],
    ['an escaped backslash before u0000', { a: '\\u0000', b: `\\${NUL}` }],
  ] as const) {
    it(`jsonb: ${title}`, () => {
      const clean = (node: unknown): unknown => {
        if (typeof node === 'string') return storable(node);
        if (Array.isArray(node)) return node.map(clean);
        return typeof node === 'object' && node !== null
          ? Object.fromEntries(Object.entries(node).map(([key, sub]) => [storable(key), clean(sub)]))
          : node;
      };
      assert.deepEqual(JSON.parse(jsonb(value)?.text ?? ''), clean(value));
    });
  }

  it('numbers: clamped to the range of their column', () => {
    assert.deepEqual(
      [smallint(1e10), smallint(-1), integer(1e10), integer(Number.NaN), integer(1.5), bigint(1e300), bigint(7)],
      [32_767, 0, 2_147_483_647, 0, 2, Number.MAX_SAFE_INTEGER, 7],
    );
  });

  it('a plain object as a parameter is refused, because pg would write it as JSON without jsonb()', () => {
    assert.throws(() => parameters([{ a: 1 }]), /jsonb\(\)/);
    assert.deepEqual(parameters([null, undefined, 1, true, new Date(0), Buffer.from('a'), [`a${NUL}`]]), [
      null,
      undefined,
      1,
      true,
      new Date(0),
      Buffer.from('a'),
      ['a\uFFFD'],
    ]);
  });

  it('nothing else in src/platform/store writes JSON', () => {
    const folder = new URL('../../src/platform/store/', import.meta.url);
    const others = globSync('**/*.ts', { cwd: folder.pathname }).filter(
      (file) => file !== 'storable.ts' && readFileSync(new URL(file, folder), 'utf8').includes('JSON.stringify'),
    );
    assert.deepEqual(others, []);
  });

  describe('in a real database', () => {
    let fixture: StoreFixture;
    before(async () => {
      fixture = await startStore();
    });
    after(() => fixture.close());

    it('accepts text, text[] and jsonb with U+0000', async () => {
      const database = openDatabase({ url: fixture.server.url });
      try {
        const value = `a${NUL}b${LONE}`;
        const rows = await database.rows({
          name: 'echo',
          text: 'select $1::text t, $2::text[] list, $3::jsonb j',
          values: [value, [value], jsonb({ [value]: value })],
        });
        assert.deepEqual(rows, [
          { t: 'a\uFFFDb\uFFFD', list: ['a\uFFFDb\uFFFD'], j: { 'a\uFFFDb\uFFFD': 'a\uFFFDb\uFFFD' } },
        ]);
      } finally {
        await database.end();
      }
    });

    it('records a result with U+0000 in its error and version, and ten billion milliseconds', async () => {
      const { store } = fixture;
      const open = anOpenInput(store, { display: `https://example.org/${NUL}`, request: { note: NUL } });
      assert.equal((await store.openRequest(open)).outcome, 'opened');
      const tools = [{ name: 'c2pa' as const, version: `0.1${NUL}`, success: false, durationMs: 1e10, usageMs: 1e10 }];
      const { closed } = await store.closeRequest(
        aCloseInput(open, {
          state: 'error',
          reason: 'ToolFailed',
          error: `unknown variant x${NUL}y`,
          tools,
          ioBytes: 1e15,
          attempt: 100_000,
        }),
      );
      assert.equal(closed, true);
      const record = await store.readRequest(open.id);
      assert.deepEqual(
        [record?.error, record?.display, record?.request],
        ['unknown variant x\uFFFDy', 'https://example.org/\uFFFD', { note: '\uFFFD' }],
      );
      assert.deepEqual(
        await fixture.sql("select usage_ms, attempt, tools->0->>'version' v from requests where id = $1", [open.id]),
        [{ usage_ms: 2_147_483_647, attempt: 32_767, v: '0.1\uFFFD' }],
      );
    });

    it('a value that Postgres refuses is an error of its own, which does not repeat the value', async () => {
      const secret = 'not-a-uuid-but-a-secret';
      await assert.rejects(fixture.store.readRequest(secret), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'bad-data');
        assert.match(error.message, /SQLSTATE 22P02/);
        assert.ok(!`${error.stack}${String(error.cause)}`.includes(secret));
        return true;
      });
    });
  });
});
