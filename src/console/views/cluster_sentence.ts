/** The state of the cluster in one sentence, and what somebody has to look at. Pure. */
import type { ClusterState } from '../../api_types.ts';
import { count, milliseconds, said, several } from '../parts/figures.ts';

const listed = (parts: readonly string[]): string => parts.join(', ');

export function clusterSentence(state: ClusterState): string {
  const { pools, queue, 'tools-ready': ready, 'tools-total': total, 'left-out': leftOut } = state;
  const sum = (of: (pool: (typeof pools)[number]) => number): number => pools.reduce((all, pool) => all + of(pool), 0);
  const figures = [
    [sum(({ busy }) => busy), 'busy'],
    [sum((pool) => pool.ready), 'idle'],
    [sum(({ starting }) => starting), 'starting'],
    [sum(({ ending }) => ending), 'ending'],
  ] as const;
  const all = figures.reduce((runners, [figure]) => runners + figure, 0);
  const parts = figures.filter(([figure]) => figure > 0).map(([figure, what]) => `${count(figure)} ${what}`);
  const runners = `${several(all, 'runner')}${parts.length === 0 ? '' : `: ${listed(parts)}`}`;
  const waiting =
    queue.waiting === 0
      ? 'no job waits'
      : `${several(queue.waiting, 'job')} ${queue.waiting === 1 ? 'waits' : 'wait'}` +
        (queue['oldest-wait-ms'] === null ? '' : `, oldest ${said(milliseconds(queue['oldest-wait-ms']))}`);
  const tools =
    total === 0
      ? 'no tool versions'
      : ready === total
        ? `all ${count(total)} tool versions ready`
        : `${count(ready)} of ${count(total)} tool versions ready`;
  return `${several(pools.length + leftOut.pools, 'pool')}, ${runners}; ${waiting}; ${tools}.`;
}

export interface Problem {
  what: string;
  why: string;
}

/** An upgrade changes the leader once or twice. */
const MANY_CHANGES = 3;
const HOUR_MS = 3_600_000;

function changesOf({ at, terms }: ClusterState): number {
  const since = Date.parse(at) - HOUR_MS;
  // The first of all is no change.
  return terms.filter(({ epoch, since: began }) => epoch > 1 && Date.parse(began) > since).length;
}

export function problemsOf(state: ClusterState): Problem[] {
  const { pools, faults, 'tools-ready': ready, 'tools-total': total } = state;
  const changes = changesOf(state);
  return [
    ...faults.dependencies
      .filter(({ up }) => !up)
      .map(({ name }) => ({ what: name, why: 'does not answer the leader' })),
    ...(changes >= MANY_CHANGES ? [{ what: 'Leader', why: `changed ${count(changes)} times within an hour` }] : []),
    ...pools.flatMap(({ name, short }) => (short === null ? [] : [{ what: `Pool ${name}`, why: short }])),
    ...pools.flatMap(({ name, isolation }) =>
      isolation
        .filter(({ required, status }) => required && status !== 'True')
        .map(({ wall, message }) => ({ what: `Pool ${name}, ${wall}`, why: message })),
    ),
    ...(ready < total
      ? [{ what: 'Tools', why: `${count(total - ready)} of ${several(total, 'version')} cannot be used now` }]
      : []),
  ];
}
