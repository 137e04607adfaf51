/** The pictures of docs/console.md, small enough for the repository. They show made-up data. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { body, good } from '../result/result_samples.ts';
import { startConsole, visitAs } from './fixture.ts';
import { FILM_TIMELINE, REPORT, VERDICT } from './sample_answers.ts';
import { storeAnswer } from './stored_answer.ts';

const FOLDER = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));
const MOST_BYTES = 60_000;

const c = await startConsole();
if (!c) throw new Error('there is no chromium in the cache: make browser');
try {
  const ann = await c.m.person('ann');
  const printed = JSON.stringify({
    streams: [{ codec_name: 'h264', width: 1280 }],
    format: { format_name: 'mov,mp4' },
  });
  const report = { ...good('ffprobe', JSON.stringify(REPORT)), name: 'probe_report' as const };
  const timeline = { success: true, durationMs: 800, usageMs: 800, output: JSON.stringify(FILM_TIMELINE) };
  const id = await storeAnswer(
    c.m.stored.store,
    ann,
    'file',
    body([good('ffprobe', printed)], { report, policy: VERDICT, timeline }),
    { timeline: { enabled: true }, policy: { name: VERDICT.name, revision: VERDICT.revision } },
  );
  const VIEWS: [name: string, path: string, shown: string][] = [
    ['requests', '/requests', 'https://example.org/a.mp4'],
    ['overview', `/requests/${id}`, 'MP4, 60.0 s'],
    ['disagreements', `/requests/${id}?tab=disagreements`, 'Confidence'],
    ['policy', `/requests/${id}?tab=policy`, 'Wanted'],
    ['timeline', `/requests/${id}?tab=timeline`, 'Drag to zoom'],
    ['raw', `/requests/${id}?tab=raw`, '"container":{'],
  ];
  await visitAs(c, ann.email, { path: '/requests', look: { width: 760 } }, async ({ page }) => {
    await page.setViewportSize({ width: 760, height: 440 });
    for (const [name, path, shown] of VIEWS) {
      await page.goto(`${c.url}/app${path}`);
      await page.getByText(shown).first().waitFor();
      // The tab and what is under it; a list begins at its top.
      if (path.includes('/requests/')) await page.getByRole('tablist').evaluate((tabs) => tabs.scrollIntoView());
      const picture = `${FOLDER}${name}.png`;
      await page.screenshot({ path: picture });
      const { length } = await readFile(picture);
      console.log(`${name}.png: ${length} bytes`);
      if (length > MOST_BYTES) throw new Error(`${name}.png is larger than ${MOST_BYTES} bytes`);
    }
  });
} finally {
  await c.stop();
}
