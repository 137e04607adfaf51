/**
 * Renews the agent: after an order of the leader it becomes a new process in the same container, with a new address
 * space and the identity of the pod's next life. It must not exit instead, because the containers of a runner pod are
 * not restarted.
 */

/** What the next life is told, in its environment. Nothing of it comes from a tenant. */
export interface NextLife {
  life: number;
  /** Jobs done in all lives so far. */
  jobsDone: number;
  /** As tested in this life; undefined if it is not known yet. */
  networkEnforced: boolean | undefined;
}

export const lifeEnvironment = ({ life, jobsDone, networkEnforced }: NextLife): Record<string, string> => ({
  PY_LIFE: String(life),
  PY_JOBS_BEFORE: String(jobsDone),
  PY_NETWORK_ENFORCED: JSON.stringify(networkEnforced ?? null),
});

/** Does not return. A failure ends the process, and with it the pod. */
export function beginLife(next: NextLife): void {
  const { PY_LISTENER: listener, PY_SOURCE_BYTES: bytes } = process.env;
  const program = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  // The listener opens a new socket for the tools, and closes every descriptor that is left open.
  const argv = listener && bytes ? [listener, bytes, ...program] : program;
  process.execve?.(argv[0]!, argv, { ...process.env, ...lifeEnvironment(next) });
}
