import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { ROOT, tracked } from './tracked.ts';

/** What each folder of src may import, beside itself. The three roles share only messages, tables and resources. */
const BASE = [
  'config',
  'health',
  'limits',
  'log',
  'nearest',
  'retry',
  'runner_settings',
  'source_exception',
  'token_bucket',
  'version_order',
];
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  main: ['api', 'controller', 'runner', 'selftest', 'setup', 'store', ...BASE],

  api: [
    'accounts',
    'bus',
    'compare',
    'hls',
    'kube',
    'policy',
    'report',
    'result',
    'seal',
    'source',
    'statistics',
    'store',
    'timeline',
    'tools',
    'webhooks',
    ...BASE,
  ],
  controller: ['bus', 'hls', 'kube', 'policy', 'result', 'seal', 'source', 'store', 'tools', ...BASE],
  runner: ['bus', 'compare', 'hls', 'policy', 'report', 'result', 'source', 'timeline', 'tools', ...BASE],
  setup: ['bus', 'kube', 'store', ...BASE],
  selftest: BASE,
  console: [],

  accounts: ['seal', 'store', ...BASE],
  webhooks: ['accounts', 'kube', 'result', 'source', 'store', ...BASE],
  result: ['bus', 'compare', 'kube', 'policy', 'retry', 'store', 'tools'],

  source: ['retry', 'source_exception', 'statistics'],
  hls: ['retry', 'source', 'version_order'],
  compare: ['report', 'tools', 'version_order'],
  policy: ['nearest', 'report', 'tools'],
  report: ['tools'],
  timeline: [],
  tools: ['limits'],
  seal: [],
  statistics: ['kube'],

  bus: ['kube', 'policy', 'source', 'timeline', 'tools', ...BASE],
  kube: ['policy', 'tools', ...BASE],
  store: ['kube', 'policy', 'statistics', 'tools', ...BASE],

  config: ['limits', 'runner_settings', 'source_exception'],
  health: ['retry'],
  limits: [],
  log: [],
  nearest: [],
  retry: [],
  runner_settings: ['source_exception'],
  source_exception: [],
  token_bucket: [],
  version_order: [],
};

const areaOf = (path: string): string => path.split('/')[1]!.replace(/\.tsx?$/, '');
const IMPORT = /(?:from|import|import\()\s*'(\.[^']+)'/g;
const files = tracked().filter((path) => path.startsWith('src/') && /\.tsx?$/.test(path));

const imports = files.flatMap((path) =>
  [...readFileSync(new URL(path, ROOT), 'utf8').matchAll(IMPORT)].map(([, specifier]) => ({
    path,
    to: join(path, '..', specifier!),
  })),
);

describe('imports', () => {
  it('src imports nothing from outside src', () => {
    assert.deepEqual(
      imports.filter(({ to }) => !to.startsWith('src/')),
      [],
    );
  });

  it('the table has every folder of src', () => {
    assert.deepEqual([...new Set(files.map(areaOf))].toSorted(), Object.keys(MAY_IMPORT).toSorted());
  });

  for (const [area, allowed] of Object.entries(MAY_IMPORT))
    it(`src/${area} imports only what the table allows`, () => {
      const wrong = imports.filter(
        ({ path, to }) => areaOf(path) === area && areaOf(to) !== area && !allowed.includes(areaOf(to)),
      );
      assert.deepEqual(wrong, []);
    });
});
