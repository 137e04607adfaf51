/**
 * The console over a log of a million requests, in a real browser 40 ms from the management side of the API and a real
 * Postgres: how long each interaction takes until its result is painted, and the first view of a browser that has
 * nothing in its cache.
 */
import pg from 'pg';
import { startConsole, type ConsoleFixture } from '../../test/console/fixture.ts';
import { PASSWORD, type Person } from '../../test/api/accounts/fixture.ts';
import type { Measurement, Row } from '../measurement.ts';
import { summary } from '../statistics.ts';
import { makeHistory } from '../store/history.ts';
import { moveAway, timed, until } from './browser.ts';

const REQUESTS = Number(process.env['CONSOLE_REQUESTS'] ?? 1_000_000);
const USERS = 100;
const ROUNDS = Number(process.env['CONSOLE_ROUNDS'] ?? 20);
const FIRST_VIEWS = 5;
/** No person is faster: from the pointer on a link to the click, and from an open list to a choice. */
const POINTING_MS = 150;
const CHOOSING_MS = 300;
const MONTH = '/requests?range=month';

const clickOn = (text: string): string =>
  `[...document.querySelectorAll('nav.pages a')].find((a) => a.textContent === ${JSON.stringify(text)}).click()`;
const select = (label: string): string => `
  const label = [...document.querySelectorAll('.filter label')].find((one) => one.textContent === '${label}');
  const select = document.getElementById(label.htmlFor);`;
const choose = (label: string, value: string): string => `
  ${select(label)}
  select.value = '${value}';
  select.dispatchEvent(new Event('change', { bubbles: true }));`;
const type = (text: string): string => `
  const input = document.querySelector('input[type=search]');
  input.value = '${text}';
  input.dispatchEvent(new Event('input', { bubbles: true }));`;
/** The list is there, and none is waited for. */
const LISTED = `document.querySelector('tbody tr') && !document.querySelector('[aria-busy=true], .waiting')`;
const listedAt = (query: string): string => `location.search.includes('${query}') && ${LISTED}`;

interface Interaction {
  name: string;
  what: string;
  from: string;
  /** The link that the pointer is on before the click, as a selector. */
  pointsAt?: string;
  /** The label of a list that is opened before the choice. */
  opens?: string;
  act: string;
  shows: string;
}

const INTERACTIONS: readonly Interaction[] = [
  {
    name: 'console-next',
    what: 'next page',
    from: MONTH,
    pointsAt: 'nav.pages a:text-is("Next")',
    act: clickOn('Next'),
    shows: listedAt('page=2'),
  },
  {
    name: 'console-last',
    what: 'last page',
    from: MONTH,
    pointsAt: 'nav.pages a:text-is("Last")',
    act: clickOn('Last'),
    shows: listedAt('page='),
  },
  {
    name: 'console-outcome',
    what: 'filter by outcome',
    from: MONTH,
    opens: 'Outcome',
    act: choose('Outcome', 'error'),
    shows: listedAt('status=error'),
  },
  {
    name: 'console-month',
    what: 'the last 30 days in place of 24 hours',
    from: '/requests',
    opens: 'Time',
    act: choose('Time', 'month'),
    shows: listedAt('range=month'),
  },
  {
    name: 'console-tool',
    what: 'filter by a failed tool, 30 days',
    from: MONTH,
    opens: 'ffprobe',
    act: choose('ffprobe', 'error'),
    shows: listedAt('ffprobe=error'),
  },
  {
    name: 'console-address-day',
    what: 'part of an address, 24 hours',
    from: '/requests',
    act: type('clip-9777'),
    shows: listedAt('find=clip-9777'),
  },
  {
    name: 'console-address',
    what: 'part of an address, 30 days',
    from: MONTH,
    act: type('clip-9777'),
    shows: listedAt('find=clip-9777'),
  },
  {
    name: 'console-detail',
    what: 'open a request',
    from: MONTH,
    pointsAt: 'tbody a',
    act: `document.querySelector('tbody a').click()`,
    shows: `document.querySelector('h1').textContent === 'Request' && document.querySelector('[role=tabpanel] pre')`,
  },
];

interface Viewer {
  who: string;
  person: Person;
}

