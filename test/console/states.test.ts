/** Each view slow, stopped, refused, out of date, empty and full, on the real API; only what delays is played. */
import assert from 'node:assert/strict';
import type { BrowserContext, Page, Route } from 'playwright-core';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { buildSnapshot } from '../../src/service/controller/snapshot/build.ts';
import { aPool, aRunner, aView, type Given } from '../controller/snapshot_view.ts';
import { body, good } from '../result/result_samples.ts';
import { ADMIN } from '../store/fixture.ts';
import { probingConsoleTest, visitAs } from './fixture.ts';
import { aStream, FILM_TIMELINE } from './sample_answers.ts';
import { storeAnswer } from './stored_answer.ts';

interface View {
  name: string;
  path: string;
  heading: string;
  /** What it waits for: the call, and the words for it. */
  call: string;
  what: string;
  full: (page: Page) => Promise<void>;
  /** Where it has nothing to show, and what it says then. */
  empty?: { path?: string; before?: (context: BrowserContext) => Promise<unknown>; text: string };
  /** Makes the call again without leaving the page; the former answer stays. */
  again?: (page: Page) => Promise<unknown>;
  /** It makes the call again by itself: what a failure shows may go at any moment. */
  renews?: true;
}

probingConsoleTest('console: states of each view', {}, (c) => {
  let given: Given;
  const ids: Record<string, string> = {};
  before(async () => {
    const { stored, bus, wired, userId: id, tokenId } = c.api;
    const owner = { id, tokenId };
    given = { pools: [aPool()], runners: [aRunner()], tools: [] };
    bus.serve(SUBJECT.cluster, () => buildSnapshot(aView({ at: wired.deps.store.clock.now(), ...given })));
    await bus.flush();
    const timeline = (output: object) => ({ success: true, durationMs: 8, usageMs: 8, output: JSON.stringify(output) });
    const asks = { timeline: { enabled: true } };
    const drawn = body([good('ffprobe', '{}')], { timeline: timeline(FILM_TIMELINE) } as object);
    const untimed = { version: '9.0', streams_left_out: 0, streams: [aStream({ bits: [] })] };
    const undrawn = body([good('ffprobe', '{}')], { timeline: timeline(untimed) } as object);
    ids['timeline'] = await storeAnswer(stored.store, owner, 'file', drawn, asks);
    ids['no packets'] = await storeAnswer(stored.store, owner, 'file', undrawn, asks);
    const runs = ['4.4', '9.0'].map((version) => good('ffprobe', '{}', { version }));
    const none = { type: 0, value: 0, renamed: 0, removed: 0, added: 0, rounding: 0 };
    const summary = { fields: 0, told: 0, known: 0, canonical: 0, raw: 0, changes: none, not_compared: [] };
    const comparison = { durationMs: 3, output: JSON.stringify({ fields: [], summary }) };
    ids['versions'] = await storeAnswer(stored.store, owner, 'compare', body(runs, { comparison }));
  });

  const rowIn = (table: string) => (page: Page) =>
    page.getByRole('table', { name: table }).locator('tbody tr').first().waitFor();
  const withoutTools = async (route: Route) => {
    const { tools } = (await (await route.fetch()).json()) as { tools: object[] };
    await route.fulfill({ json: { tools: tools.map((tool) => ({ ...tool, latest: null, versions: [] })) } });
  };
  const VIEWS: (() => View)[] = [
    () => ({
      name: 'playground',
      path: '/playground',
      heading: 'Playground',
      call: '**/v1/versions',
      what: 'the tool versions',
      full: (page) => page.getByRole('button', { name: 'Run', exact: true }).waitFor(),
      empty: { before: (context) => context.route('**/v1/versions', withoutTools), text: 'No tool is ready' },
    }),
    () => ({
      name: 'policies',
      path: '/policies',
      heading: 'Policies',
      call: '**/v1/policy',
      what: 'the policies',
      full: (page) => page.getByRole('button', { name: 'Write a policy' }).waitFor(),
      empty: { text: 'There are no policies' },
    }),
    () => ({
      name: 'policy',
      path: '/policies/house',
      heading: 'Policy',
      call: '**/v1/policy/house',
      what: 'the policy',
      full: (page) => page.getByLabel('The policy as YAML or JSON').waitFor(),
      empty: { text: 'a new policy' },
    }),
    () => ({
      name: 'versions',
      path: `/requests/${ids['versions']}`,
      heading: 'Request',
      call: '**/media/log/*',
      what: 'the request',
      full: rowIn('Runs'),
      empty: { text: 'No field changes' },
    }),
    () => ({
      name: 'timeline',
      path: `/requests/${ids['timeline']}?tab=timeline`,
      heading: 'Request',
      call: '**/v1/probe/*/timeline',
      what: 'the timeline',
      full: (page) => page.getByRole('slider', { name: 'Time' }).waitFor(),
      empty: { path: `/requests/${ids['no packets']}?tab=timeline`, text: 'No packet has a time' },
    }),
    () => ({
      name: 'cluster',
      path: '/cluster',
      heading: 'Cluster',
      call: '**/frontend/api/v1/cluster',
      what: "the leader's report",
      full: rowIn('Pools'),
      empty: {
        before: async () => {
          given = { pools: [], runners: [], tools: [] };
        },
        text: '0 pools, 0 runners; no job waits; no tool versions.',
      },
      renews: true,
    }),
    () => ({
      name: 'users',
      path: '/all-users',
      heading: 'Users',
      call: '**/frontend/api/v1/user?*',
      what: 'the users',
      full: rowIn('Users'),
      empty: { path: '/all-users?email=nobody-at-all', text: 'No user fits' },
      again: (page) => page.getByRole('button', { name: /^Created/ }).click(),
    }),
  ];

  for (const [index, name] of [
    'playground',
    'policies',
    'policy',
    'versions',
    'timeline',
    'cluster',
    'users',
  ].entries())
    it(`${name}: slow, stopped, busy, full, out of date and empty`, async () => {
      const view = VIEWS[index]!();
      assert.equal(view.name, name);
      const { path, heading, call, what, full, empty, again, renews } = view;
      const look = { expected: /\b503\b|\b404\b|ERR_FAILED/ };
      await visitAs(c, ADMIN.email, { path: '/account', look, password: ADMIN.password }, async (v) => {
        const { page, context } = v;
        const busy = (route: Route) =>
          route.fulfill({ status: 503, headers: { 'Retry-After': '5' }, json: { error: 'Postgres is away' } });
        const release = Promise.withResolvers<void>();
        await context.route(call, async (route) => {
          await release.promise;
          await route.abort().catch(() => {});
        });
        await v.open(path, heading);
        await page.getByText(`Waiting for ${what}`).waitFor();
        await v.accessible(`${name} slow`);
        await page.getByRole('button', { name: 'Stop' }).click();
        await page.getByText(`Stopped waiting for ${what}`).waitFor();
        release.resolve();
        await context.unroute(call);

        await context.route(call, busy);
        await page.getByRole('button', { name: 'Try again' }).click();
        await page.getByText('Postgres is away').waitFor();
        await page.getByText('tried again in 5 s').waitFor();
        await v.accessible(`${name} busy`);
        await context.unroute(call);
        if (!renews) await page.getByRole('button', { name: 'Try again' }).click();
        await full(page);
        await page.getByText('Postgres is away').waitFor({ state: 'detached' });

        if (again || renews) {
          await context.route(call, busy);
          await again?.(page);
          await page.getByText('Postgres is away').waitFor();
          await full(page);
          await v.accessible(`${name} out of date`);
          await context.unroute(call);
        }
        if (empty) {
          await empty.before?.(context);
          await v.open(empty.path ?? path, heading);
          await page.getByText(empty.text).first().waitFor();
          await v.accessible(`${name} empty`);
          await context.unrouteAll({ behavior: 'wait' });
        }
      });
    });
});
