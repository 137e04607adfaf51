/** A browser that is 40 ms away, and how long it takes until the result of an interaction is painted. */
import type { Page } from 'playwright-core';
import { within } from '../../src/base/retry.ts';

const RTT_MS = 40;
/** Far above what any step takes: one that shows no result ends the measurement, by its name. */
const DEADLINE_MS = 60_000;
/** 50 Mbit/s down, 10 up. */
const BYTES_PER_SECOND = { down: 6_250_000, up: 1_250_000 };

/** The browser itself delays each exchange; this has no effect on others of the machine. */
export async function moveAway(page: Page): Promise<void> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Network.enable');
  await cdp.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: RTT_MS,
    downloadThroughput: BYTES_PER_SECOND.down,
    uploadThroughput: BYTES_PER_SECOND.up,
  });
}

export interface Step {
  /** What the message says if its result does not come. */
  name: string;
  /** A selector: the text of what it finds becomes another one. */
  changes: string;
  /** What the page does, and what holds when the result is there, as expressions. */
  act: string;
  shows: string;
}

const shown = <T>(page: Page, name: string, work: string): Promise<T> =>
  within(
    DEADLINE_MS,
    page.evaluate<T>(`(async () => {${work}})()`),
    () => new Error(`${name}: no result within ${DEADLINE_MS / 1_000} s, at ${page.url()}`),
  );

/**
 * Runs in the page: from the event to the frame after the one in which something else is shown and `shows` holds, so
 * that it is painted; or until the page says that the API refused it.
 */
export const timed = (page: Page, { name, changes, act, shows }: Step): Promise<{ ms: number; refused: boolean }> =>
  shown(
    page,
    name,
    `
    const text = () => document.querySelector(${JSON.stringify(changes)})?.textContent;
    const before = text();
    const begun = performance.now();
    ${act};
    const refused = () => document.querySelector('.notice[role=alert]') !== null;
    while (!refused() && (text() === before || !(${shows}))) await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    return { ms: performance.now() - begun, refused: refused() };`,
  );

/** The page's policy forbids what `waitForFunction` does. */
export const until = (page: Page, name: string, shows: string): Promise<void> =>
  shown(page, name, `while (!(${shows})) await new Promise(requestAnimationFrame);`);
