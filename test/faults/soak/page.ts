/** The counts of a soak as the text of docs/reports/faults.md, and whether memory grew. */
import { median } from '../../../bench/statistics.ts';
import { PARTS, type Part } from '../memory.ts';
import type { FaultName } from '../pairs.ts';

export interface Round {
  faults: readonly [FaultName, FaultName];
  requests: number;
  statuses: Record<string, number>;
  most: number;
  longestGapMs: number;
  memory: Record<Part, number>;
}

const NAME: Record<Part, string> = {
  api: 'both API replicas',
  controller: 'both controllers',
  nats: 'NATS',
  postgres: 'Postgres',
  runner: 'the largest runner pod',
};

/** The median of the last third beside that of the first. A part that was restarted starts again. */
const thirds = (values: readonly number[]): { first: number; middle: number; last: number } => {
  const third = Math.max(1, Math.floor(values.length / 3));
  return {
    first: median(values.slice(0, third)),
    middle: median(values.slice(third, -third)),
    last: median(values.slice(-third)),
  };
};

/**
 * An increase of a quarter plus 20 MB is growth. A smaller one is within the variation of a garbage collector, and one
 * that ends is what processes take that had just started.
 */
export function grown(rounds: readonly Round[]): Part[] {
  if (rounds.length < 6) return [];
  return PARTS.filter((part) => {
    const { first, middle, last } = thirds(rounds.map(({ memory }) => memory[part]));
    return last > first * 1.25 && last > first + 20 && last > middle * 1.1;
  });
}

export function soakPage(
  rounds: readonly Round[],
  { seed, minutes, date, runners }: { seed: number; minutes: number; date: string; runners: string },
): string {
  const sum = (of: (round: Round) => number) => rounds.reduce((total, round) => total + of(round), 0);
  const statuses: Record<string, number> = {};
  for (const round of rounds)
    for (const [status, count] of Object.entries(round.statuses)) statuses[status] = (statuses[status] ?? 0) + count;
  const told = Object.entries(statuses)
    .map(([status, count]) => `${status === '0' ? 'a broken connection' : status} ${count} times`)
    .join(', ');
  const worst = rounds.toSorted((a, b) => b.longestGapMs - a.longestGapMs)[0];
  const met = new Map<FaultName, number>();
  for (const { faults } of rounds) for (const fault of faults) met.set(fault, (met.get(fault) ?? 0) + 1);
  const rows = PARTS.map((part) => {
    const values = rounds.map(({ memory }) => memory[part]);
    const { first, middle, last } = thirds(values);
    return (
      `| ${NAME[part]} | ${first} MB | ${middle} MB | ${last} MB | ` +
      `${Math.min(...values)} to ${Math.max(...values)} MB |`
    );
  });
  const requests = sum((round) => round.requests);
  const most = Math.max(0, ...rounds.map((round) => round.most));
  const longest = `${((worst?.longestGapMs ?? 0) / 1000).toFixed(1)} s (${worst?.faults.join(' and ')})`;
  const medianS = (median(rounds.map(({ longestGapMs }) => longestGapMs)) / 1000).toFixed(1);
  const counts = [...met]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([fault, count]) => `${fault} ${count}`)
    .join(', ');
  return `${[
    `${date}, ${minutes} minutes, seed ${seed}: ${rounds.length} rounds of two faults each, ${requests} requests.`,
    `Callers were told ${told}.`,
    `Each request has one end, no token had more than ${most} of its 4 at once.`,
    runners,
  ].join(' ')}
The longest time without a 200 was ${longest}, its median over the rounds ${medianS} s.
Faults: ${counts}.

| memory, median | first third | second | last | lowest and highest after a round |
|---|---|---|---|---|
${rows.join('\n')}`;
}
