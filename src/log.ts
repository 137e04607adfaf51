/** The one way to log: pino JSON, with the role and the pod in every line. What may hold an address or a secret is never passed to it. */
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
