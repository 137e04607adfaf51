/**
 * The settings of a runner: one document, which the controller makes for a pod and the agent in it reads. Both are of
 * one version, because the controller starts its own image.
 */
import type { SourceException } from './source_exception.ts';

/** The environment variable that holds it as JSON. */
export const RUNNER_SETTINGS = 'PY_RUNNER';

export interface RunnerSettings {
  pool: string;
  generation: string;
  logLevel: string;
  healthPort: number;
  /** Files of the pod. */
  nats: { url: string; caFile?: string; tokenFile: string };
  launcherSocket: string;
  toolsDir: string;
  toolMemoryBytes: number;
  /** The pod is replaced after so many jobs. */
  maxJobs: number;
  drainMs: number;
  /** How sources are reached: as the source proxy takes it, with a file in place of the CA. */
  sources: {
    allow: SourceException[];
    denyExtra: string[];
    pace: { minBytes: number };
    s3: { endpoint?: string; region?: string };
    egress?: { url: string; noProxy: string[]; resolve: 'here' | 'proxy' };
    caFile?: string;
  };
}
