import assert from 'node:assert/strict';
import { readFileSync, readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { parse, stringify } from 'yaml';
import { chartCatalog } from '../../charts/generate.ts';
import { valueRows } from '../../docs/tables/values.ts';
import { CHART } from './render.ts';

const ROOT = new URL('../../', import.meta.url);
const values = readFileSync(join(CHART, 'values.yaml'), 'utf8');

describe('chart: derived files', () => {
  it('crds/ links to every CRD of the chart, and to nothing else', () => {
    const folder = join(CHART, 'files/crds');
    const links = readdirSync(new URL('crds/', ROOT)).map((name) => realpathSync(new URL(`crds/${name}`, ROOT)));
    assert.deepEqual(
      links.sort(),
      readdirSync(folder)
        .map((name) => join(folder, name))
        .sort(),
    );
  });

  it('the catalog has only the fields that a ProbeTool needs', () => {
    const entry = (version: string, more: object) => ({
      tool: 'ffprobe',
      version,
      exact: `${version}.2`,
      command: ['{root}/bin/ffprobe'],
      license: 'x',
      source: {},
      ...more,
    });
    const yaml = stringify({
      tools: [entry('9.0', { latest: true, built: { startup_ms: 4 } }), entry('7.0', { built: 'never' })],
    });
    assert.deepEqual(parse(chartCatalog(yaml)), [
      { tool: 'ffprobe', version: '9.0', latest: true, command: ['{root}/bin/ffprobe'] },
      { tool: 'ffprobe', version: '7.0', optional: true, command: ['{root}/bin/ffprobe'] },
    ]);
  });
});

describe('chart: values', () => {
  const rows = valueRows(values);
  const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as Schema;

  it('have a comment each', () => {
    assert.ok(rows.length > 100);
    assert.deepEqual(
      rows.filter(({ text }) => text.length < 8).map(({ path }) => path),
      [],
    );
  });

  it('match their schema', () => {
    const validate = new Ajv({ strict: false }).compile(schema);
    assert.ok(validate(parse(values)), JSON.stringify(validate.errors));
  });

  interface Schema {
    type?: string;
    properties?: Record<string, Schema>;
    additionalProperties?: unknown;
    anyOf?: Schema[];
  }
  const missing = (node: Schema, value: unknown, path = ''): string[] => {
    if (node.type !== 'object' || !node.properties || typeof value !== 'object' || value === null) return [];
    return Object.entries(node.properties).flatMap(([name, sub]) => {
      const here = path ? `${path}.${name}` : name;
      return name in value ? missing(sub, (value as Record<string, unknown>)[name], here) : [here];
    });
  };

  it('include every field of the schema', () => {
    // These amounts are left to the administrator, so there are no CPU limits and no ephemeral storage.
    const left = missing(schema, parse(values)).filter((path) => !/resources\.(requests|limits)/.test(path));
    assert.deepEqual(left, []);
  });

  it('are all used by a template', () => {
    const templates = readdirSync(join(CHART, 'templates'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
      .join('\n');
    const unused = rows
      .filter(
        ({ path }) =>
          !new RegExp(`\\.${path.split('.').at(-1)}\\b`).test(templates) &&
          !/^(pools|secrets|podSecurityContext|containerSecurityContext|logSample)\./.test(path) &&
          // Given to Kubernetes as they are.
          !/^(api|controller)\.((readiness|liveness)Probe|strategy)\./.test(path),
      )
      .map(({ path }) => path);
    assert.deepEqual(unused, []);
  });
});
