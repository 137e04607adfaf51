import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { ROOT, tracked } from './tracked.ts';

/**
 * What each room of src may import: a wing means all of it. The wings stand on one another: base, source, media,
 * platform, service. In three of them each room has rows of its own: the roles share only messages, tables and
 * resources, and what is known about media knows neither Kubernetes, NATS nor Postgres.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  main: ['base', 'service', 'platform/store'],

  base: [],
  source: ['base'],

  'media/answer': ['base', 'media/ci_formats', 'media/hls', 'media/qc', 'api_types'],
  'media/ci_formats': ['base', 'api_types'],
  'media/compare': ['base', 'media/report', 'media/tools'],
  'media/hls': ['base', 'source'],
  'media/policy': ['base', 'media/hls', 'media/report', 'media/tools'],
  'media/qc': ['base'],
  'media/report': ['base', 'media/tools'],
  'media/timeline': ['base'],
  'media/tools': ['base', 'media/qc'],

  'platform/bus': ['base', 'source', 'media', 'platform/kube'],
  'platform/identity': ['base', 'source'],
  'platform/kube': ['base', 'media'],
  'platform/metrics': ['base', 'platform/bus', 'platform/kube', 'platform/store'],
  'platform/seal': ['base'],
  'platform/statistics': ['source', 'platform/kube'],
  'platform/store': ['base', 'media', 'platform/kube', 'platform/statistics'],
  'platform/tracing': [],

  'service/accounts': ['base', 'platform/seal', 'platform/store'],
  'service/api': [
    'base',
    'source',
    'media',
    'platform/bus',
    'platform/kube',
    'platform/metrics',
    'platform/seal',
    'platform/statistics',
    'platform/store',
    'platform/tracing',
    'service/accounts',
    'service/result',
    'service/samples',
    'service/webhooks',
  ],
  'service/backup': ['base', 'source', 'platform/store'],
  'service/controller': ['base', 'source', 'media', 'platform', 'service/result'],
  'service/doctor': ['service/runner'],
  'service/result': ['base', 'media', 'platform/bus', 'platform/kube', 'platform/store'],
  'service/runner': ['base', 'source', 'media', 'platform/bus', 'service/result'],
  'service/samples': ['base'],
  'service/setup': ['base', 'platform', 'service/accounts', 'service/backup'],
  'service/webhooks': ['base', 'source', 'platform', 'service/accounts', 'service/result'],

  console: ['base', 'media/answer', 'media/qc', 'api_calls', 'api_types'],
  cli: ['base', 'media', 'platform/kube', 'api_calls', 'api_types', 'service/doctor'],
  api_calls: ['api_types'],
  api_types: [],
};

/** Wings whose rooms have a row each. */
const WITH_ROOMS = ['media', 'platform', 'service'];

function areaOf(path: string): string {
  const [, wing, room] = path.replace(/\.tsx?$/, '').split('/');
  return WITH_ROOMS.includes(wing!) ? `${wing}/${room}` : wing!;
}
const isIn = (area: string, allowed: readonly string[]): boolean =>
  allowed.includes(area) || allowed.includes(area.split('/')[0]!);
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

  it('the table has every room of src', () => {
    assert.deepEqual([...new Set(files.map(areaOf))].toSorted(), Object.keys(MAY_IMPORT).toSorted());
  });

  for (const [area, allowed] of Object.entries(MAY_IMPORT))
    it(`src/${area} imports only what the table allows`, () => {
      const wrong = imports.filter(
        ({ path, to }) => areaOf(path) === area && areaOf(to) !== area && !isIn(areaOf(to), allowed),
      );
      assert.deepEqual(wrong, []);
    });
});
