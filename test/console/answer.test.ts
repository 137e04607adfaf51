/** The answer to a request in tabs, over a real record. */
import assert from 'node:assert/strict';
import type { Kind } from '../../src/platform/kube/probe_job.ts';
import type { C2paReport } from '../../src/media/tools/c2pa_schema.ts';
import type { LogState } from '../../src/api_types.ts';
import { signalsOf, verdictOf } from '../../src/console/answer/sentence.ts';
import type { Reports } from '../../src/console/worker/protocol.ts';
import type { Person } from '../api/accounts/fixture.ts';
import { bad, body, good } from '../result/result_samples.ts';
import { consoleTest, visitAs, type Look, type Visit } from './fixture.ts';
import { CHECKS, CLEAN_CHECKS, REPORT, VERDICT } from './sample_answers.ts';
import { LADDER } from './sample_ladder.ts';
import { storeAnswer } from './stored_answer.ts';
import { PICTURES } from '../qc/reports.ts';
import { until } from '../until.ts';
import type { TextBody } from '../result/text_body.ts';

const C2PA: C2paReport = {
  active_manifest: 'urn:c2pa:one',
  manifests: {
    'urn:c2pa:one': { title: 'photo.jpg', claim_generator: 'Editor/1.0', signature_info: { issuer: 'Example Press' } },
  },
  validation_state: 'Valid',
  validation_results: {
    activeManifest: {
      success: [{ code: 'claimSignature.validated', explanation: 'claim signature valid' }],
      failure: [{ code: 'signingCredential.untrusted', explanation: 'signing certificate untrusted' }],
    },
  },
};

interface Canvas {
  getContext(kind: '2d'): { getImageData(...place: number[]): { data: Uint8ClampedArray } };
}
/** 16 pixels wide and tall. */
const RED_JPEG =
  '/9j/4AAQSkZJRgABAgAAAQABAAD/2wBDAAgKCgsKCw0NDQ0NDRAPEBAQEBAQEBAQEBASEhIVFRUSEhIQEBISFBQVFRcXFxUVFRUX' +
  'FxkZGR4eHBwjIyQrKzP/xABMAAEBAAAAAAAAAAAAAAAAAAAABgEBAQAAAAAAAAAAAAAAAAAABgcQAQAAAAAAAAAAAAAAAAAAAAAR' +
  'AQAAAAAAAAAAAAAAAAAAAAD/wAARCAAQABADASIAAhEAAxEA/9oADAMBAAIRAxEAPwCLAFF/f//Z';

const INVALID: C2paReport = { ...C2PA, validation_state: 'Invalid' };

