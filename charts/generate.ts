/**
 * Brings what the chart holds of other places up to date: CRDs, the catalog, the values' schema and their table. `node
 * charts/generate.ts`
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { valuesSchema } from './schema.ts';
import { valuesTable } from '../docs/tables/values.ts';

const ROOT = new URL('../', import.meta.url);
const CHART = 'charts/probeyard';
const BEGIN = '<!-- values: made from charts/probeyard/values.yaml by charts/generate.ts -->';
const END = '<!-- /values -->';

const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

interface CatalogTool {
  tool: string;
  version: string;
  latest?: boolean;
  command: string[];
  built: unknown;
}

/**
 * What the chart needs of the catalog of images: not where their bytes come from. A version that was never built is
 * optional: no registry has its image.
 */
export function chartCatalog(catalogYaml: string): string {
  const { tools } = parse(catalogYaml) as { tools: CatalogTool[] };
  const entries = tools.map(({ tool, version, latest, command, built }) => ({
    tool,
    version,
    ...(latest ? { latest } : {}),
    ...(built === 'never' ? { optional: true } : {}),
    command,
  }));
  return `# Made from images/catalog.yaml by charts/generate.ts: change it there.\n${stringify(entries, { lineWidth: 0, collectionStyle: 'any' })}`;
}

function withTable(page: string): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`docs/operating.md: the marks ${BEGIN} and ${END} are missing`);
  return `${before}${BEGIN}\n${valuesTable(read(`${CHART}/values.yaml`))}\n${END}${after}`;
}

/** Every file that is made, by its path: what it should hold. */
export function madeFiles(): Map<string, string> {
  const files = new Map<string, string>();
  for (const name of readdirSync(new URL('crds/', ROOT)))
    files.set(`${CHART}/files/crds/${name}`, read(`crds/${name}`));
  if (existsSync(new URL('images/catalog.yaml', ROOT)))
    files.set(`${CHART}/files/catalog.yaml`, chartCatalog(read('images/catalog.yaml')));
  files.set(`${CHART}/values.schema.json`, valuesSchema());
  files.set('docs/operating.md', withTable(read('docs/operating.md')));
  return files;
}

if (import.meta.main) {
  mkdirSync(new URL(`${CHART}/files/crds/`, ROOT), { recursive: true });
  for (const [path, content] of madeFiles()) writeFileSync(new URL(path, ROOT), content);
}
