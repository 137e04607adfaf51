/**
 * Debian's chromium with the libraries that this machine lacks, unpacked in the cache without installing anything.
 * `node test/browser/chromium.ts` fetches it with apt. Tests use it if it is present, and otherwise print that they are
 * skipped.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { fetchedProgram, fetchProgram } from '../debian_program.ts';

export const CHROMIUM = { name: 'chromium', program: 'usr/lib/chromium/chromium' };
const LIBRARIES = 'usr/lib';

/** Undefined if it was not fetched. */
export async function openBrowser(): Promise<Browser | undefined> {
  const folder = await fetchedProgram(CHROMIUM);
  if (folder === undefined) return undefined;
  const libraries = (await readdir(join(folder, LIBRARIES)))
    .filter((name) => name.endsWith('-linux-gnu'))
    .flatMap((name) => [join(folder, LIBRARIES, name), join(folder, LIBRARIES, name, 'pulseaudio')]);
  return chromium.launch({
    executablePath: join(folder, CHROMIUM.program),
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    env: { ...(process.env as Record<string, string>), LD_LIBRARY_PATH: libraries.join(':') },
    timeout: 60_000,
  });
}

/** Skips the tests of `context` if it was not fetched. */
export async function browserFor(context: Mocha.Context): Promise<Browser> {
  const browser = await openBrowser();
  if (browser) return browser;
  console.log('      skipped: there is no chromium in the cache (make browser)');
  return context.skip();
}

if (import.meta.filename === process.argv[1]) console.log(await fetchProgram(CHROMIUM));
