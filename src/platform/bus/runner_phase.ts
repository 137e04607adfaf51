/** What a runner does: its phase as its agent reports it, and its state as the leader counts it. */

export const RUNNER_PHASES = ['idle', 'prepared', 'running', 'publishing', 'draining'] as const;
export type RunnerPhase = (typeof RUNNER_PHASES)[number];

/**
 * `starting` until its first heartbeat, `ending` once its pod is being deleted. `busy`: it has a job, or
 * reports a phase of one.
 */
export const RUNNER_STATES = ['starting', 'idle', 'busy', 'draining', 'ending'] as const;
export type RunnerState = (typeof RUNNER_STATES)[number];
