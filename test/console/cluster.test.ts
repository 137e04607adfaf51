/** The cluster and its users in the console, as administrators see them. The leader is played over a real NATS. */
import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { buildSnapshot } from '../../src/service/controller/snapshot/build.ts';
import { makeRecent, type Recent } from '../../src/service/controller/snapshot/recent.ts';
import { PROBE_POOLS } from '../../src/platform/kube/client.ts';
import {
  aPool,
  aRunner,
  aTool,
  aView,
  busyRunner,
  condition,
  PROVEN,
  type Given,
} from '../controller/snapshot_view.ts';
import { pageUntil } from '../browser/page_until.ts';
import { until } from '../until.ts';
import { consoleTest, during, type ConsoleFixture, type Visit } from './fixture.ts';

const HOSTILE = '\u202e<img src=x onerror=alert(1)>';
const JOB = '01980000-0000-7000-8000-000000000001';

consoleTest('console: cluster and users', (c) => {
  let admin: { id: number; email: string };
  let given: Given;
  let leader: { stop(): void };
  const lead = async () => {
    leader = c.m.bus.serve(SUBJECT.cluster, () =>
      buildSnapshot(aView({ at: c.m.replicas[0].deps.store.clock.now(), ...given })),
    );
    await c.m.bus.flush();
  };
  before(async () => {
    admin = await c.m.person('operator', { role: 'admin' });
    await lead();
  });

  const visit = async (look: Parameters<ConsoleFixture['visit']>[0], work: (v: Visit) => Promise<void>) => {
    const v = await c.visit(look);
    let under = 0;
    v.page.on('request', () => (under += 1));
    for (const over of ['requestfinished', 'requestfailed'] as const) v.page.on(over as 'request', () => (under -= 1));
    await during(v, work);
    // An answer that is cut off by the end of the page is not as described.
    await until('every request is answered', () => under === 0);
    await v.end();
  };
  const signedIn = async (v: Visit, email = admin.email) => {
    await v.open('/account', 'Sign in');
    await v.signIn(email);
  };
  const noSideways = async ({ page }: Visit, width: number) =>
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width, 'the page scrolls sideways');

  beforeEach(() => {
    given = {
      pools: [aPool(), aPool('long', { minReady: 0 })],
      runners: [
        busyRunner(JOB, { account: admin.id, tenant: `a:${admin.id}` }),
        ...Array.from({ length: 4 }, () => aRunner()),
        aRunner({ phase: 'starting' }),
      ],
      jobOf: (name) => ({ id: name, status: { startedAt: '2026-03-01T11:59:58.000Z' } }),
      tools: Array.from({ length: 14 }, (_, index) =>
        aTool(
          `8.${index}`,
          PROVEN,
          { reported: `ffprobe version 8.${index}`, architectures: [{ arch: 'amd64', version: 'x', startupMs: 12 }] },
          index === 13,
        ),
      ),
      accounts: [{ id: admin.id, waiting: 3, held: 1, limit: 4 }],
      fronts: [{ account: admin.id, submittedAt: new Date(c.m.replicas[0].deps.store.clock.now() + 60_000) }],
      waitingIn: { short: 3 },
      terms: [
        { pod: 'controller-1', epoch: 7, since: '2026-03-01T11:00:00.000Z' },
        { pod: 'controller-0', epoch: 6, since: '2026-03-01T10:58:30.000Z' },
        { pod: 'controller-1', epoch: 5, since: '2026-02-28T09:00:00.000Z' },
      ],
    };
  });

  it('cluster: begins with one sentence, then pools, queue, runners, tools and faults', () =>
    visit({}, async (v) => {
      const { page } = v;
      await signedIn(v);
      const lookedUp: string[] = [];
      page.on('request', (request) => {
        const { pathname, searchParams } = new URL(request.url());
        if (pathname.endsWith('/user')) lookedUp.push(searchParams.getAll('id').join());
      });
      await v.open('/cluster', 'Cluster');
      await page
        .getByText(
          '2 pools, 6 runners: 1 busy, 4 idle, 1 starting; 3 jobs wait, oldest 0 ms; all 14 tool versions ready.',
        )
        .waitFor();
      await page.getByText('Leader controller-1').waitFor();
      for (const [table, rows] of [
        ['Pools', 2],
        ['Queue by account', 1],
        ['Runners', 6],
        ['Tools', 14],
        ['Leaders', 3],
      ] as const)
        assert.equal(await page.getByRole('table', { name: table }).locator('tbody tr').count(), rows, table);
      // The snapshot has ids alone; those of its accounts are looked up among the users.
      await page.getByRole('table', { name: 'Queue by account' }).getByText('operator@example.org').waitFor();
      assert.deepEqual(lookedUp, [String(admin.id)]);
      assert.equal(await page.getByText('To look at').count(), 0);
      await v.accessible('cluster wide light');
      await noSideways(v, 1280);
      assert.equal(await page.getByRole('link', { name: JOB }).getAttribute('href'), `/app/requests/${JOB}`);
    }));

  it('cluster: renews itself every 2 s without moving the focus, and stands still while paused', () =>
    visit({}, async (v) => {
      const { page } = v;
      const asked: string[] = [];
      page.on('request', (request) => {
        if (request.url().endsWith('/cluster')) asked.push(request.url());
      });
      await signedIn(v);
      await page.clock.install();
      await v.open('/cluster', 'Cluster');
      const link = page.getByRole('link', { name: JOB });
      await link.waitFor();
      // What follows the drawing of the page: its heading may take the focus.
      await page.clock.runFor(1_000);
      await link.focus();
      given = { ...given, accounts: [], fronts: [], waitingIn: {} };
      await until('the new figures are shown', async () => {
        await page.clock.runFor(2_000);
        return page.getByText('no job waits').isVisible();
      });
      assert.ok(await link.evaluate((element) => element === element.ownerDocument.activeElement));

      const pause = page.getByRole('button', { name: 'Pause' });
      await pause.focus();
      await page.keyboard.press('Enter');
      await page.getByText('Paused.').waitFor();
      assert.equal(await pause.getAttribute('aria-pressed'), 'true');
      const before = asked.length;
      given = { ...given, runners: [] };
      await page.clock.runFor(20_000);
      assert.equal(asked.length, before);
      await page.keyboard.press('Enter');
      await until('the page refreshes again', async () => {
        await page.clock.runFor(2_000);
        return page.getByText('0 runners').isVisible();
      });
      await page.getByText('There are no runners.').waitFor();
      await v.accessible('cluster without runners');
    }));

  it('cluster: what somebody has to look at stands first, on a phone and in the dark; hostile names are text', () =>
    visit({ width: 390, theme: 'dark' }, async (v) => {
      const { page } = v;
      const now = (): number => c.m.replicas[0].deps.store.clock.now();
      const recent: Recent = makeRecent(now);
      recent.looked({ postgres: false, nats: true, kubernetes: true });
      const events = recent.following({ record() {} });
      events.record(
        PROBE_POOLS,
        { metadata: { name: HOSTILE } },
        { type: 'Warning', reason: 'Unschedulable', message: `no node ${HOSTILE}` },
      );
      given = {
        ...given,
        recent,
        terms: [4, 3, 2].map((epoch) => ({
          pod: `controller-${epoch % 2}`,
          epoch,
          since: new Date(now() - (10 - epoch) * 60_000).toISOString(),
        })),
        pools: [
          aPool('short', { isolation: { require: ['SyscallFilter'] } }, [
            condition('Ready', 'False', 'Unschedulable', `0/3 nodes are available ${HOSTILE}`),
            condition('SyscallFilter', 'False', 'Missing', '1 of 2 runners cannot filter'),
          ]),
        ],
        runners: [busyRunner(HOSTILE, { pod: HOSTILE, account: 4_000_000 })],
        jobOf: () => undefined,
        tools: [aTool('8.0', PROVEN), aTool('7.0', [condition('Available', 'False', 'Crashed', HOSTILE)])],
      };
      await signedIn(v);
      await v.open('/cluster', 'Cluster');
      await page.getByText('1 of 2 tool versions ready').waitFor();
      const look = page.getByRole('region', { name: 'To look at' });
      const items = await look.getByRole('listitem').allInnerTexts();
      assert.deepEqual(
        items.map((text) => text.split(':')[0]),
        ['postgres', 'Leader', 'Pool short', 'Pool short, SyscallFilter', 'Tools'],
      );
      assert.equal(await page.locator('main img').count(), 0);
      await v.accessible('cluster problems 390 dark');
      await noSideways(v, 390);
    }));

  it('cluster: no leader, a stale snapshot and an empty cluster are told', () =>
    visit({ expected: /\b503\b/ }, async (v) => {
      const { page } = v;
      await signedIn(v);
      leader.stop();
      await c.m.bus.flush();
      const route = '**/frontend/api/v1/cluster';
      // As a replica answers that was started without a leader; this one has had its answer.
      await page.route(route, (one) =>
        one.fulfill({
          status: 503,
          headers: { 'Retry-After': '2' },
          contentType: 'application/json',
          body: JSON.stringify({ error: 'the leader has not reported what the cluster is doing; try again' }),
        }),
      );
      await v.open('/cluster', 'Cluster');
      await page.getByText('the leader has not reported').waitFor();
      await v.accessible('cluster no leader');
      await page.unroute(route);

      given = { ...given, at: c.m.replicas[0].deps.store.clock.now() - 60_000 };
      await lead();
      await page.getByText('This snapshot is out of date').waitFor();
      await v.accessible('cluster stale');

      given = { pools: [], runners: [], tools: [] };
      await page.getByText('0 pools, 0 runners; no job waits; no tool versions.').waitFor();
      await page.getByText('No account has a job.').waitFor();
      await v.accessible('cluster empty');
    }));

  it('cluster: others do not find it, and are refused at its address', () =>
    visit({ expected: /\b403\b/ }, async (v) => {
      const { page } = v;
      const { email } = await c.m.person('ordinary');
      await signedIn(v, email);
      await page.getByRole('link', { name: 'Sub-users' }).waitFor();
      assert.equal(await page.getByRole('link', { name: 'Cluster' }).count(), 0);
      assert.equal(await page.getByRole('link', { name: 'Users', exact: true }).count(), 0);
      await v.open('/cluster', 'Cluster');
      await page.getByText('only administrators may call this').waitFor();
      await v.accessible('cluster refused');
    }));

  it('users: found by a part of the address; limited and suspended with the keyboard alone', () =>
    visit({}, async (v) => {
      const { page } = v;
      const boss = await c.m.person('big.customer');
      await c.m.person('worker', { parent: boss });
      given = { ...given, accounts: [{ id: boss.id, waiting: 0, held: 3, limit: 4 }] };
      await signedIn(v);
      await v.open('/all-users', 'Users');
      await page.getByRole('table', { name: 'Users' }).waitFor();
      await v.accessible('users wide light');
      await page.getByLabel('E-mail address').focus();
      await page.keyboard.type('CUSTOMER');
      await page.waitForURL(/[?&]email=CUSTOMER$/);
      await until('only one is left', async () => (await page.locator('tbody tr').count()) === 1);
      await page.getByRole('link', { name: 'big.customer@example.org' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'User', exact: true }).waitFor();
      await page.getByText('3 of').waitFor();

      await page.getByLabel('Requests at once').focus();
      await page.keyboard.type('3');
      await page.getByLabel('Requests of the account at once').focus();
      await page.keyboard.type('6');
      await page.keyboard.press('Enter');
      await page.getByText('Saved').waitFor();
      await page.getByText('3 of 6').waitFor();
      await v.accessible('user wide light');
      const limits = await c.m.call('GET', `user/${boss.id}/limits`, { token: c.m.root.token });
      assert.deepEqual([limits.json['concurrency'], limits.json['account-concurrency']], [3, 6]);

      await page.getByRole('button', { name: 'Suspend the user' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog', { name: 'Suspend the user?' }).waitFor();
      await v.accessible('user suspend');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Reactivate the user' }).waitFor();
      await until(
        'the token of the suspended user is refused',
        async () => (await c.m.call('GET', 'user/current', { token: boss.token })).status === 403,
      );
    }));

  it('users: labels of an account are added, changed and removed with the keyboard alone', () =>
    visit({ expected: /\b400\b/ }, async (v) => {
      const { page } = v;
      const payer = await c.m.person('payer');
      const below = await c.m.person('payer.below', { parent: payer });
      const path = `user/${payer.id}/labels`;
      const labels = async () => (await c.m.call('GET', path, { token: c.m.root.token })).json['labels'];
      const dialog = page.getByRole('dialog', { name: 'Add a label' });
      const add = async (name: string, value: string) => {
        await page.getByRole('button', { name: 'Add a label' }).focus();
        await page.keyboard.press('Enter');
        await dialog.getByLabel('Name').fill(name);
        await dialog.getByLabel('Value').fill(value);
        await page.keyboard.press('Enter');
      };
      await signedIn(v);
      await v.open(`/all-users/${payer.id}`, 'User');
      await add('cost-centre', '4711');
      await page.getByLabel('cost-centre').waitFor();
      await add('not a name', 'x');
      await dialog.getByRole('alert').getByText('labels: a name must be that of a label of Kubernetes').waitFor();
      assert.equal(await dialog.getByLabel('Name').getAttribute('aria-invalid'), 'true');
      await v.accessible('user label refused');
      await dialog.getByLabel('Name').fill('team');
      await page.keyboard.press('Enter');
      await page.getByLabel('team').waitFor();
      await v.accessible('user labels');
      assert.deepEqual(await labels(), { 'cost-centre': '4711', team: 'x' });

      // What another administrator sets meanwhile stays.
      await c.m.call('PUT', path, { token: c.m.root.token, body: { labels: { project: 'p' } } });
      await page.getByLabel('team').fill('not a value');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').getByText('labels.team: ').waitFor();
      await pageUntil(page, 'document.activeElement.name === "labels.team"');
      await page.getByLabel('team').fill('archive');
      await page.getByLabel('cost-centre').fill('');
      await page.keyboard.press('Enter');
      await page.getByLabel('project').waitFor();
      assert.deepEqual(await labels(), { 'cost-centre': '', team: 'archive', project: 'p' });
      await page.getByRole('button', { name: 'Remove cost-centre' }).press('Enter');
      await page.getByLabel('cost-centre').waitFor({ state: 'detached' });
      assert.deepEqual(await labels(), { team: 'archive', project: 'p' });

      await v.open(`/all-users/${below.id}`, 'User');
      await page.getByText('project=p, team=archive').waitFor();
      assert.equal(await page.getByRole('button', { name: 'Add a label' }).count(), 0);
    }));

  it('users: nobody fits, and one user on a phone in the dark', () =>
    visit({ width: 390, theme: 'dark', expected: /\b404\b/ }, async (v) => {
      const { page } = v;
      const below = await c.m.person('below', { parent: await c.m.person('above') });
      await signedIn(v);
      await v.open('/all-users?email=nobody-has-this', 'Users');
      await page.getByText('No user fits').waitFor();
      await v.accessible('users none 390 dark');
      await v.open(`/all-users/${below.id}`, 'User');
      await page.getByRole('link', { name: 'above@example.org' }).waitFor();
      // The limit of the account is the root user's.
      assert.equal(await page.getByLabel('Requests of the account at once').count(), 0);
      await v.accessible('user 390 dark');
      await noSideways(v, 390);
      await v.open('/all-users/999999999', 'User');
      await page.getByRole('heading', { name: 'Not found' }).waitFor();
    }));

  /** From the start page; a choice in a list is two: open it, take one. */
  const TASKS: Record<string, { clicks: ((v: Visit) => Promise<number>)[]; answer: (v: Visit) => Locator }> = {
    'what is the cluster doing?': {
      clicks: [
        async ({ page }) => {
          await page.getByRole('navigation').getByRole('link', { name: 'Cluster' }).click();
          return 1;
        },
      ],
      answer: ({ page }) => page.getByText('2 pools, 6 runners: 1 busy'),
    },
    'am I near my limit?': {
      clicks: [
        async ({ page }) => {
          await page.getByRole('navigation').getByRole('link', { name: 'Usage' }).click();
          return 1;
        },
        async ({ page }) => {
          await page.getByLabel('Token').selectOption({ index: 1 });
          return 2;
        },
      ],
      answer: ({ page }) => page.getByText('Busiest minute of the last hour'),
    },
  };
  for (const [question, { clicks, answer }] of Object.entries(TASKS))
    it(`${question} is answered in at most three clicks from the start`, () =>
      visit({}, async (v) => {
        await signedIn(v);
        await v.open('/requests', 'Requests');
        let count = 0;
        for (const click of clicks) count += await click(v);
        await answer(v).first().waitFor();
        assert.ok(count <= 3, `${count} clicks`);
      }));
});
