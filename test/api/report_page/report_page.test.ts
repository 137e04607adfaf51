/** The page of a report: what it says of each kind of result, and that text of media stays text. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readPictures, readTimeline } from '../../../src/service/api/report_page/kept_parts.ts';
import { outline } from '../../../src/service/api/report_page/drawings.ts';
import { html, stranger } from '../../../src/service/api/report_page/html.ts';
import { type PageInput, reportPage } from '../../../src/service/api/report_page/report_page.ts';
import type { ProbeReport } from '../../../src/api_types.ts';
import { changesTable } from '../../../src/media/answer/comparison.ts';
import { containerFacts, differencesTable } from '../../../src/media/answer/file.ts';
import { variantsTable } from '../../../src/media/answer/hls.ts';
import { copied, spansIn, type Table } from '../../../src/media/answer/section.ts';
import { aStream, REPORT } from '../../console/sample_answers.ts';
import { LADDER } from '../../console/sample_ladder.ts';
import { random as makeRandom } from '../../source/random.ts';
import { PICTURES } from '../../qc/reports.ts';
import { HOSTILE, PAGES } from './page_samples.ts';

/** As a reader sees it: without tags, entities as their characters. */
const textOf = (page: string): string =>
  page
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ');
/** Pictures of the checks: bytes in base64, and nothing of the media's own text. */
const OWN_IMAGE = /<img src="data:image\/jpeg;base64,[A-Za-z0-9+/=]+" width="\d+" height="\d+" alt="" \/>/g;
const headOf = (page: string): string => textOf(/<header>.*<\/header>/s.exec(page)![0]).trim();

const ladderOf = (peak: number) => ({
  ...LADDER,
  variants: LADDER.variants.map((variant) => ({ ...variant, measured: { peak, average: peak } })),
});

describe('report page: templates', () => {
  const CASES: readonly [name: string, content: unknown, text: string][] = [
    ['markup of a text is text', '<b>"\'&', '&lt;b&gt;&quot;&apos;&amp;'],
    ['controls and directions are named', 'a\u202eb\u0000', 'a[U+202E]b[U+0000]'],
    ['a template is markup', html`<i>${'<'}</i>`, '<i>&lt;</i>'],
    ['what looks like a template is none', { text: '<b>' }, '[object Object]'],
    ['nothing', [null, undefined, false, ''], ''],
    ['zero', 0, '0'],
  ];
  for (const [name, content, text] of CASES) it(name, () => assert.equal(html`${content as string}`.text, text));

  it('a long text is cut, also where its characters take more room by their names', () => {
    assert.match(stranger('x'.repeat(301))!.text, /^<bdi>x{300}… \(301 characters\)<\/bdi>$/);
    assert.ok(stranger('\u202e'.repeat(300))!.text.length < 340);
    assert.equal(stranger(null), null);
  });
});

describe('sections: what is copied of a table', () => {
  const copiedOf = ({ columns, rows }: Table<unknown>, title: string): string[] =>
    rows.map((row) =>
      copied(
        columns.find((column) => column.title === title)!,
        row,
      ),
    );
  const changed = [{ path: 'a', tool: 'ffprobe', level: 'raw', change: 'value', values: { a: 1, b: 2 } } as const];

  it('is bits a second, and a share', () => {
    const variants = variantsTable(ladderOf(3_400_000));
    assert.deepEqual(copiedOf(variants, 'Peak'), ['3000000']);
    assert.deepEqual(copiedOf(variants, 'Measured peak'), ['3400000']);
    assert.deepEqual(copiedOf(differencesTable(REPORT as ProbeReport), 'Confidence'), ['0.7', '']);
  });

  it('has no marks', () => {
    const changes = changesTable('ffprobe', ['a', 'b'], changed);
    assert.deepEqual([copiedOf(changes, 'Field'), copiedOf(changes, 'b')], [['a'], ['2']]);
  });
});

