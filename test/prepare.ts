/**
 * What all tests together use, before the first of them: programs of the local node, images, and programs of Debian.
 * Without it, tests fail or are skipped. All of it is kept in the cache.
 */
import { buildAll, missingImages } from '../images/build.ts';
import { say } from '../images/progress.ts';
import { AGE } from './backup/fixture.ts';
import { CHROMIUM } from './browser/chromium.ts';
import { NGINX } from './chart/router.ts';
import { fetchProgram } from './debian_program.ts';
import { PHP } from './docs/programs.ts';
import { fetchMediaPrograms } from './media_programs.ts';
import { buildParts, missingParts } from './node/build.ts';
import { explain } from './node/cluster_error.ts';
import { checkGo, ensurePackages } from './node/packages.ts';
import { GO_NEEDED, NODE_PARTS, type PartName } from './node/parts.ts';

/** One after the other: apt lets one of them in at a time. */
async function fetchPrograms(): Promise<void> {
  const without = (name: string) => (error: unknown) =>
    say(`without ${name}, so its tests are skipped: ${explain(error).split('\n')[0]}`);
  for (const program of [AGE, CHROMIUM, NGINX, PHP]) await fetchProgram(program).catch(without(program.name));
  await fetchMediaPrograms().catch(without('ffmpeg and mediainfo'));
}

const PARTS: readonly PartName[] = [...NODE_PARTS, 'nats-server', 'versitygw', 'mediamtx'];

await ensurePackages();
await checkGo(GO_NEEDED);
const missing = [...(await missingParts(PARTS)), ...(await missingImages())].map(([step]) => step);
if (missing.length > 0) say(`the tests wait for what is not in the cache yet: ${missing.join(', ')}`);
// The images wait for registries most of the time, and the programs for the compiler.
const [, images] = await Promise.all([buildParts(PARTS), buildAll()]);
await fetchPrograms();
say(`${images.length} images and all programs are built`);
