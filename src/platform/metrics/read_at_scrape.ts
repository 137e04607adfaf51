/** Gauges whose values are read when Prometheus asks for them. */
import { Gauge, type Registry } from 'prom-client';
import { within } from '../../base/retry.ts';

export interface Sample {
  labels?: Readonly<Record<string, string>>;
  value: number;
}

export interface ReadGauge {
  name: string;
  help: string;
  labelNames?: readonly string[];
}

/** Series that `read` does not return disappear, so no value outlives what it describes. */
export function readAtScrape(
  registry: Registry,
  { name, help, labelNames = [] }: ReadGauge,
  read: () => Iterable<Sample> | Promise<Iterable<Sample>>,
): void {
  const gauge: Gauge = new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [],
    collect: async (): Promise<void> => {
      // One value that cannot be read must not cost the whole scrape.
      const samples = await Promise.resolve()
        .then(read)
        .catch(() => []);
      gauge.reset();
      // Without labels, a reset means 0 instead of no series.
      if (labelNames.length === 0) gauge.remove();
      for (const { labels = {}, value } of samples) gauge.set(labels, value);
    },
  });
  registry.registerMetric(gauge);
}

/** One value; undefined: unknown, so there is no series. */
export const readOne = (
  registry: Registry,
  name: string,
  help: string,
  read: () => number | undefined | Promise<number | undefined>,
): void =>
  readAtScrape(registry, { name, help }, async () => {
    const value = await read();
    return value === undefined ? [] : [{ value }];
  });

export interface LookSettings {
  /** The shortest time between two looks. */
  everyMs: number;
  /** How long a scrape waits for a look. */
  waitMs: number;
}

/**
 * Something that a scrape asks another server for. There is at most one look at a time, however many scrapes wait, so
 * that an unreachable server costs one connection. Undefined: the look failed, or takes too long.
 */
export function oneLook<T>(look: () => Promise<T>, { everyMs, waitMs }: LookSettings): () => Promise<T | undefined> {
  let begunAt = -Infinity;
  let current: Promise<T | undefined> = Promise.resolve(undefined);
  let underWay = false;
  return async () => {
    if (!underWay && performance.now() - begunAt >= everyMs) {
      begunAt = performance.now();
      underWay = true;
      current = look()
        .catch(() => undefined)
        .finally(() => {
          underWay = false;
        });
    }
    return within(waitMs, current).catch(() => undefined);
  };
}
