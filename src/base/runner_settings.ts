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
