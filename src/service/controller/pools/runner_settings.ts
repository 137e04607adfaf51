/** The settings of a runner pod, derived from the controller's and the pool's. Pure. */
import type { Config } from '../../../base/config.ts';
import type { ProbePoolSpec } from '../../../platform/kube/probe_pool.ts';
import type { RunnerSettings } from '../../../base/runner_settings.ts';

/** Paths inside the pod. */
export const TOOLS_DIR = '/tools';
export const RUN_DIR = '/run/probeyard';
export const SOCKET = `${RUN_DIR}/launcher.sock`;
export const NATS_CA_DIR = '/etc/probeyard/nats-ca';
export const NATS_TOKEN_DIR = '/var/run/probeyard/nats-token';
export const SOURCE_CA_DIR = '/etc/probeyard/source-ca';
export const HEALTH_PORT = 8081;

const DEFAULT_TOOL_MEMORY = 512 * 1024 * 1024;

export type Settings = Pick<
  Config<'controller'>,
  | 'runnerNatsUrl'
  | 'runnerNatsSentinel'
  | 'natsUrl'
  | 'natsCaFile'
  | 'allowSources'
  | 'denyCidrs'
  | 'egressProxy'
  | 'noProxy'
  | 'egressResolve'
  | 's3Endpoint'
  | 's3Region'
  | 'minBytesPerMinute'
  | 'sourceCaConfigMap'
  | 'logLevel'
>;

/** Short jobs take up to 60 s, a validation up to 600 s; the rest is for the result to be collected. */
const SHORT_DRAIN_SECONDS = 70;
const LONG_DRAIN_SECONDS = 645;

export const drainSeconds = ({ serves, drainSeconds: given }: ProbePoolSpec): number =>
  given ?? (serves.kinds.includes('msv') ? LONG_DRAIN_SECONDS : SHORT_DRAIN_SECONDS);

/** Whether evictions are refused while a job runs, because the drain of its runner may take minutes. */
export const holdsNodes = (spec: ProbePoolSpec): boolean => drainSeconds(spec) > SHORT_DRAIN_SECONDS;

export const toolLimits = (spec: ProbePoolSpec) => ({ cpu: '2', memory: '1Gi', ...spec.resources?.tools?.limits });

/** Converts a Kubernetes quantity to bytes. */
function bytesOf(quantity: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(m|k|Ki|M|Mi|G|Gi)?$/.exec(quantity);
  if (!match) return undefined;
  const unit = { '': 1, m: 0.001, k: 1e3, Ki: 1024, M: 1e6, Mi: 1024 ** 2, G: 1e9, Gi: 1024 ** 3 }[match[2] ?? ''] ?? 1;
  return Math.floor(Number(match[1]) * unit);
}

export const runnerSettings = (
  settings: Settings,
  { pool, generation, spec }: { pool: string; generation: string; spec: ProbePoolSpec },
): RunnerSettings => ({
  pool,
  generation,
  logLevel: settings.logLevel,
  healthPort: HEALTH_PORT,
  nats: {
    url: settings.runnerNatsUrl || settings.natsUrl,
    ...(settings.natsCaFile ? { caFile: `${NATS_CA_DIR}/ca.crt` } : {}),
    ...(settings.runnerNatsSentinel ? { sentinelJwt: settings.runnerNatsSentinel } : {}),
    tokenFile: `${NATS_TOKEN_DIR}/token`,
  },
  launcherSocket: SOCKET,
  toolsDir: TOOLS_DIR,
  toolMemoryBytes: bytesOf(toolLimits(spec).memory) ?? DEFAULT_TOOL_MEMORY,
  maxJobs: spec.reuse?.maxJobs ?? 200,
  drainMs: drainSeconds(spec) * 1000,
  sources: {
    allow: settings.allowSources,
    denyExtra: settings.denyCidrs,
    pace: { minBytes: settings.minBytesPerMinute },
    s3: {
      ...(settings.s3Endpoint ? { endpoint: settings.s3Endpoint } : {}),
      ...(settings.s3Region ? { region: settings.s3Region } : {}),
    },
    ...(settings.egressProxy
      ? { egress: { url: settings.egressProxy, noProxy: settings.noProxy, resolve: settings.egressResolve } }
      : {}),
    ...(settings.sourceCaConfigMap ? { caFile: `${SOURCE_CA_DIR}/ca.crt` } : {}),
  },
});