describe('report page: style', () => {
  it('its tokens are those of the console', () => {
    const tokensIn = (file: string) => {
      const text = readFileSync(new URL(`../../../src/${file}`, import.meta.url), 'utf8');
      return new Map([...text.matchAll(/(--[\w-]+):\s*([^;]+);/g)].map(([, name, value]) => [name, value]));
    };
    const [console, page] = [tokensIn('console/style/base.css'), tokensIn('service/api/report_page/report_page.css')];
    assert.ok(page.size > 5);
    for (const [name, value] of page) assert.equal(value, console.get(name), name);
  });
});

/** Looks like one that the sections make. */
const SPAN = { text: 'x'.repeat(500), most: 4e6, as: 'code', to: 'https://evil.example' };

describe('report page', () => {
  /** How the head of each page ends: the parts in their order. */
  const HEADS: Record<keyof typeof PAGES, readonly string[]> = {
    good: [
      'a film.mp4 MP4, 60.0 s, 22.5 MB, H.264 1280x720 at 25 fps, AAC stereo',
      '✓ passes the policy house-delivery revision 3',
      '✓ no disagreement',
      '✓ no warning',
    ],
    disagreement: [
      '✕ fails the policy house-delivery revision 3',
      '⚠ 2 disagreements',
      '⚠ 1 warning',
      '⚠ 1 timeline gap',
      '⚠ 1 backward time jump',
      '⚠ the timeline was cut short',
      'Shared by Ann Smith until 2026-12-03 10:00:00 UTC: whoever has the address of this page can read it.',
    ],
    hls: ['✕ 2 must-fix findings'],
    failed: ['✕ the request failed: the source is not accessible: the name media.example.com does not exist'],
    expired: ['✕ fails the policy house-delivery revision 3', '⚠ the result is no longer kept'],
    hostile: [`until 2026-12-03 10:00:00 UTC: whoever has the address of this page can read it.`],
    comparison: ['a.mp4 and b.mp4', '⚠ 1 changed field'],
    provenance: ['⚠ the C2PA manifest holds, but its signer is not on a list of trust'],
    content: ['⚠ 5 content findings', '⚠ the content checks were cut short'],
    damage: ['⚠ 6 content findings', '⚠ the content checks were cut short'],
    unreadable: [
      '⚠ The report of the file cannot be shown',
      '⚠ The HLS report cannot be shown',
      '⚠ The C2PA report is too long for this page',
      '⚠ The report of the content checks cannot be shown',
      '⚠ The pictures cannot be shown',
      '⚠ The timeline cannot be shown',
    ],
  };
  for (const [name, parts] of Object.entries(HEADS) as [keyof typeof PAGES, readonly string[]][])
    it(`${name}: says first whether it is fine`, () => {
      const head = headOf(reportPage(PAGES[name]));
      assert.ok(head.endsWith(parts.join(' ')), head);
    });

  it('disagreement: tracks, both values with the chosen one, rules with the failed first, remedies', () => {
    const text = textOf(reportPage(PAGES.disagreement));
    for (const part of [
      '0 video h264, high 60 s 1280x720, 25 fps, progressive, 2.9 Mbit/s',
      'streams[1].channels 1 ✓ 2 (chosen) 70 % in test files mediainfo was right in 7 of 10 such cases',
      'does not see it',
      'audio begins 0.2 s after the file late-start streams[1]',
      'Complete up to 590.00 s',
    ])
      assert.ok(text.includes(part), `${part} in ${text}`);
    assert.ok(text.indexOf('✕ fail title') < text.indexOf('✓ pass wrapper'), text);
    assert.ok(textOf(reportPage(PAGES.hls)).includes('Raise the target duration'), 'the remedy of a finding');
    const rated = (peak: number) =>
      textOf(reportPage({ ...PAGES.hls, outputs: { hls: JSON.stringify(ladderOf(peak)) } }));
    assert.match(rated(3_400_000), /3\.4 Mbit\/s above what is declared/);
    // Of 3 Mbit/s, a tenth is allowed.
    assert.match(rated(3_200_000), /3\.2 Mbit\/s(?! above)/);
  });

  it('hls: durations of the segments of each playlist', () => {
    const text = textOf(reportPage(PAGES.hls));
    assert.ok(text.includes('10 6 s to 7.6 s, 1 too long 6 s'), text);
  });

  it('hls: addresses are whole', () => {
    const url = `https://media.example.com/${'films/'.repeat(40)}720p.m3u8`;
    const ladder = JSON.parse(JSON.stringify(LADDER), (name, value: unknown) => (name === 'url' ? url : value));
    const text = textOf(reportPage({ ...PAGES.hls, outputs: { hls: JSON.stringify(ladder) } }));
    const { messages, variants, playlists } = LADDER;
    assert.equal(text.split(url).length - 1, messages.length + variants.length + playlists.length);
  });

  for (const [name, tools, columns] of [
    ['versions', ['4.4', '7.1', '9.0'], ['4.4', '7.1', '9.0']],
    ['two sources', ['a', 'b'], ['a', 'b']],
  ] as const)
    it(`comparison of ${name}: a column of each run, in the order of the tools`, () => {
      const values = Object.fromEntries([
        [columns.at(-1), 2],
        [columns[0], 1],
      ]);
      const field = { path: 'container.duration', tool: 'ffprobe', level: 'canonical', change: 'value', values };
      const summary = { fields: 1, told: 1, known: 0, not_compared: [] };
      const runs = tools.map((run) => ({
        name: run.length === 1 ? `ffprobe of ${run}` : 'ffprobe',
        version: run.length === 1 ? '9.0' : run,
        success: true,
        durationMs: 1,
      }));
      const outputs = { comparison: JSON.stringify({ fields: [field], summary }) };
      const text = textOf(reportPage({ ...PAGES.comparison, tools: runs, outputs }));
      assert.ok(text.includes(`Field Change ${columns.join(' ')} container.duration value 1 `), text);
    });

  it('provenance: the state has the sign of the head', () => {
    const text = textOf(reportPage(PAGES.provenance));
    assert.ok(text.includes('State: ⚠ Valid (the manifest holds, but its signer is not'), text);
  });

  it('content: findings with their times, loudness, and how far the checks came', () => {
    const text = textOf(reportPage(PAGES.content));
    for (const part of [
      'Cut short at 50.00 s',
      'silence 1 40.00 s 50.00 s 10.00 s to the end',
      'black passage 0 – – – 1 further finding not listed',
      'clipping 1 – – – peaks at 0.0 dBFS',
      '2 streams decoded. 2 black passages in stream 0, 1 silence in stream 1.',
      '0 video 60.00 s – –',
      '1 audio 50.00 s -23.0 LUFS -18.2 LUFS 5.0 LU 0.3 dBTP 0.0 dBFS',
      'Stream 9 (audio) was not checked',
      '0.00 s 2.50 s 5.00 s',
      'Sound of stream 1, 0.30 s',
    ])
      assert.ok(text.includes(part), `${part} in ${text}`);
  });

  it('content: more waivers than findings leave none', () => {
    const waived = Array.from({ length: 7 }, (_, stream) => ({
      check: 'clipping' as const,
      stream,
      from: null,
      to: null,
      waived: { waiver: 'id', reason: 'As agreed', by: null, until: '2027-01-31T00:00:00.000Z' },
    }));
    assert.match(headOf(reportPage({ ...PAGES.content, waived })), /✓ no content finding/);
  });

  it('content: damage with its first places, and the hash of the file', () => {
    const text = textOf(reportPage(PAGES.damage));
    for (const part of ['decode errors ✕ blocks 0 – – – 9: 4.20 s (byte 4200) slice CRC mismatch;', 'SHA-256 2222'])
      assert.ok(text.includes(part), `${part} in ${text}`);
  });

  it('pictures are JPEG in base64, or are not shown', () => {
    assert.equal(reportPage(PAGES.content).match(OWN_IMAGE)?.length, 3);
    for (const jpeg of ['', 'PHN2Zz4=', '/9j/"><script>', '/9j/2Q==\n', `/9j/${'A'.repeat(8_000)}`]) {
      const video = { ...PICTURES.video, list: [{ at: 0, jpeg }] };
      assert.equal(readPictures(JSON.stringify({ ...PICTURES, video })), null, jpeg.slice(0, 20));
    }
  });

  it('text of media is never markup, and a page is bounded whatever is in it', () => {
    for (const [name, input] of Object.entries(PAGES)) {
      const page = reportPage(input).replaceAll(OWN_IMAGE, '');
      assert.doesNotMatch(page, /<(?:img|script|style|title|iframe|link|a)\b/i, name);
      // oxlint-disable-next-line no-control-regex
      assert.doesNotMatch(page, /[\u0000-\u0008\u202a-\u202e\u2066-\u2069]/, name);
      assert.ok(page.length < 1_000_000, `${name}: ${page.length} characters`);
    }
    const text = textOf(reportPage(PAGES.hostile));
    assert.ok(text.includes('and 150 more, which are not listed here'), text.slice(0, 2_000));
    assert.ok(text.includes(HOSTILE.slice(0, 30)), 'it is shown');
  });

  it('whatever a runner stored, there is a page, and no markup of it (1,000 changed results)', () => {
    const JUNK = [null, -1, 1e308, true, '', HOSTILE, [], {}, [[HOSTILE]], { length: 9e9 }, SPAN];
    const random = makeRandom(7);
    const changed = (value: unknown): unknown => {
      if (random() < 0.02) return JUNK[Math.floor(random() * JUNK.length)];
      if (Array.isArray(value)) return value.slice(0, 20).map(changed);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, changed(member)]));
    };
    const samples: readonly PageInput[] = Object.values(PAGES);
    for (let at = 0; at < 1_000; at++) {
      const sample = samples[at % samples.length]!;
      const outputs = Object.entries(sample.outputs).map(([name, text]) => {
        const value: unknown = name === 'report' && sample === PAGES.unreadable ? {} : JSON.parse(text ?? 'null');
        return [name, JSON.stringify(changed(value))];
      });
      const input = { ...sample, outputs: Object.fromEntries(outputs) as PageInput['outputs'] };
      const page = reportPage(input).replaceAll(OWN_IMAGE, '');
      assert.match(page, /^<main>.*<h2>About this report<\/h2>.*<\/main>$/s);
      assert.doesNotMatch(page, /<(?:img|script|style|title)\b/i);
      assert.ok(page.length < 1_000_000, `${page.length} characters`);
    }
  });

  it('a value that looks like a span is shown as its JSON, in the style and length of a text', () => {
    const report = { ...REPORT, container: { ...REPORT.container, title: SPAN, encoder: [SPAN] } };
    const facts = containerFacts(report as unknown as ProbeReport).facts.map(([, value]) => spansIn(value));
    const shown = facts.flat().filter(({ text }) => text === JSON.stringify(SPAN));
    assert.deepEqual(
      shown.map(({ as, most, to }) => [as, most, to]),
      [
        [undefined, undefined, undefined],
        [undefined, undefined, undefined],
      ],
    );
    const page = reportPage({ ...PAGES.good, outputs: { report: JSON.stringify(report) } });
    assert.match(page, /<bdi>{&quot;text&quot;:&quot;x+… \(\d+ characters\)/);
    assert.doesNotMatch(page, /x{301}/);
  });

  it('a timeline of many columns is drawn with few points, and keeps its peak', () => {
    const bits = Array.from({ length: 2_000 }, (_, at) => (at === 1_234 ? 9_000 : 10));
    const stored = { version: '9.0', streams_left_out: 0, streams: [aStream({ bits })] };
    const path = outline(readTimeline(JSON.stringify(stored))!.streams[0]!, { from: 0, to: 2_000 });
    assert.equal(path.match(/V0H/g)?.length, 1);
    assert.ok(path.match(/H/g)!.length <= 360);
  });
});
