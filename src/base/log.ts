/**
 * The only way to log: pino JSON, with the role and the pod in every line. Callers never pass anything that may contain
 * an address or a secret.
 */
import { pino, type Logger } from 'pino';

export type { Logger };

export interface LogSample {
  /** Lines of one text that are written in a second, whatever they say. */
  perSecond: number;
  /** Of further ones, one in so many. */
  oneIn: number;
}

const FREQUENT = Symbol('frequent');
/** Marks the fields of a line that each request writes and that says nothing unusual: it may be sampled. */
export const frequentIf = (usual: boolean): object => (usual ? { [FREQUENT]: true } : {});

/**
 * For how many lines this one stands; 0: it is not written. The id decides, so that all roles write the lines of the
 * same requests.
 */
export function sampler({ perSecond, oneIn }: LogSample, now: () => number = () => performance.now()) {
  const counts = new Map<string, { second: number; lines: number }>();
  return (text: string, id: string | undefined): number => {
    const second = Math.floor(now() / 1_000);
    const before = counts.get(text);
    const lines = before?.second === second ? before.lines + 1 : 1;
    counts.set(text, { second, lines });
    if (lines <= perSecond) return 1;
    const number = Number.parseInt(id?.slice(-6) ?? '', 16);
    return (Number.isNaN(number) ? lines : number) % oneIn === 0 ? oneIn : 0;
  };
}

export function makeLog(role: string, settings: { logLevel: string; podName: string; logSample?: LogSample }): Logger {
  const sample = settings.logSample && sampler(settings.logSample);
  return pino({
    level: settings.logLevel,
    hooks: {
      logMethod(args, method) {
        const [fields, text] = args as unknown as [Record<string | symbol, unknown>, string];
        const weight = sample && fields[FREQUENT] ? sample(text, fields['request_id'] as string | undefined) : 1;
        if (weight === 0) return;
        method.apply(this, weight === 1 ? args : ([{ ...fields, sampled: weight }, text] as unknown as typeof args));
      },
    },
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
