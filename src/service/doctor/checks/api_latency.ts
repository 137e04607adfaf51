import type { Probe } from '../finding.ts';
import { openApiServer, quantile, shownMs } from '../api_server.ts';
import type { Settings } from '../settings.ts';

const CALLS = 30;
const WARN_MS = 200;
/** The leader's lease lasts 6 s, and is renewed by two calls in a row. */
const FAIL_MS = 2_000;

/** Of each call over an open connection, in milliseconds. */
type Facts = readonly number[];

export const apiLatency: Probe<Facts, Settings> = {
  id: 'api-latency',
  title: 'Kubernetes API latency',
  wanted: `19 of 20 answers within ${shownMs(WARN_MS)}`,
  why: 'A request takes four writes to the API server, and the leader renews its lease there.',
  async collect(settings) {
    const server = await openApiServer(settings);
    try {
      await server.ask();
      const durations: number[] = [];
      for (let call = 0; call < CALLS; call++) durations.push((await server.ask()).durationMs);
      return durations;
    } finally {
      server.close();
    }
  },
  verdict(durations) {
    const [middle, late] = [quantile(durations, 0.5), quantile(durations, 0.95)];
    const found = `median ${shownMs(middle)}, 19 of 20 within ${shownMs(late)}`;
    if (late >= FAIL_MS) return { status: 'fail', found };
    if (late <= WARN_MS) return { status: 'pass', found };
    return { status: 'warn', found, set: { 'flowControl.enabled': true } };
  },
};