async function interactions(c: ConsoleFixture, { who, person }: Viewer, say: (line: string) => void): Promise<Row[]> {
  const v = await c.visit({ expected: /\b400\b/ });
  await v.open('/requests', 'Sign in');
  await v.signIn(person.email);
  await moveAway(v.page);
  const rows: Row[] = [];
  for (const { name, what, from, pointsAt, opens, act, shows } of INTERACTIONS) {
    const times: number[] = [];
    let refusals = 0;
    for (let round = -2; round < ROUNDS; round++) {
      await v.page.goto(`${c.url}/app${from}`);
      await until(v.page, `${name}: the list before`, LISTED);
      if (pointsAt !== undefined) {
        await v.page.locator(pointsAt).first().hover();
        await v.page.waitForTimeout(POINTING_MS);
      }
      if (opens !== undefined) {
        await v.page.evaluate(`{ ${select(opens)}; select.dispatchEvent(new PointerEvent('pointerdown')); }`);
        await v.page.waitForTimeout(CHOOSING_MS);
      }
      const { ms, refused } = await timed(v.page, { name, changes: '.listing', act, shows });
      if (refused) refusals += 1;
      if (round >= 0) times.push(ms);
    }
    const values = summary(times);
    say(`${what}, ${who}: p50 ${values.p50.toFixed(0)}, p99 ${values.p99.toFixed(0)} ms`);
    const note = refusals === 0 ? {} : { note: `refused ${refusals} times: too many requests to search` };
    rows.push({ name, what: `${what}, ${who}`, unit: 'ms', values, ...note });
  }
  await v.context.close();
  return rows;
}

/** From the start of the navigation to the frame after the one that has the first row of the list. */
async function firstView(c: ConsoleFixture, { person }: Viewer, isSignedIn: boolean): Promise<number> {
  const v = await c.visit();
  const { page, context } = v;
  if (isSignedIn)
    await context.request.post(`${c.url}/frontend/api/v1/auth/sign-in`, {
      data: { email: person.email, password: PASSWORD },
    });
  await moveAway(page);
  await page.goto(`${c.url}/app${MONTH}`, { waitUntil: 'commit' });
  const shows = isSignedIn ? LISTED : `document.querySelector('input[type=password]')`;
  await until(page, 'the first view', shows);
  const ms = (await page.evaluate(
    `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))`,
  )) as number;
  await context.close();
  return ms;
}

async function measure(say: (line: string) => void): Promise<Row[]> {
  const c = await startConsole();
  if (!c) throw new Error('there is no chromium in the cache: make browser');
  try {
    // The users of the history are the first ones of the database: the smaller the id, the more requests.
    const own: Viewer = { who: 'of a user', person: await c.m.person('second') };
    const admin: Viewer = { who: 'of everybody', person: await c.m.person('operator', { role: 'admin' }) };
    const client = new pg.Client({ connectionString: c.m.stored.server.url });
    await client.connect();
    await makeHistory(client, { requests: REQUESTS, users: USERS, months: 1 }, say);
    await client.end();
    const rows: Row[] = [];
    const log = 'first view of the log, nothing in the cache, 40 ms away';
    for (const [name, what, viewer, isSignedIn] of [
      ['console-first-list', `${log}, ${admin.who}`, admin, true],
      ['console-first-list', `${log}, ${own.who}`, own, true],
      ['console-first-sign-in', 'first view of the sign-in, nothing in the cache, 40 ms away', own, false],
    ] as const) {
      const times: number[] = [];
      for (let round = -1; round < FIRST_VIEWS; round++) {
        const ms = await firstView(c, viewer, isSignedIn);
        if (round >= 0) times.push(ms);
      }
      rows.push({ name, what, unit: 'ms', values: summary(times) });
      say(`${what}: p50 ${summary(times).p50.toFixed(0)} ms`);
    }
    rows.push(...(await interactions(c, admin, say)), ...(await interactions(c, own, say)));
    return rows;
  } finally {
    await c.stop();
  }
}

export const consoleLog: Measurement = {
  name: 'console',
  title: `the console in a browser, a log of ${REQUESTS.toLocaleString('en')} requests, one replica`,
  measure,
};
