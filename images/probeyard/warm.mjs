/**
 * Loads every role once, so that Node writes down what it compiled; runs while the image is built, as the user of the
 * image.
 */
import { spawnSync } from 'node:child_process';
import { chmod, readdir, readFile, rm } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';

const main = '/app/src/main.ts';
// A role that cannot be loaded fails the build.
const roles = [...(await readFile(main, 'utf8')).matchAll(/import\('\.\/(.+)'\)/g)];
if (roles.length === 0) throw new Error(`${main} names no role`);
for (const [, file] of roles) await import(`/app/src/${file}`);
flushCompileCache();
// The ways in are compiled as well: they end with their usage or for want of settings, and what they compiled stays.
for (const program of [main, '/app/agent/main.cjs']) spawnSync(process.execPath, [program], { stdio: 'ignore' });
// It stands in the folder of the cache, which has to be this user's while it is filled; in the image it has no
// business.
await rm(import.meta.filename);
// Node writes for its own eyes only; in the image the files belong to root.
await readable('/app/cache');
process.exit(0);

async function readable(folder) {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) await readable(path);
    else await chmod(path, 0o644);
  }
}
