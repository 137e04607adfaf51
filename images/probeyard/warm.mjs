/** Loads every role once, so that Node writes down what it compiled; runs while the image is built, as the user of the image. */
import { readdir, rm } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';

const source = '/app/src';
for (const entry of await readdir(source, { withFileTypes: true })) {
  if (entry.isDirectory()) await load(`${source}/${entry.name}/main.ts`);
}
await load(`${source}/runner/verify.ts`);
flushCompileCache();
// It stands in the folder of the cache, which has to be this user's while it is filled; in the image it has no business.
await rm(import.meta.filename);
process.exit(0);

async function load(file) {
  try {
    await import(file);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' || !error.message.includes(file)) console.error(`${file}: ${error.message}`);
  }
}
