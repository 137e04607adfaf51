/** Measures every image in the cache and writes the figures into catalog.yaml: `npm exec -- node images/measure.ts`. */
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { cpus, type as osType } from 'node:os';
import { join } from 'node:path';
import { isMap, isSeq, parseDocument, YAMLMap } from 'yaml';
import { cachedTools } from './cached.ts';
import { catalogFile, type Entry, entryName, parseCatalog } from './catalog.ts';
import { say } from './progress.ts';
import { type Sandbox, versionArgs, versionIn, withSandbox } from './sandbox.ts';

const RUNS = 15;

interface Measured {
  where: string;
  when: string;
  startup_ms: number;
  size_mb: number;
}

async function measure(entry: Entry, sandbox: Sandbox): Promise<Measured> {
  const times: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const from = performance.now();
    const { stdout } = await sandbox.run(versionArgs(entry));
    times.push(performance.now() - from);
    if (versionIn(entry, stdout) !== entry.exact)
      throw new Error(`${entryName(entry)} reports ${versionIn(entry, stdout) ?? 'nothing'}`);
  }
  times.sort((a, b) => a - b);
  const folder = join(sandbox.root, 'tools', entry.tool, entry.version);
  const bytes = await sizeOf(folder);
  return {
    where: `${osType()} ${process.arch}, ${cpus().length} cores`,
    when: new Date().toISOString().slice(0, 10),
    startup_ms: Math.round((times[Math.floor(RUNS / 2)] ?? 0) * 10) / 10,
    size_mb: Math.round(bytes / 1e5) / 10,
  };
}

async function sizeOf(folder: string): Promise<number> {
  const files = (await readdir(folder, { withFileTypes: true, recursive: true })).filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Changes only the `built` entries, and keeps comments and order. */
async function writeCatalog(results: ReadonlyMap<string, Measured>): Promise<void> {
  const document = parseDocument(await readFile(catalogFile, 'utf8'));
  const tools = document.get('tools');
  if (!isSeq(tools)) return;
  for (const item of tools.items) {
    if (!isMap(item)) continue;
    const result = results.get(`${String(item.get('tool'))}-${String(item.get('version'))}`);
    if (!result) continue;
    const built = document.createNode(result) as YAMLMap;
    built.flow = true;
    item.set('built', built);
  }
  const text = document.toString({ lineWidth: 0 });
  parseCatalog(text);
  await writeFile(catalogFile, text);
}

const results = new Map<string, Measured>();
for (const { entry, image } of await cachedTools()) {
  if (image === undefined) continue;
  const result = await withSandbox(entry, image, [], (sandbox) => measure(entry, sandbox));
  results.set(entryName(entry), result);
  say(`${entryName(entry)}: ${result.startup_ms} ms, ${result.size_mb} MB`);
}
await writeCatalog(results);
say('catalog.yaml has the figures: `make generate` writes docs/reports/images.md');
