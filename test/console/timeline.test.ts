/** The timeline of a request: scales and charts as data, and the figure under keys and the pointer. */
import assert from 'node:assert/strict';
import { gopsOf, momentOf, ratesOf, within, zoomed } from '../../src/console/answer/timeline_scale.ts';
import { wholeOf } from '../../src/media/answer/timeline.ts';
import type { Person } from '../api/accounts/fixture.ts';
import { body, good } from '../result/result_samples.ts';
import { consoleTest, visitAs } from './fixture.ts';
import { aStream as stream, FILM_TIMELINE } from './sample_answers.ts';
import { storeAnswer } from './stored_answer.ts';

describe('console: the scale of a timeline', () => {
  it('whole: from the first column of any stream to the last', () => {
    assert.deepEqual(wholeOf([stream(), stream({ first: -1, step: 2 })]), { from: -1, to: 7 });
    assert.deepEqual(wholeOf([stream({ bits: [] })]), { from: 0, to: 1 });
  });
  it('view: is kept within the whole, and is never empty', () => {
    const whole = { from: 0, to: 10 };
    assert.deepEqual(within({ from: -3, to: 2 }, whole), { from: 0, to: 5 });
    assert.deepEqual(within({ from: 9, to: 12 }, whole), { from: 7, to: 10 });
    assert.deepEqual(within({ from: 5, to: 4 }, whole), { from: 5, to: 5.05 });
    assert.deepEqual(zoomed(whole, { at: 2, by: 0.5, whole }), { from: 1, to: 6 });
    assert.deepEqual(zoomed({ from: 1, to: 6 }, { at: 2, by: 4, whole }), whole);
  });
  it('rates: bits a second in steps, the last one up to the end; gaps and jumps as bands', () => {
    const { x, series, bands, ticks } = ratesOf(stream({ step: 2, jumps: { count: 1, list: [[3, -1]] } }));
    assert.deepEqual(x, [0, 2, 4, 6, 8]);
    assert.deepEqual(series[0]!.values, [4_000, 8_000, 0, 8_000, 8_000]);
    assert.deepEqual(bands, [
      { from: 2, to: 3 },
      { from: 3, to: 3 },
    ]);
    assert.deepEqual(ticks, [0, 2]);
    assert.deepEqual(ratesOf(stream({ bits: [] })).series[0]!.values, [null]);
  });
  it('GOPs: the time from each key frame to the next', () => {
    const keys = (...times: number[]) => stream({ keys: { count: times.length, every: false, times } });
    assert.deepEqual(gopsOf(keys(0, 2, 5))!.series[0]!.values, [2, 3, 3]);
    assert.equal(gopsOf(keys(1)), null);
    assert.equal(gopsOf(stream({ keys: { count: 9, every: true, times: [] } })), null);
  });
  it('moment: what is there, and where nothing is', () => {
    assert.deepEqual(momentOf(stream(), 1.5), { rate: 16_000, packets: 20, key: 0, nextKey: 2, gap: false });
    assert.deepEqual(momentOf(stream(), 2.5), { rate: 0, packets: 0, key: 2, nextKey: null, gap: true });
    assert.deepEqual(momentOf(stream(), 9), { rate: null, packets: 0, key: 2, nextKey: null, gap: false });
  });
});

consoleTest('console: timeline', (c) => {
  let ann: Person;
  before(async () => {
    ann = await c.m.person('ann');
  });

  const ASKED = { timeline: { enabled: true } };
  const timeline = (output: string | null) => ({
    success: output !== null,
    durationMs: 800,
    usageMs: 800,
    output,
    ...(output === null ? { error: 'ffprobe <i>ended</i> with 1' } : {}),
  });
  const record = (output: string | null) =>
    storeAnswer(
      c.m.stored.store,
      ann,
      'file',
      body([good('ffprobe', '{}')], { timeline: timeline(output) } as object),
      ASKED,
    );

  for (const look of [{}, { width: 390, theme: 'dark' as const }])
    it(`one cursor over all streams, by keys and by dragging (${look.width ?? 1280} px)`, async () => {
      const id = await record(JSON.stringify(FILM_TIMELINE));
      await visitAs(c, ann.email, { path: `/requests/${id}?tab=timeline`, look }, async ({ page, accessible }) => {
        const slider = page.getByRole('slider', { name: 'Time' });
        await slider.waitFor();
        await page.locator('canvas').first().waitFor();
        await page.getByText('complete up to 590.00 s').waitFor();
        await page.getByText('<b>aac</b>[U+202E]').waitFor();
        await accessible(`timeline ${look.width ?? 1280}`);
        await slider.focus();
        await page.keyboard.press('End');
        assert.equal(await slider.getAttribute('aria-valuetext'), '600.00 s');
        await page.keyboard.press('Home');
        await page.keyboard.press('PageDown');
        await page.keyboard.press('ArrowRight');
        assert.equal(await slider.getAttribute('aria-valuetext'), '33.00 s');
        assert.equal(await page.getByText('128 kb/s in 23 packets').count(), 1);
        await page.keyboard.press('+');
        assert.match(page.url(), /from=16\.5&to=316\.5/);
        const { x, y, width } = (await page.locator('.u-over').first().boundingBox())!;
        await page.mouse.move(x + width * 0.25, y + 60);
        await page.mouse.down();
        await page.mouse.move(x + width * 0.5, y + 60, { steps: 4 });
        await page.mouse.up();
        await page.waitForURL(/from=91\./);
        await page.getByText('Bit rate of stream 0, as a table').click();
        await page.getByRole('table', { name: 'Bit rate of stream 0' }).waitFor();
        await accessible(`timeline zoomed ${look.width ?? 1280}`);
        await page.getByRole('button', { name: 'Whole length' }).click();
        assert.doesNotMatch(page.url(), /from=/);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), look.width ?? 1280);
      });
    });

  it('refused: the reason for which there is none', async () => {
    const id = await record(null);
    const visit = { path: `/requests/${id}?tab=timeline`, look: { expected: /\b404\b/ } };
    await visitAs(c, ann.email, visit, async ({ page, accessible }) => {
      await page.getByText('the timeline failed: ffprobe <i>ended</i> with 1').waitFor();
      await accessible('timeline refused');
    });
  });
});
