/**
 * The settings of a runner: one document, created by the controller for a pod and read by its agent. Both have the same
 * version, because the controller starts its own image.
 */
import type { SourceException } from './source_settings.ts';

/** The environment variable that contains it as JSON. */
export const RUNNER_SETTINGS = 'PY_RUNNER';

export interface RunnerSettings {
  pool: string;
  generation: string;
  logLevel: string;
  healthPort: number;
  /** File paths in the pod. */
  nats: { url: string; caFile?: string; tokenFile: string; sentinelJwt?: string };
  launcherSocket: string;
  toolsDir: string;
  toolMemoryBytes: number;
  /** The pod is replaced after this number of jobs. */
  maxJobs: number;
  drainMs: number;
  /** Options of the source proxy, with a file instead of the CA itself. */
  sources: {
    allow: SourceException[];
    denyExtra: string[];
    pace: { minBytes: number };
    s3: { endpoint?: string; region?: string };
    egress?: { url: string; noProxy: string[]; resolve: 'here' | 'proxy' };
    caFile?: string;
  };
}

/** A JSON type as a value. An optional member is wrapped in a list. */
type Form<T> = T extends string
  ? 'string'
  : T extends number
    ? 'number'
    : T extends readonly unknown[]
      ? 'list'
      : { [K in keyof T]-?: undefined extends T[K] ? readonly [Form<NonNullable<T[K]>>] : Form<T[K]> };

const FORM: Form<RunnerSettings> = {
  pool: 'string',
  generation: 'string',
  logLevel: 'string',
  healthPort: 'number',
  nats: { url: 'string', caFile: ['string'], tokenFile: 'string', sentinelJwt: ['string'] },
  launcherSocket: 'string',
  toolsDir: 'string',
  toolMemoryBytes: 'number',
  maxJobs: 'number',
  drainMs: 'number',
  sources: {
    allow: 'list',
    denyExtra: 'list',
    pace: { minBytes: 'number' },
    s3: { endpoint: ['string'], region: ['string'] },
    egress: [{ url: 'string', noProxy: 'list', resolve: 'string' }],
    caFile: ['string'],
  },
};

/**
 * Hand-written, because loading a validation library takes longer than starting the agent. Throws an error that names
 * the problem.
 */
export function checkRunnerSettings(value: unknown): RunnerSettings {
  check(value, FORM, '');
  return value as RunnerSettings;
}

type AnyForm = string | { readonly [name: string]: AnyForm | readonly [AnyForm] };

function check(value: unknown, form: AnyForm, path: string): void {
  const is = Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value;
  const wanted = typeof form === 'string' ? form : 'object';
  if (is !== wanted)
    throw new Error(`${path === '' ? '' : `${path} `}must be a${wanted === 'object' ? 'n' : ''} ${wanted}`);
  if (typeof form === 'string') return;
  for (const [name, member] of Object.entries(form)) {
    const inner = (value as Record<string, unknown>)[name];
    const [optional] = Array.isArray(member) ? (member as readonly [AnyForm]) : [];
    if (optional === undefined || inner !== undefined)
      check(inner, optional ?? (member as AnyForm), path === '' ? name : `${path}.${name}`);
  }
}