consoleTest('console: the answer', (c) => {
  let ann: Person;
  before(async () => {
    ann = await c.m.person('ann');
  });

  const record = (kind: Kind, result: TextBody) => storeAnswer(c.m.stored.store, ann, kind, result);
  const visit = (path: string, look: Look, work: (v: Visit) => Promise<void>) =>
    visitAs(c, ann.email, { path, look }, work);

  it('overview and disagreements: by keys, and the open tab is in the address', async () => {
    const report = { ...good('ffprobe', JSON.stringify(REPORT)), name: 'probe_report' as const };
    const id = await record('file', body([good('ffprobe', '{"format":{}}')], { report }));
    await visit(`/requests/${id}`, {}, async (v) => {
      const { page } = v;
      await page.getByText('MP4, 60.0 s, 22.5 MB, H.264 1280x720 at 25 fps, AAC stereo').waitFor();
      await page.getByText('2 things to look at').waitFor();
      const tracks = page.getByRole('list', { name: 'Tracks' }).getByRole('listitem');
      assert.match(
        (await tracks.first().innerText()).replaceAll(/\s+/g, ' '),
        /^0 video h264, high 1280x720, 25 fps, progressive, 2\.9 Mbit\/s/,
      );
      await page.getByText('<b>film</b>[U+202E]gnp').waitFor();
      // A chosen tab moves none of the others.
      const places = () =>
        page.getByRole('tab').evaluateAll((tabs) => tabs.map((tab) => tab.getBoundingClientRect().x));
      const before = await places();
      await page.getByRole('link', { name: '2 disagreements' }).click();
      await page.getByRole('tab', { name: 'Disagreements', selected: true }).waitFor();
      assert.deepEqual(await places(), before);
      await page.getByRole('tab', { name: 'Overview' }).click();
      await v.accessible('answer overview wide light');
      await page.getByRole('tab', { name: 'Overview' }).focus();
      await page.keyboard.press('ArrowRight');
      const rows = page.getByRole('table', { name: 'Disagreements' }).locator('tbody tr');
      await rows.first().waitFor();
      assert.match(page.url(), /[?&]tab=disagreements\b/);
      const cells = await rows.first().locator('td').allInnerTexts();
      assert.deepEqual(
        cells.map((text) => text.replaceAll(/\s+/g, ' ')),
        ['streams[1].channels', '1', '✓ 2 (chosen)', '70 %', 'in test files mediainfo was right in 7 of 10 such cases'],
      );
      assert.match(await rows.last().innerText(), /does not see it/);
      await page.getByText('2 fields of known confidence are not disputed').click();
      await v.accessible('answer disagreements wide light');
      await page.reload();
      await rows.first().waitFor();
      await page.getByRole('tab', { name: 'Disagreements' }).focus();
      await page.keyboard.press('End');
      await page.getByLabel('Output: Report').waitFor();
      await page.getByText('"title":"<b>film</b>[U+202E]gnp"').waitFor();
      await v.accessible('answer raw wide light');
    });
  });

  it('ladder: declared and measured rates, and findings, on a phone in the dark', async () => {
    const [variant] = LADDER.variants;
    const second = { ...variant!, measured: { peak: 3_200_000, average: 2_400_000 } };
    const report = { ...LADDER, variants: [...LADDER.variants, second] };
    const id = await record('msv', body([good('msv', JSON.stringify(report))]));
    await visit(`/requests/${id}`, { width: 390, theme: 'dark' }, async (v) => {
      const { page } = v;
      await page.getByRole('figure', { name: 'Declared and measured bit rates' }).locator('canvas').waitFor();
      await page.getByText('3.6 Mbit/s above what is declared').waitFor();
      // Above what is declared, and within the tenth that is allowed.
      await page.getByText('3.2 Mbit/s', { exact: true }).waitFor();
      await page.getByText('10 segments of 6 s to 7.6 s, the target is 6 s, 1 too long').first().waitFor();
      const lines = page.getByRole('region', { name: 'Lines of the playlist' });
      await lines.getByText('segment-1.m4s?token=REDACTED').waitFor();
      await lines.getByText('<b>title</b>[U+202E]gnp').waitFor();
      await page.getByText('2 further lines are not in the report').waitFor();
      await v.accessible('answer ladder 390 dark');
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'the page scrolls sideways');
    });
  });

  it('ladder: a finding leads to its line, and a segment to its line, by keys alone', async () => {
    const id = await record('msv', body([good('msv', JSON.stringify(LADDER))]));
    await visit(`/requests/${id}`, {}, async (v) => {
      const { page } = v;
      const focused = page.locator('tr:focus');
      const finding = page.getByRole('table', { name: 'Findings' }).getByRole('link', { name: /Line 13 of/ });
      await finding.focus();
      await page.keyboard.press('Enter');
      await focused.getByText('7.6 s, and the target is 6 s').waitFor();
      await focused.getByText('Raise the target duration').waitFor();
      assert.match(await focused.innerText(), /^13\s+#EXTINF:7\.6,/);
      assert.match(page.url(), /[?&]line=13\b/);
      const segment = page.getByRole('slider', { name: 'Segment' });
      const said = () => segment.getAttribute('aria-valuetext');
      assert.equal(await said(), 'segment 1 of 10: 6 s, measured 6.02 s');
      await segment.focus();
      for (const key of ['ArrowRight', 'PageDown', 'ArrowLeft', 'Home']) await page.keyboard.press(key);
      await page.getByRole('button', { name: 'Next that is too long' }).click();
      assert.equal(await said(), 'segment 5 of 10: 7.6 s, measured 7.61 s, too long for the target of 6 s');
      await segment.focus();
      await page.keyboard.press('Enter');
      await focused.getByText('segment-5.m4s?token=REDACTED').waitFor();
      await v.accessible('answer ladder wide light');
      // A link to a line shows it to the next one, too.
      await page.reload();
      await focused.getByText('segment-5.m4s?token=REDACTED').waitFor();
    });
  });

  it('ladder: a report without lines, or from before it had any, says how to get them', async () => {
    const [playlist] = LADDER.playlists;
    const { text: _text, segment_durations: _durations, ...old } = playlist!;
    for (const one of [{ ...playlist, text: null }, old]) {
      const id = await record('msv', body([good('msv', JSON.stringify({ ...LADDER, playlists: [one] }))]));
      await visit(`/requests/${id}`, {}, async ({ page }) => {
        const link = page.getByRole('link', { name: 'Read again with the lines' });
        await link.waitFor();
        const query = new URL((await link.getAttribute('href'))!, c.url).searchParams;
        assert.equal(query.get('mediastreamvalidator.enable_playlist_text'), 'true');
        assert.equal(query.get('mediastreamvalidator.enabled'), 'true');
      });
    }
  });

  it('provenance: state, signer and checks, the failed ones first', async () => {
    const id = await record('c2pa', body([good('c2pa', JSON.stringify(C2PA))]));
    await visit(`/requests/${id}`, {}, async (v) => {
      await v.page.getByText('Example Press').waitFor();
      const rows = v.page.getByRole('table', { name: 'Checks' }).locator('tbody tr');
      assert.match(await rows.first().innerText(), /failed\s+signingCredential\.untrusted/);
      await v.accessible('answer provenance wide light');
    });
  });

  it('content checks: pictures are drawn, with the nearest beside each finding, and so is the sound', async () => {
    const kept = { ...PICTURES, video: { ...PICTURES.video!, list: [0, 30].map((at) => ({ at, jpeg: RED_JPEG })) } };
    const checks = JSON.stringify({ ...CHECKS, pictures: 2 });
    const id = await record('file', body([good('qc', checks)], { pictures: { output: JSON.stringify(kept) } }));
    await visit(`/requests/${id}?tab=content`, {}, async (v) => {
      const { page } = v;
      const drawn = page.getByRole('list', { name: 'Pictures' }).getByRole('img', { name: 'Picture at 30.00 s' });
      await drawn.waitFor();
      const red = () =>
        drawn.evaluate((canvas) => (canvas as unknown as Canvas).getContext('2d').getImageData(80, 45, 1, 1).data[0]);
      await until('it is drawn', async () => Number(await red()) > 200);
      await page.getByRole('img', { name: 'Sound of stream 1, 0.30 s' }).waitFor();
      const silence = page.getByRole('table', { name: 'Findings' }).locator('tbody tr', { hasText: 'silence' });
      await silence.getByRole('img', { name: 'Picture at 30.00 s' }).waitFor();
      await v.accessible('answer pictures wide light');
    });
  });

  it('content checks: findings with their times, loudness, and how far they came', async () => {
    const id = await record('file', body([good('qc', JSON.stringify(CHECKS))]));
    await visit(`/requests/${id}`, {}, async (v) => {
      await v.page.getByText('5 content findings').waitFor();
      const rows = v.page.getByRole('table', { name: 'Findings' }).locator('tbody tr');
      await rows.first().waitFor();
      assert.deepEqual(
        (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim()),
        [
          'clipping 1 peaks at 0.0 dBFS Waive',
          'duration 1 50.00 s decoded, 60.00 s declared Waive',
          'black passage 0 0.00 s 2.50 s 2.50 s Waive',
          'black passage 0 1 further finding not listed',
          'silence 1 40.00 s 50.00 s 10.00 s to the end Waive',
        ],
      );
      await v.page.getByRole('table', { name: 'Streams' }).getByText('-23.0 LUFS').waitFor();
      await v.page.getByText('qc did not finish within 60000 ms[U+202E]').waitFor();
      await v.accessible('answer content wide light');
      await v.page.getByRole('tab', { name: 'Raw' }).click();
      await v.page.getByLabel('Output: Content checks').waitFor();
    });
  });

  it('content checks: a finding is waived, with a reason and a date', async () => {
    const id = await record('file', body([good('qc', JSON.stringify(CHECKS))]));
    await visit(`/requests/${id}`, {}, async ({ page, accessible }) => {
      await page.getByRole('button', { name: 'Waive black passage in stream 0 from 0.00 s' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Reason').fill('Slate, as agreed');
      await accessible('answer waive wide light');
      await dialog.getByRole('button', { name: 'Waive' }).click();
      const row = page.getByRole('table', { name: 'Findings' }).locator('tbody tr', { hasText: 'black' }).first();
      await row.getByText(/^waived until \d{4}-\d\d-\d\d by .*: Slate, as agreed$/).waitFor();
      await page.reload();
      await page.getByText('4 content findings').waitFor();
      await row.getByText('Slate, as agreed').waitFor();
    });
  });

  it('a failed tool: its code stands beside its error, of a comparison too', async () => {
    const failed = bad('ffprobe', 'origin-unreachable', 'the host answered 503', { code: 'http-503' });
    for (const kind of ['file', 'compare'] as const) {
      const id = await record(kind, body([failed]));
      await visit(`/requests/${id}`, {}, async ({ page, accessible }) => {
        await page.getByRole('code').filter({ hasText: 'http-503' }).first().waitFor();
        for (const code of await page.getByRole('code').filter({ hasText: 'http-503' }).all())
          assert.match(await code.locator('..').innerText(), /the host answered 503 http-503$/);
        await accessible(`answer failed ${kind} wide light`);
      });
    }
  });

  it('deleted: what is kept of a request goes, its row stays', async () => {
    const id = await record('file', body([good('ffprobe', '{"format":{}}')]));
    await visit(`/requests/${id}`, {}, async ({ page, accessible }) => {
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('dialog').getByText('The row stays in the log').waitFor();
      await accessible('answer delete wide light');
      await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByText('what was kept of it is deleted').waitFor();
      await page.getByText('No output is kept').waitFor();
      await accessible('answer deleted wide light');
    });
  });

  const shown = (some: object): Reports =>
    ({ report: null, hls: null, c2pa: null, qc: null, policy: null, comparison: null, ...some }) as Reports;
  const CLEAN = { ...REPORT, warnings: [], diff: [] };
  const ladder = (must: number, should: number): Reports =>
    shown({ hls: { ...LADDER, summary: { ...LADDER.summary, must_fix: must, should_fix: should } } });
  const VERDICTS: [name: string, status: LogState, reports: Reports, tone: string, text: string][] = [
    ['a failed request', 'error', shown({ report: CLEAN }), 'bad', 'Failed'],
    ['a failed policy', 'success', shown({ report: CLEAN, policy: VERDICT }), 'bad', 'Not fine'],
    ['a policy that passed', 'success', shown({ policy: { ...VERDICT, outcome: 'pass' } }), 'good', 'Fine'],
    [
      'a policy that could not be judged',
      'success',
      shown({ policy: { ...VERDICT, outcome: 'unknown' } }),
      'warn',
      '1 thing to look at',
    ],
    ['disagreements and warnings', 'success', shown({ report: REPORT }), 'warn', '2 things to look at'],
    ['a report of two tools that agree', 'success', shown({ report: CLEAN }), 'good', 'Fine'],
    ['a tool that failed', 'with-errors', shown({ report: CLEAN }), 'warn', 'Some of it failed'],
    ['a ladder that breaks a rule', 'with-errors', ladder(1, 0), 'bad', 'Not fine'],
    ['a ladder to improve', 'success', ladder(0, 1), 'warn', '1 thing to look at'],
    ['a file whose C2PA manifest does not hold', 'success', shown({ c2pa: INVALID }), 'bad', 'Not fine'],
    ['content checks that found nothing', 'success', shown({ qc: CLEAN_CHECKS }), 'good', 'Fine'],
    ['content checks that found something', 'success', shown({ qc: CHECKS }), 'warn', '2 things to look at'],
    [
      'content checks of which all findings are waived',
      'success',
      shown({ qc: { ...CHECKS, cut: undefined }, waived: [1, 2, 3, 4, 5] }),
      'good',
      'Fine',
    ],
    ['outputs that nothing judges', 'success', shown({}), 'none', 'Not judged'],
  ];
  for (const [name, status, reports, tone, text] of VERDICTS)
    it(`verdict: ${name}`, () => {
      assert.deepEqual(verdictOf({ status, 'tool-errors': {} }, signalsOf(reports)), { tone, text });
    });
});
