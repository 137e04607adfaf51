/**
 * What an upgrade of a tool changes in a library: `node bench/cluster/library.ts FOLDER VERSION VERSION` serves the
 * files of a folder to a running cluster, has two batches probe them, and prints their difference as tables. What takes
 * a tool longer than some seconds fails, such as a playlist without an end, which would be read for a minute, in a job
 * of its own, and end the chunk that it is in.
 */
import { readdirSync } from 'node:fs';
import { relative, join, resolve } from 'node:path';
import type { BatchDiff } from '../../src/api_types.ts';
import { batchEnded, createdBatch } from '../../test/cluster/batches.ts';
import { eventually, type Cluster } from '../../test/cluster/fixture.ts';
import { serveFiles } from '../source/near_files.ts';
import { withCluster } from './rig.ts';

const FILE_MS = 5_000;
const AT_ONCE = 8;
/** Of each version: the machine may be busy, so the wait is three times as long. */
const LONGEST_S = 60;

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
    // 429: the account has to wait for its share of the CPU.
    const part = await eventually('a part of the difference', LONGEST_S, async () => {
      const { status, json, text } = await c.get(`/v1/batch/${b}/diff?against=${a}${query}`, token);
      if (status !== 200) throw new Error(text);
      return json as unknown as BatchDiff;
    });
    parts.push(part);
    ({ next } = part);
  }
  return parts;
}

type Field = BatchDiff['fields'][number];

/** Of all parts, those in most files first. */
function fieldsOf(parts: readonly BatchDiff[]): Field[] {
  const same = ({ path, tool, level, change, known }: Field): string =>
    JSON.stringify([path, tool, level, change, known !== undefined]);
  const groups = Map.groupBy(
    parts.flatMap(({ fields }) => fields),
    same,
  );
  return [...groups.values()]
    .map((group) => ({ ...group[0]!, files: group.reduce((sum, { files: count }) => sum + count, 0) }))
    .toSorted((x, y) => y.files - x.files);
}

const cell = (value: unknown): string => (value === undefined ? '' : `\`${JSON.stringify(value).slice(0, 60)}\``);

await withCluster(async (c) => {
  const pathOf = (file: string): string => file.split('/').map(encodeURIComponent).join('/');
  const origin = await c.origin(serveFiles(files.map((file) => ({ name: pathOf(file), path: join(root, file) }))));
  const { token } = await c.newToken();
  const items = files.map((file) => ({ url: `${origin.url}/${pathOf(file)}`, ref: file }));
  const batchOf = async (version: string): Promise<string> => {
    const began = performance.now();
    const probe = { only: 'ffprobe', timeout: FILE_MS, ffprobe: { version, timeout: FILE_MS } };
    const limits = { concurrency: AT_ONCE, per_host: AT_ONCE, rate: 1_000_000, tries: 1 };
    const { id } = await createdBatch(c, token, { probe, items, ...limits });
    const { counts, errors } = await batchEnded(c, token, id, LONGEST_S);
    const failed = errors.map(({ code, count }) => `${count} × ${code}`).join(', ');
    console.log(`ffprobe ${version}, ${((performance.now() - began) / 1000).toFixed(0)} s: ${JSON.stringify(counts)}`);
    console.log(`failed: ${failed}\n`);
    return id;
  };
  const [a, b] = [await batchOf(before), await batchOf(after)];
  const parts = await diffOf(c, token, a, b);
  const [first] = parts;
  const compared = parts.reduce((sum, { summary }) => sum + summary.comparisons, 0);
  const changed = parts.reduce((sum, { summary }) => sum + summary.changed, 0);
  console.log(`${first!.pairs} files in both, ${compared} compared, ${changed} of them changed.\n`);
  for (const { why, count } of parts.flatMap((part) => part.not_compared))
    console.log(`${count} not compared: ${why}\n`);
  console.log('| outcome | ffprobe A | ffprobe B | files | for example |\n| --- | --- | --- | --- | --- |');
  for (const { from, to, count, items: some } of first!.states)
    console.log(`| state | ${from} | ${to} | ${count} | ${some[0]?.ref ?? ''} |`);
  console.log('\n| files | field | change | A | B |\n| --- | --- | --- | --- | --- |');
  for (const { files: count, path, change, known, examples } of fieldsOf(parts)) {
    const { a: old, b: young } = (examples[0]?.values ?? {}) as Record<string, unknown>;
    console.log(`| ${count} | ${path} | ${known ? `${change}, known` : change} | ${cell(old)} | ${cell(young)} |`);
  }
});
