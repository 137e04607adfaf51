import type { SourceError } from './error.ts';
import { causeOf, isDecisive, isSourceError } from './error.ts';
import { readFailure } from './failures.ts';
import { redactUrl } from './address/redact.ts';
import type { Exchange } from './http/exchange.ts';
import type { Failure, JobStats, SourceLog } from './job_options.ts';
import { Meter } from './meter.ts';

const MOST_REFUSED = 20;

interface RecordOptions {
  main: string;
  log: SourceLog | undefined;
  redact(text: string): string;
  shown(url: string): string;
  /** Called with each piece, and with the bytes of all. It throws if they are too many. */
  received(count: number, all: number): void;
}

/** What a job read, which addresses were refused, and what could not be read. */
export class JobRecord {
  readonly #stats: Omit<JobStats, 'origin'> = {
    ioUsage: 0,
    requests: 0,
    connections: 0,
    failures: {},
    served: [],
    refused: [],
  };
  readonly #meters = new Map<string, Meter>();
  readonly #options: RecordOptions;
  /** Of all tools together. */
  readonly #count: Exchange['count'] = {
    request: (fresh) => {
      this.#stats.requests++;
      if (fresh) this.#stats.connections++;
    },
    bytes: (bytes) => {
      this.#stats.ioUsage += bytes;
      this.#options.received(bytes, this.#stats.ioUsage);
    },
  };

  constructor(options: RecordOptions) {
    this.#options = options;
  }

  meter(tool: string): Meter {
    let meter = this.#meters.get(tool);
    if (meter === undefined) this.#meters.set(tool, (meter = new Meter(this.#count)));
    return meter;
  }

  stats(): JobStats {
    const origin = Object.fromEntries([...this.#meters].map(([tool, { use }]) => [tool, use]));
    return structuredClone({ ...this.#stats, origin });
  }

  failed(error: unknown, url: string, tool: string): Failure {
    const { main, log, redact } = this.#options;
    const known = readFailure(error);
    if (!isSourceError(error))
      log?.warn(
        { error: redact(error instanceof Error ? (error.stack ?? error.message) : String(error)), tool },
        'unexpected error while reading a source',
      );
    else if (known.reason !== 'ended')
      log?.debug(
        { code: known.code, reason: known.reason, status: known.status, detail: known.detail, tool },
        'a source could not be read',
      );
    const failure = failureOf(known);
    if (known.code === 'refused') this.refuse(url);
    const whole =
      known.code === 'too-large' || (known.code === 'cut' && (known.reason === 'limit' || isDecisive(known)));
    if ((url === main || whole) && known.reason !== 'ended') {
      this.#stats.failure ??= failure;
      this.#stats.failures[tool] ??= failure;
    }
    return failure;
  }

  served(url: string, tool: string): void {
    const { served } = this.#stats;
    if (url === this.#options.main && !served.includes(tool)) served.push(tool);
  }

  refuse(url: string): void {
    const shown = redactUrl(this.#options.shown(url));
    const { refused } = this.#stats;
    if (refused.length < MOST_REFUSED && !refused.includes(shown)) refused.push(shown);
  }
}

export const failureOf = (error: SourceError): Failure => {
  const { code, message, reason, status } = error;
  return {
    code,
    cause: causeOf(error),
    message,
    ...(reason === undefined ? {} : { reason }),
    ...(status === undefined ? {} : { status }),
  };
};
