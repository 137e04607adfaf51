/**
 * The pages of the site, in their order. Pages for readers of the repository alone (decisions, reports of measurements)
 * are not here.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

export const DOCS = join(import.meta.dirname, '..');

export interface Page {
  /** Below docs/. */
  file: string;
  /** Below `/docs/`. */
  address: string;
}

interface Section {
  title: string;
  /** Whether its pages are in `/llms-full.txt`: those about using an installation. */
  forCallers: boolean;
  pages: readonly Page[];
}

/** `/docs/api` is the reference that is made from OpenAPI. */
const ADDRESSES: Readonly<Record<string, string>> = {
  'api.md': 'api-by-example',
  'runbooks/README.md': 'runbooks/overview',
};

const pageOf = (file: string): Page => ({ file, address: ADDRESSES[file] ?? file.replace(/\.md$/, '') });
const callers = (title: string, ...files: string[]): Section => ({
  title,
  forCallers: true,
  pages: files.map(pageOf),
});
const operators = (title: string, ...files: string[]): Section => ({
  title,
  forCallers: false,
  pages: files.map(pageOf),
});

const runbooks = readdirSync(join(DOCS, 'runbooks'))
  .filter((name) => name !== 'README.md' && name.endsWith('.md'))
  .toSorted()
  .map((name) => `runbooks/${name}`);

export const SECTIONS: readonly Section[] = [
  callers('Start', 'quickstart.md', 'faq.md', 'glossary.md'),
  callers(
    'Guides',
    'guides/report-types.md',
    'guides/sources.md',
    'guides/streaming.md',
    'guides/hls.md',
    'guides/webhooks.md',
    'guides/errors.md',
    'guides/ci.md',
    'guides/clients.md',
    'guides/symptoms.md',
  ),
  callers('Migrate', 'guides/from-ffprobe.md', 'guides/from-mediainfo.md', 'guides/from-a-hosted-service.md'),
  callers(
    'Topics',
    'api.md',
    'accounts.md',
    'sources.md',
    'report.md',
    'policies.md',
    'compare.md',
    'hls.md',
    'c2pa.md',
    'console.md',
  ),
  callers(
    'Reference',
    'cli.md',
    'mcp.md',
    'options.md',
    'report-fields.md',
    'report-names.md',
    'hls-rules.md',
    'permissions.md',
    'reports/sources.md',
    'samples.md',
  ),
  operators(
    'Operate',
    'production.md',
    'operating/install.md',
    'compat.md',
    'operating/doctor.md',
    'operating/values.md',
    'operating/custom-resources.md',
    'operating/network.md',
    'operating/pools.md',
    'operating/databases.md',
    'operating/availability.md',
    'operating/secrets.md',
    'operating/rotation.md',
    'operating/backup.md',
    'operating/gitops.md',
    'operating/upgrade.md',
    'operating/observe.md',
    'operating/metrics.md',
    'operating/troubleshoot.md',
    'isolation.md',
    'images.md',
    'release.md',
    'licences.md',
    'third-party.md',
  ),
  operators('Runbooks', 'runbooks/README.md', ...runbooks),
];

export const PAGES: readonly Page[] = SECTIONS.flatMap(({ pages }) => pages);
