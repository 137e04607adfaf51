/**
 * The one way to log: pino JSON, with the role and the pod in every line. What may hold an address or a secret is never
 * passed to it.
 */
import { pino, type Logger } from 'pino';

export type { Logger };

export function makeLog(role: string, settings: { logLevel: string; podName: string }): Logger {
  return pino({
    level: settings.logLevel,
    base: { role, pod: settings.podName },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    // Errors of clients carry requests, and requests carry headers: only these members are ever written.
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
 * The members that name a request in a line: the id that its caller was given, and the name of its ProbeJob. They
 * differ for a ProbeJob made by hand, whose request has the object's uid. Every line of every role names a request in
 * this way.
 */
export const requestFields = ({ id, job }: Named): { request_id?: string; job?: string } => ({
  ...(id === undefined ? {} : { request_id: id }),
  ...(job === undefined ? {} : { job }),
});

interface NamedRunner {
  pod?: string | undefined;
  uid?: string | undefined;
}

/** The members that name a runner in a line: its pod's name and uid. `pod` is the pod of the process that logs. */
export const runnerFields = ({ pod, uid }: NamedRunner = {}): { runner?: string; runner_uid?: string } => ({
  ...(pod === undefined ? {} : { runner: pod }),
  ...(uid === undefined ? {} : { runner_uid: uid }),
});
