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
  'program_file',
  'retry',
  'runner_settings',
  'signals',
  'source_exception',
  'start_role',
  'token_bucket',
  'thread',
  'turns',
  'version_order',
];
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  main: ['api', 'backup', 'controller', 'doctor', 'runner', 'samples', 'setup', 'store', ...BASE],

  api: [
    'accounts',
    'bus',
    'ci_formats',
    'compare',
    'hls',
    'kube',
    'metrics',
    'policy',
    'report',
    'result',
    'samples',
    'seal',
    'source',
    'statistics',
    'store',
    'timeline',
    'tools',
    'tracing',
    'upload',
    'webhooks',
    ...BASE,
  ],
  controller: [
    'bus',
    'hls',
    'identity',
    'kube',
    'metrics',
    'policy',
    'result',
    'seal',
    'source',
    'store',
    'tools',
    'tracing',
    'upload',
    ...BASE,
  ],
  runner: ['bus', 'compare', 'hls', 'policy', 'report', 'result', 'source', 'timeline', 'tools', ...BASE],
  setup: ['accounts', 'backup', 'bus', 'kube', 'store', ...BASE],
  samples: BASE,
  doctor: ['runner'],
  backup: ['bounded_text', 'source', 'store', 'xml_element', ...BASE],
  console: ['api_types'],
  cli: ['api_types', 'ci_formats', 'doctor', 'nearest', 'tools'],

  accounts: ['seal', 'store', ...BASE],
  webhooks: ['accounts', 'kube', 'metrics', 'result', 'source', 'store', 'tracing', ...BASE],
  result: ['bus', 'compare', 'kube', 'policy', 'retry', 'store', 'tools'],

  metrics: ['bus', 'retry', 'store'],
  tracing: [],

  source: ['program_file', 'retry', 'source_exception', 'statistics', 'thread', 'turns', 'upload'],
  identity: ['bounded_text', 'retry', 'source', 'xml_element'],
  hls: ['retry', 'source', 'version_order'],
  compare: ['report', 'tools', 'version_order'],
  policy: ['nearest', 'report', 'tools'],
  ci_formats: ['api_types'],
  report: ['tools'],
  timeline: [],
  tools: ['limits'],
  upload: [],
  seal: [],
  statistics: ['kube'],

  bus: ['kube', 'policy', 'source', 'timeline', 'tools', ...BASE],
  kube: ['policy', 'tools', ...BASE],
  store: ['kube', 'policy', 'statistics', 'tools', ...BASE],

  api_types: [],
  bounded_text: [],
  config: ['limits', 'runner_settings', 'setting', 'source', 'source_exception'],
  health: ['retry'],
  limits: [],
  log: [],
  nearest: [],
  program_file: [],
  retry: [],
  runner_settings: ['source_exception'],
  setting: [],
  signals: [],
  source_exception: [],
  start_role: [],
  token_bucket: [],
  thread: [],
  turns: [],
  version_order: [],
  xml_element: [],
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
