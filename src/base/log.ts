/**
 * The only way to log: pino JSON, with the role and the pod in every line. Callers never pass anything that may contain
 * an address or a secret.
 */
import { pino, type Logger } from 'pino';

export type { Logger };

export function makeLog(role: string, settings: { logLevel: string; podName: string }): Logger {
  return pino({
    level: settings.logLevel,
    base: { role, pod: settings.podName },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    // Errors of clients contain requests, and those contain headers: only these members are logged.
    serializers: {
      err: (error: unknown) => {
        const { name, message, code, stack } = (error ?? {}) as Error & { code?: unknown };
        return { name, message, ...(code === undefined ? {} : { code: String(code) }), stack };
      },
    },
  });
}

interface Named {
  id?: string | undefined;
  job?: string | undefined;
}

/**
 * Log fields that identify a request: the id given to its caller, and the name of its ProbeJob. They differ for a
 * ProbeJob created by hand, whose request id is the object's uid. All roles use these fields.
 */
export const requestFields = ({ id, job }: Named): { request_id?: string; job?: string } => ({
  ...(id === undefined ? {} : { request_id: id }),
  ...(job === undefined ? {} : { job }),
});

interface NamedRunner {
  pod?: string | undefined;
  uid?: string | undefined;
}

/** Log fields that identify a runner: its pod's name and uid. `pod` is the pod of the logging process. */
export const runnerFields = ({ pod, uid }: NamedRunner = {}): { runner?: string; runner_uid?: string } => ({
  ...(pod === undefined ? {} : { runner: pod }),
  ...(uid === undefined ? {} : { runner_uid: uid }),
});
