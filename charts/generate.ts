/**
 * Writes every generated file, for `make generate`: the CRDs, derived files of the chart, and pages of docs. `make
 * check` fails if one is out of date.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { apiTypes } from './api_types.ts';
import { alertsFile } from './alerts/file.ts';
import { dashboardFile } from './dashboards/file.ts';
import { DASHBOARDS } from './dashboards/table.ts';
import { crdFiles } from './crds.ts';
import { valuesSchema } from './schema.ts';
import { VERSIONED, withVersion } from './version.ts';
import { commandFor, parseCatalog } from '../images/catalog.ts';
import { debianVersions, findingsOf, readFindings, statusOf, type Status } from '../images/vex/vex.ts';
import { apiPages } from '../docs/tables/api_reference.ts';
import { cliPage } from '../docs/tables/cli.ts';
import { customResourcesPage } from '../docs/tables/custom_resources.ts';
import { hlsFindingsPage } from '../docs/tables/hls_findings.ts';
import { hlsRulesPage } from '../docs/tables/hls_rules.ts';
import { imagesPage } from '../docs/tables/images.ts';
import { jobStatesPage } from '../docs/tables/job_states.ts';
import { metricsPage } from '../docs/tables/metrics.ts';
import { optionPage } from '../docs/tables/options.ts';
import { roleTable } from '../docs/tables/permissions.ts';
import { reportFieldsPage } from '../docs/tables/report_fields.ts';
import { reportNamesPage } from '../docs/tables/report_names.ts';
import { samplesPage } from '../docs/tables/samples.ts';
import { valuesPage } from '../docs/tables/values.ts';

const ROOT = new URL('../', import.meta.url);
const CHART = 'charts/probeyard';

const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

interface CatalogTool {
  tool: string;
  version: string;
  latest?: boolean;
  command: string[];
  arm64?: object;
  built: unknown;
}

/**
 * The part of the image catalog that the chart needs, without the origins of the files. A version that was never built
 * is optional, because no registry has its image.
 */
export function chartCatalog(catalogYaml: string): string {
  const { tools } = parse(catalogYaml) as { tools: CatalogTool[] };
  const entries = tools.map(({ tool, version, latest, command, arm64, built }) => ({
    tool,
    version,
    ...(latest ? { latest } : {}),
    ...(built === 'never' ? { optional: true } : {}),
    command,
    ...(arm64 ? { arm64: { command: commandFor({ command }, 'arm64') } } : {}),
  }));
  const head = '# Made from images/catalog.yaml by `make generate`: change it there.\n';
  return head + stringify(entries, { lineWidth: 0, collectionStyle: 'any' });
}

/** Known vulnerabilities of each tool version, for `status.warning` of ProbeTools. */
function vulnerabilities(catalogYaml: string): string {
  const versions = parseCatalog(catalogYaml).tools.flatMap((entry) => {
    const findings = findingsOf(entry.tool);
    if (findings.length === 0) return [];
    const debian = debianVersions(entry);
    const idsOf = (status: Status): string[] =>
      findings.filter((finding) => statusOf(finding, entry.exact, debian) === status).map(({ id }) => id);
    const known = { affected: idsOf('affected').toSorted(), unclear: idsOf('under_investigation').length };
    return [[`${entry.tool} ${entry.version}`, known]];
  });
  return `${JSON.stringify({ read: readFindings().read, versions: Object.fromEntries(versions) }, undefined, 2)}\n`;
}

/** Pages of docs: what each is made from, which its last line names, and its text. */
function madePages(catalog: string): Map<string, string> {
  const pages: [path: string, source: string, text: string][] = [
    ['docs/operating/values.md', 'charts/probeyard/values.yaml', valuesPage(read(`${CHART}/values.yaml`))],
    ['docs/operating/custom-resources.md', 'src/platform/kube', customResourcesPage()],
    ['docs/operating/metrics.md', 'the registries of each role', metricsPage()],
    ['docs/hls-rules.md', 'src/media/hls/rules', hlsRulesPage()],
    ['docs/reports/hls-findings.md', 'src/media/hls/rules', hlsFindingsPage()],
    ['docs/cli.md', 'src/cli', cliPage()],
    ['docs/job-states.md', 'src/service/controller/leader', jobStatesPage()],
    ['docs/options.md', 'src/media/tools', optionPage()],
    ['docs/permissions.md', 'src/service/api/http/endpoint_access.ts', roleTable()],
    ['docs/report-fields.md', 'src/media/report', reportFieldsPage()],
    ['docs/report-names.md', 'src/media/report/normalise', reportNamesPage()],
    ['docs/samples.md', 'src/service/samples/list.ts', samplesPage()],
    ['docs/reports/images.md', 'images/catalog.yaml', imagesPage(parseCatalog(catalog).tools)],
    ...apiPages().map(([name, text]): [string, string, string] => [`docs/reference/${name}`, 'src/service/api', text]),
  ];
  return new Map(
    pages.map(([path, source, text]) => [
      path,
      `${text.trimEnd()}\n\n<!-- Made from ${source} by \`make generate\`: change it there. -->\n`,
    ]),
  );
}

/** The content of every generated file, by path. */
export function madeFiles(): Map<string, string> {
  const files = new Map<string, string>();
  const catalog = read('images/catalog.yaml');
  const { version } = JSON.parse(read('package.json')) as { version: string };
  for (const file of VERSIONED) files.set(file, withVersion(file, read(file), version));
  for (const [name, content] of crdFiles()) files.set(`${CHART}/files/crds/${name}`, content);
  files.set(`${CHART}/files/catalog.yaml`, chartCatalog(catalog));
  files.set(`${CHART}/values.schema.json`, valuesSchema());
  files.set(`${CHART}/files/alerts.yaml`, alertsFile());
  for (const dashboard of DASHBOARDS) files.set(`${CHART}/dashboards/${dashboard.name}.json`, dashboardFile(dashboard));
  files.set('src/media/tools/vulnerabilities.json', vulnerabilities(catalog));
  files.set('src/api_types.ts', apiTypes());
  for (const [path, page] of madePages(catalog)) files.set(path, page);
  return files;
}

/** `--check` writes nothing, and fails if a file is out of date. */
if (import.meta.main) {
  const check = process.argv.includes('--check');
  for (const [path, content] of madeFiles()) {
    const file = new URL(path, ROOT);
    if (existsSync(file) && readFileSync(file, 'utf8') === content) continue;
    console.log(check ? `${path} is out of date: run make generate` : path);
    if (check) process.exitCode = 1;
    else writeFileSync(file, content);
  }
}
