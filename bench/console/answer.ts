/** An answer of 50 MB in the console: how long each interaction with it takes until its result is painted. */
import { body, good } from '../../test/result/result_samples.ts';
import { startConsole, type ConsoleFixture } from '../../test/console/fixture.ts';
import { frames } from '../../test/console/long_output.ts';
import { storeAnswer } from '../../test/console/stored_answer.ts';
import type { Measurement, Row } from '../measurement.ts';
import { summary } from '../statistics.ts';
import { timed, until, type Step } from './browser.ts';

const BYTES = 50_000_000;
const ROUNDS = Number(process.env['CONSOLE_ROUNDS'] ?? 10);
/** A person is no faster. */
const BETWEEN_MS = 500;
const ROWS = `document.querySelector('.output.rows pre')`;
const VIEW = `document.querySelector('.output.rows')`;
const click = (text: string): string =>
  `[...document.querySelectorAll('button')].find((one) => one.textContent === '${text}').click()`;
const type = (text: string): string => `
  const input = document.querySelector('input[type=search]');
  input.value = '${text}';
  input.dispatchEvent(new Event('input', { bubbles: true }))`;
const output = (name: string): string => `
  const select = document.querySelector('.filter select');
  select.value = '${name}';
  select.dispatchEvent(new Event('change', { bubbles: true }))`;
const MARKED = `document.querySelector('.row.at mark')`;

interface Interaction extends Omit<Step, 'changes'> {
  what: string;
}

/** In this order, on one page. */
const INTERACTIONS: readonly Interaction[] = [
  {
    name: 'console-raw-end',
    what: 'the end of the first 200,000 rows',
    act: `${VIEW}.scrollTo({ top: ${VIEW}.scrollHeight })`,
    shows: `${ROWS}.textContent.length > 0`,
  },
  { name: 'console-raw-later', what: 'the next 200,000 rows', act: click('Later rows'), shows: `${ROWS}.textContent` },
  { name: 'console-raw-find', what: 'find the last row, first search', act: type('needle in'), shows: MARKED },
  {
    name: 'console-raw-find-common',
    what: 'find what is in 10,000 rows and more',
    act: type('key_frame'),
    shows: MARKED,
  },
  { name: 'console-raw-next', what: 'the next row that holds it', act: click('Next'), shows: MARKED },
  { name: 'console-raw-output', what: 'another output', act: output('mediainfo'), shows: `${ROWS}.textContent` },
  { name: 'console-raw-back', what: 'back to the long output', act: output(''), shows: `${ROWS}.textContent` },
];

async function rounds(c: ConsoleFixture, say: (line: string) => void): Promise<Row[]> {
  const person = await c.m.person('ann');
  const result = body([good('ffprobe', frames(BYTES)), good('mediainfo', 'General\nkey_frame\n', { format: 'text' })]);
  const id = await storeAnswer(c.m.stored.store, person, 'file', result);
  const v = await c.visit();
  await v.open('/requests', 'Sign in');
  await v.signIn(person.email);
  const times = new Map<string, number[]>();
  const opened: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    await v.page.goto(`${c.url}/app/requests/${id}`);
    await until(v.page, 'console-raw-open', `${ROWS}?.textContent.includes('frames')`);
    const open = (await v.page.evaluate('performance.now()')) as number;
    if (round >= 0) opened.push(open);
    for (const { name, act, shows } of INTERACTIONS) {
      await v.page.waitForTimeout(BETWEEN_MS);
      const { ms } = await timed(v.page, { name, changes: '.output.rows pre', act, shows });
      if (round >= 0) times.set(name, [...(times.get(name) ?? []), ms]);
    }
  }
  await v.context.close();
  const row = (name: string, what: string, of: readonly number[]): Row => {
    const values = summary(of);
    say(`${what}: p50 ${values.p50.toFixed(0)}, p99 ${values.p99.toFixed(0)} ms`);
    return { name, what: `${what}, an answer of 50 MB`, unit: 'ms', values };
  };
  return [
    row('console-raw-open', 'open the request', opened),
    ...INTERACTIONS.map(({ name, what }) => row(name, what, times.get(name) ?? [])),
  ];
}

async function measure(say: (line: string) => void): Promise<Row[]> {
  const c = await startConsole();
  if (!c) throw new Error('there is no chromium in the cache: make browser');
  try {
    return await rounds(c, say);
  } finally {
    await c.stop();
  }
}

export const consoleAnswer: Measurement = {
  name: 'console-answer',
  title: 'the console in a browser, an answer of 50 MB',
  measure,
};
