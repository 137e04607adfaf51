/**
 * Where the time of a request was spent, from the logs of all processes on its path. They run on this machine and share
 * its clock (to the millisecond).
 */
import { NAMESPACE, RUNNERS, type Cluster } from '../../test/cluster/fixture.ts';

interface Line {
  time: string;
  msg: string;
  request_id?: string;
  ms?: number;
}

export interface Hops {
  sent: number;
  arrived: number;
  admitted: number;
  started: number;
  done: number;
  recorded: number;
  answered: number;
  returned: number;
  toolMs: number;
}

async function lines(c: Cluster, namespace: string, component: string, since: string): Promise<Line[]> {
  const text = await c.kubectl(
    '-n',
    namespace,
    'logs',
    '-l',
    `app.kubernetes.io/component=${component}`,
    '--tail=-1',
    '--max-log-requests=50',
    '--ignore-errors',
    `--since-time=${since}`,
    ...(component === 'runner' ? ['-c', 'agent'] : []),
  );
  return text.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line) as Line];
    } catch {
      return [];
    }
  });
}

export interface Timed {
  id: string;
  sentAt: number;
  ms: number;
  toolMs: number;
}

export async function hopsOf(c: Cluster, requests: readonly Timed[]): Promise<Hops[]> {
  const since = new Date(Math.min(...requests.map(({ sentAt }) => sentAt)) - 1_000).toISOString();
  const [api, controller, runner] = await Promise.all([
    lines(c, NAMESPACE, 'api', since),
    lines(c, NAMESPACE, 'controller', since),
    lines(c, RUNNERS, 'runner', since),
  ]);
  const byId = (all: Line[], message: string) =>
    new Map(all.filter(({ msg }) => msg === message).map((line) => [line.request_id ?? '', line]));
  const [requested, admitted, recorded, done] = [
    byId(api, 'request'),
    byId(controller, 'admitted'),
    byId(controller, 'result recorded'),
    byId(runner, 'job done'),
  ];
  return requests.flatMap(({ id, sentAt, ms, toolMs }) => {
    const [a, b, d, e] = [requested.get(id), admitted.get(id), done.get(id), recorded.get(id)];
    if (!a || !b || !d || !e) return [];
    const at = (line: Line) => Date.parse(line.time);
    return [
      {
        sent: sentAt,
        arrived: at(a) - (a.ms ?? 0),
        admitted: at(b),
        started: at(d) - (d.ms ?? 0),
        done: at(d),
        recorded: at(e),
        answered: at(a),
        returned: sentAt + ms,
        toolMs,
      },
    ];
  });
}

/** By name, in the order of the path. */
export const HOPS: readonly [name: string, what: string, of: (hops: Hops) => number][] = [
  [
    'hop-admitted',
    'request sent → admitted (row opened, ProbeJob created and seen, status written)',
    (h) => h.admitted - h.sent,
  ],
  ['hop-started', 'admitted → the runner has the order', (h) => h.started - h.admitted],
  ['hop-around-tool', 'the runner around the tool (spawn, read its end, judge)', (h) => h.done - h.started - h.toolMs],
  [
    'hop-recorded',
    'tools done → result recorded (packed, JetStream, collected, committed)',
    (h) => h.recorded - h.done,
  ],
  ['hop-answered', 'recorded → the caller has the answer', (h) => h.returned - h.recorded],
];
