/** CustomResourceDefinitions, generated from the descriptions in src/kube. */
import type { TObject } from 'typebox';
import { stringify } from 'yaml';
import { PROBE_BATCH } from '../src/platform/kube/probe_batch.ts';
import { PROBE_JOB } from '../src/platform/kube/probe_job.ts';
import { PROBE_POLICY } from '../src/platform/kube/probe_policy.ts';
import { PROBE_POOL } from '../src/platform/kube/probe_pool.ts';
import { PROBE_SOURCE } from '../src/platform/kube/probe_source.ts';
import { PROBE_TOOL } from '../src/platform/kube/probe_tool.ts';
import { GROUP, VERSION, type Definition } from '../src/platform/kube/resource.ts';
import { batchBody, sourceBody } from './request_body.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Reduces a JSON schema to the structural subset of the API server, without patternProperties and empty `required`. */
function structural(schema: unknown): Json {
  const node = schema as Record<string, unknown>;
  const out: Record<string, Json> = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === 'patternProperties') {
      const [only] = Object.values(value as Record<string, unknown>);
      out['additionalProperties'] = structural(only);
    } else if (key === 'properties') {
      out['properties'] = Object.fromEntries(
        Object.entries(value as object).map(([name, sub]) => [name, structural(sub)]),
      );
    } else if (key === 'items') {
      out['items'] = structural(value);
    } else if (key !== 'required' || (value as string[]).length > 0) {
      out[key] = JSON.parse(JSON.stringify(value)) as Json;
    }
  }
  // A member with a default may be omitted, because the API server adds it before validation.
  if (Array.isArray(out['required'])) {
    const properties = node['properties'] as Record<string, { default?: unknown }>;
    const needed = (out['required'] as string[]).filter((name) => properties[name]?.default === undefined);
    if (needed.length > 0) out['required'] = needed;
    else delete out['required'];
  }
  if (out['type'] === 'integer') out['format'] = 'int64';
  return out;
}

/** The platform does not know the fields of the API. */
const REQUESTS = new Map([
  [PROBE_BATCH, batchBody],
  [PROBE_SOURCE, sourceBody],
]);

function specOf(definition: Definition): unknown {
  const request = REQUESTS.get(definition)?.();
  const { spec } = definition;
  return request ? { ...spec, properties: { ...(spec as TObject).properties, request } } : spec;
}

export function customResourceDefinition(definition: Definition): Record<string, Json> {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${definition.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: {
        kind: definition.kind,
        listKind: `${definition.kind}List`,
        plural: definition.plural,
        singular: definition.kind.toLowerCase(),
        shortNames: [definition.short],
        categories: ['probeyard'],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          ...(definition.statusInObject
            ? {}
            : { subresources: { status: {}, ...(definition.scale ? { scale: { ...definition.scale } } : {}) } }),
          ...(definition.selectable.length > 0
            ? { selectableFields: definition.selectable.map((jsonPath) => ({ jsonPath })) }
            : {}),
          additionalPrinterColumns: definition.columns.map((column) => ({ ...column })),
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description: definition.description,
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string', description: 'Group and version of the kind.' },
                kind: { type: 'string', description: 'The kind of the object.' },
                metadata: { type: 'object' },
                spec: { ...(structural(specOf(definition)) as object), description: 'What is wanted.' },
                status: { ...(structural(definition.status) as object), description: 'What is.' },
              },
              ...(definition.validations
                ? { 'x-kubernetes-validations': definition.validations.map((one) => ({ ...one })) }
                : {}),
            },
          },
        },
      ],
    },
  };
}

const HEAD = '# Made from src/platform/kube/probe_*.ts by `make generate`: change it there.\n';

export const DEFINITIONS: readonly Definition[] = [
  PROBE_JOB,
  PROBE_BATCH,
  PROBE_SOURCE,
  PROBE_TOOL,
  PROBE_POOL,
  PROBE_POLICY,
];

const crdYaml = (definition: Definition): string =>
  HEAD + stringify(customResourceDefinition(definition), { lineWidth: 0 });

/** Each definition by its file name. */
export const crdFiles = (): [string, string][] =>
  DEFINITIONS.map((definition) => [`${GROUP}_${definition.plural}.yaml`, crdYaml(definition)]);
