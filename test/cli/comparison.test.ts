/** Which fields of a comparison the command line tells, in which order, and the exit code that follows. */
import assert from 'node:assert/strict';
import type { ChangedField, ComparisonAnswer } from '../../src/api_types.ts';
import { comparedExit, comparisonIn, comparisonText } from '../../src/cli/commands/compare_command.ts';

const CHANGES = { type: 0, value: 0, renamed: 0, removed: 0, added: 0, rounding: 0 };
const PLAIN = { colour: false, interactive: false, width: 80 };
const EVERYTHING = { ignored: [], news: false };

const field = (path: string, level: 'raw' | 'canonical' = 'raw', isKnown = false): ChangedField => ({
  path,
  tool: 'ffprobe',
  level,
  change: 'value',
  values: { a: 1, b: 2 },
  ...(isKnown ? { known: { release: '5.0', note: 'Renamed.' } } : {}),
});

/** `unlisted`: fields that the API counts without listing them. */
function answer(fields: ChangedField[], unlisted = { canonical: 0, raw: 0, known: 0 }): ComparisonAnswer {
  const of = (level: 'raw' | 'canonical') => fields.filter((one) => one.level === level).length + unlisted[level];
  const run = (name: string) =>
    ({ run: name, tool: 'ffprobe', version: '7.1', build: null, success: true, duration: 1, usage: 1 }) as const;
  return {
    success: true,
    metadata: { queue_time: 0, io_usage: 0 },
    runs: [run('a'), run('b')],
    fields,
    summary: {
      fields: fields.length + unlisted.canonical + unlisted.raw,
      told: fields.length,
      known: fields.filter(({ known }) => known).length + unlisted.known,
      canonical: of('canonical'),
      raw: of('raw'),
      changes: { ...CHANGES, value: fields.length },
      not_compared: [],
    },
  };
}

const FIELDS = [
  field('video[0].size.width', 'canonical'),
  field('video[0].size.height', 'canonical', true),
  field('format.tags.encoder'),
  field('format.tags["com.x.y"]'),
  field('format.tags_of_another'),
  field('streams[0].index'),
  field('streams[1].index', 'raw', true),
  field('media.track[@type=Audio].ID'),
];
const paths = (view: Parameters<typeof comparisonIn>[1]): string[] =>
  comparisonIn(answer(FIELDS), view).fields.map(({ path }) => path);
const without = (...left: string[]): string[] => FIELDS.map(({ path }) => path).filter((path) => !left.includes(path));

describe('comparisons on the command line', () => {
  const IGNORED: [string, string[]][] = [
    ['format.tags', ['format.tags.encoder', 'format.tags["com.x.y"]']],
    ['format.tags.encoder', ['format.tags.encoder']],
    ['streams[].index', ['streams[0].index', 'streams[1].index']],
    ['streams[1].index', ['streams[1].index']],
    ['streams', ['streams[0].index', 'streams[1].index']],
    ['media.track[@type=Audio]', ['media.track[@type=Audio].ID']],
    ['video[].size', ['video[0].size.width', 'video[0].size.height']],
    ['stream', []],
    ['index', []],
    ['', []],
  ];
  for (const [ignored, left] of IGNORED)
    it(`--ignore ${ignored || "''"} leaves out ${left.join(' and ') || 'nothing'}`, () =>
      assert.deepEqual(paths({ ignored: [ignored], news: false }), without(...left)));

  it('--level and --news leave out the others, and the summary counts what is left', () => {
    const { fields, summary } = comparisonIn(answer(FIELDS), { level: 'canonical', ignored: [], news: true });
    assert.deepEqual(
      fields.map(({ path }) => path),
      ['video[0].size.width'],
    );
    assert.deepEqual(
      [summary.fields, summary.told, summary.known, summary.canonical, summary.raw, summary.changes.value],
      [1, 1, 0, 1, 0, 1],
    );
  });

  it('fields that the API does not list are still counted, as far as they may be meant', () => {
    const unlisted = { canonical: 0, raw: 7, known: 5 };
    const count = (view: Parameters<typeof comparisonIn>[1]): number =>
      comparisonIn(answer(FIELDS, unlisted), view).summary.fields;
    assert.equal(count(EVERYTHING), FIELDS.length + 7);
    assert.equal(count({ ...EVERYTHING, level: 'canonical' }), 2);
    assert.equal(count({ ...EVERYTHING, news: true }), 6 + 2);
  });

  it('exits with 3 where all that is listed is ignored, and more fields differ', () => {
    const view = { ignored: ['format', 'streams', 'video', 'media'], news: false };
    const left = comparisonIn(answer(FIELDS), view);
    const more = comparisonIn(answer(FIELDS, { canonical: 0, raw: 1, known: 0 }), view);
    assert.deepEqual([comparedExit(left, 1), comparedExit(more, 1)], [0, 3]);
    assert.equal(comparedExit(more, 0), 0, 'no exit code was asked for');
    assert.equal(comparedExit(answer(FIELDS), 1), 1);
    assert.equal(comparedExit({ ...answer(FIELDS), success: false }, 1), 3);
  });

  it('prints news first, then known changes with their release', () => {
    const lines = comparisonText(PLAIN as never, answer(FIELDS)).split('\n');
    assert.equal(lines[0], '6 fields differ:');
    assert.match(lines[1]!, /^FIELD +TOOL +LEVEL +CHANGE +A +B$/);
    assert.equal(lines[8], '2 known changes of a release:');
    assert.match(lines[9]!, /^FIELD +TOOL +LEVEL +CHANGE +A +B +KNOWN$/);
    assert.match(lines[10]!, /since 5\.0: Renamed\.$/);
    const text = (fields: ChangedField[]) => comparisonText(PLAIN as never, answer(fields));
    assert.match(text([field('a')]), /^1 field differs:\n/);
    assert.match(text([field('a', 'raw', true)]), /^nothing but 1 known change of a release:\n/);
    assert.equal(text([]), 'no field differs\n');
  });

  it('says what is not listed and not compared as the report page does', () => {
    const { summary, ...rest } = answer([field('a')], { canonical: 0, raw: 2, known: 0 });
    const left = [{ tool: 'mediainfo', run: 'b', why: 'it failed' }] as const;
    const text = comparisonText(PLAIN as never, { ...rest, summary: { ...summary, not_compared: [...left] } });
    assert.match(text, /\n2 further fields that change are not listed\.\nmediainfo b is not compared: it failed\n$/);
  });

  it('prints the reason where nothing could be compared, and not that no field differs', () => {
    const { runs, ...rest } = answer([]);
    const failed = { success: false, error: 'the host answered 404', code: 'http-404' };
    const text = comparisonText(PLAIN as never, {
      ...rest,
      success: false,
      error: 'fewer than two runs of one tool succeeded',
      code: 'http-404',
      runs: [runs[0]!, { ...runs[1]!, ...failed }],
    });
    assert.deepEqual(text.split('\n'), [
      'failed ffprobe 7.1: the host answered 404 (http-404)',
      'unknown fewer than two runs of one tool succeeded (http-404)',
      '',
    ]);
  });
});
