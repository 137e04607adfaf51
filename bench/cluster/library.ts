/**
 * What an upgrade of a tool changes in a library: `node bench/cluster/library.ts FOLDER VERSION VERSION` serves the
 * files of a folder to a running cluster, has two batches probe them, and prints their difference as tables.
 */
import { readdirSync } from 'node:fs';
import { relative, join, resolve } from 'node:path';
import type { BatchDiff } from '../../src/api_types.ts';
import { batchEnded, createdBatch } from '../../test/cluster/batches.ts';
import type { Cluster } from '../../test/cluster/fixture.ts';
import { serveFiles } from '../source/near_files.ts';
import { withCluster } from './rig.ts';

const [folder, before, after] = process.argv.slice(2);
if (folder === undefined || before === undefined || after === undefined) {
  console.error('usage: node bench/cluster/library.ts FOLDER VERSION VERSION');
  process.exit(2);
}
const root = resolve(folder);
const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && !/\.(?:md|json|txt)$/.test(entry.name))
  .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  .toSorted();

/** Until all pairs are compared. */
async function diffOf(c: Cluster, token: string, a: string, b: string): Promise<BatchDiff[]> {
  const parts: BatchDiff[] = [];
  for (let [next, query]: [number | null, string] = [0, '']; next !== null; query = `&after=${next}`) {
    const { status, json, text } = await c.get(`/v1/batch/${b}/diff?against=${a}${query}`, token);
    if (status !== 200) throw new Error(text);
    const part = json as unknown as BatchDiff;
    parts.push(part);
    ({ next } = part);
  }
  return parts;
}

const cell = (value: unknown): string => (value === undefined ? '' : `\`${JSON.stringify(value).slice(0, 60)}\``);

await withCluster(async (c) => {
  const pathOf = (file: string): string => file.split('/').map(encodeURIComponent).join('/');
  const origin = await c.origin(serveFiles(files.map((file) => ({ name: pathOf(file), path: join(root, file) }))));
  const { token } = await c.newToken();
  const items = files.map((file) => ({ url: `${origin.url}/${pathOf(file)}`, ref: file }));
  const batchOf = async (version: string): Promise<string> => {
    const probe = { only: 'ffprobe', ffprobe: { version } };
    const { id } = await createdBatch(c, token, { probe, items, per_host: 8, rate: 1_000_000, tries: 1 });
    const { counts } = await batchEnded(c, token, id, 900);
    console.log(`ffprobe ${version}: ${JSON.stringify(counts)}\n`);
    return id;
  };
  const [a, b] = [await batchOf(before), await batchOf(after)];
  const parts = await diffOf(c, token, a, b);
  const [first] = parts;
  const compared = parts.reduce((sum, { summary }) => sum + summary.comparisons, 0);
  const changed = parts.reduce((sum, { summary }) => sum + summary.changed, 0);
  console.log(`${first!.pairs} files in both, ${compared} compared, ${changed} of them changed.\n`);
  for (const { why, count } of first!.not_compared) console.log(`${count} not compared: ${why}\n`);
  console.log('| outcome | ffprobe A | ffprobe B | files | for example |\n| --- | --- | --- | --- | --- |');
  for (const { from, to, count, items: some } of first!.states)
    console.log(`| state | ${from} | ${to} | ${count} | ${some[0]?.ref ?? ''} |`);
  console.log('\n| files | field | change | A | B |\n| --- | --- | --- | --- | --- |');
  for (const { files: count, path, change, known, examples } of parts.flatMap(({ fields }) => fields)) {
    const { a: old, b: young } = (examples[0]?.values ?? {}) as Record<string, unknown>;
    console.log(`| ${count} | ${path} | ${known ? `${change}, known` : change} | ${cell(old)} | ${cell(young)} |`);
  }
});
