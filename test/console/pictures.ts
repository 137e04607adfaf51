/** The pictures of docs/console.md, small enough for the repository. They show made-up data. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { buildSnapshot, type SnapshotView } from '../../src/service/controller/snapshot/build.ts';
import { PASSWORD } from '../api/accounts/fixture.ts';
import { aPool, aRunner, aTool, aView, busyRunner, PROVEN } from '../controller/snapshot_view.ts';
import { body, good } from '../result/result_samples.ts';
import { ADMIN } from '../store/fixture.ts';
import { startConsole, startProbingConsole, visitAs, type ConsoleFixture } from './fixture.ts';
import { FILM_TIMELINE, REPORT, VERDICT } from './sample_answers.ts';
import { LADDER } from './sample_ladder.ts';
import { storeAnswer } from './stored_answer.ts';

const FOLDER = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));
const MOST_BYTES = 110_000;

/** Three jobs run, two wait, and one tool version is being proven. */
function busyCluster(now: number, account: number): SnapshotView {
  const since = (hours: number): string => new Date(now - hours * 3_600_000).toISOString();
  const tenant = `a:${account}`;
  return aView({
    at: now,
    pools: [aPool('short', { maxPods: 4 }), aPool('long', { minReady: 1, maxPods: 2 })],
    runners: [
      ...['1', '2', '3'].map((job) => busyRunner(`01980000-0000-7000-8000-00000000000${job}`, { account, tenant })),
      ...Array.from({ length: 2 }, () => aRunner()),
      aRunner({ pool: 'long' }),
    ],
    tools: [...['9.0', '8.0', '7.1'].map((version) => aTool(version, PROVEN)), aTool('7.0', [])],
    accounts: [{ id: account, waiting: 2, held: 3, limit: 4 }],
    fronts: [{ account, submittedAt: new Date(now - 1_200) }],
    waitingIn: { short: 2 },
    terms: [
      { pod: 'controller-1', epoch: 7, since: since(1) },
      { pod: 'controller-0', epoch: 6, since: since(50) },
    ],
  });
}

const CHARTS = ['timeline', 'ladder', 'usage'];

type View = [name: string, path: string, shown: string];

async function take(
  c: Pick<ConsoleFixture, 'url' | 'visit'>,
  { email, password = PASSWORD }: { email: string; password?: string },
  views: readonly View[],
): Promise<void> {
  await visitAs(c, email, { path: '/account', look: { width: 1040 }, password }, async ({ page }) => {
    await page.setViewportSize({ width: 1040, height: 600 });
    for (const [name, path, shown] of views) {
      await page.goto(`${c.url}/app${path}`);
      await page.getByText(shown).first().waitFor();
      // The tab and what is under it; a list and the first tab begin at the top.
      if (path.includes('?tab=')) await page.getByRole('tablist').evaluate((tabs) => tabs.scrollIntoView());
      // A chart is drawn after its library is there.
      if (CHARTS.includes(name)) await page.locator('canvas').first().waitFor();
      const picture = `${FOLDER}${name}.png`;
      await page.screenshot({ path: picture });
      const { length } = await readFile(picture);
      console.log(`${name}.png: ${length} bytes`);
      if (length > MOST_BYTES) throw new Error(`${name}.png is larger than ${MOST_BYTES} bytes`);
    }
  });
}

const MISSING = 'there is no chromium in the cache: make browser';

/** What the log and the accounts show. */
async function ofRecords(): Promise<void> {
  const c = await startConsole();
  if (!c) throw new Error(MISSING);
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
    const ladder = await storeAnswer(c.m.stored.store, ann, 'msv', body([good('msv', JSON.stringify(LADDER))]));
    const views: View[] = [
      ['requests', '/requests', 'https://example.org/a.mp4'],
      ['overview', `/requests/${id}`, 'MP4, 60.0 s'],
      ['disagreements', `/requests/${id}?tab=disagreements`, 'Confidence'],
      ['policy', `/requests/${id}?tab=policy`, 'Wanted'],
      ['timeline', `/requests/${id}?tab=timeline`, 'Drag to zoom'],
      ['raw', `/requests/${id}?tab=raw`, '"container":{'],
      ['ladder', `/requests/${ladder}?tab=ladder`, '720p'],
      ['usage', '/usage', 'Requests'],
      ['tokens', '/tokens', 'Make a token'],
    ];
    const operator = await c.m.person('operator', { role: 'admin' });
    c.m.bus.serve(SUBJECT.cluster, () => buildSnapshot(busyCluster(c.m.replicas[0].deps.store.clock.now(), ann.id)));
    await c.m.bus.flush();
    await take(c, ann, views);
    await take(c, operator, [['cluster', '/cluster', 'Leader controller-1']]);
  } finally {
    await c.stop();
  }
}

const POLICY = `rules:
  - name: wrapper
    field: container.format
    in: [mp4, mov]
  - name: picture
    field: size.height
    each: video
    at-least: 720
`;

/** What probe endpoints are behind: they need the whole API. */
async function ofProbes(): Promise<void> {
  const c = await startProbingConsole();
  if (!c) throw new Error(MISSING);
  try {
    const saved = await fetch(`${c.url}/v1/policy/house-delivery`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${c.api.token}`, 'Content-Type': 'application/yaml' },
      body: POLICY,
    });
    if (!saved.ok) throw new Error(`the policy is not saved: ${await saved.text()}`);
    const film = encodeURIComponent('https://media.example.org/film.mp4');
    await take(c, ADMIN, [
      ['playground', `/playground?url=${film}`, 'Version of ffprobe'],
      ['policies', '/policies/house-delivery', 'Try on the last 50 results'],
    ]);
  } finally {
    await c.stop();
  }
}

await ofRecords();
await ofProbes();
// The fixtures leave handles open, which would keep this process for ever.
process.exit(0);
