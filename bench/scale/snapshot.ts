/**
 * The cost of one snapshot of the cluster for the leader, by size of the cluster. The leader makes at most one a
 * second, and none while nobody asks. `npm exec -- node bench/scale/snapshot.ts [runs]`.
 */
import { Ledger, type Entry } from '../../src/service/controller/leader/ledger.ts';
import { buildSnapshot } from '../../src/service/controller/snapshot/build.ts';
import { AT, aPool, aRunner, aTool, aView, busyRunner, PROVEN } from '../../test/controller/snapshot_view.ts';
import { inWords, undisturbed } from '../undisturbed.ts';

const runs = Number(process.argv[2] ?? 500);
const SIZES = [
  { jobs: 0, runners: 6, accounts: 1 },
  { jobs: 5_000, runners: 500, accounts: 100 },
  { jobs: 5_000, runners: 500, accounts: 2_500 },
  { jobs: 50_000, runners: 5_000, accounts: 10_000 },
];

type Size = (typeof SIZES)[number];
const name = (index: number): string => `01980000-0000-7000-8000-${String(index).padStart(12, '0')}`;
const poolOf = (index: number): string => (index % 5 === 0 ? 'long' : 'short');

function snapshotOf({ jobs, runners, accounts }: Size): () => string {
  const ledger = new Ledger<Entry & { submittedAt: Date }>();
  for (let index = 0; index < jobs; index++) {
    const entry = { key: name(index), token: index % (2 * accounts), account: index % accounts, pool: poolOf(index) };
    ledger.enqueue({ ...entry, submittedAt: new Date(AT - index) }, { token: 4, account: 8 });
  }
  const view = aView({
    pools: [aPool('short'), aPool('long')],
    runners: Array.from({ length: runners }, (_, index) =>
      index % 5 === 0 ? aRunner() : busyRunner(name(index), { pool: poolOf(index), account: index % accounts }),
    ),
    tools: Array.from({ length: 40 }, (_, index) => aTool(`1.${index}`, PROVEN, { reported: `version 1.${index}` })),
  });
  return () => JSON.stringify(buildSnapshot({ ...view, queue: ledger }));
}

const works = Object.fromEntries(
  SIZES.map((size) => {
    const work = snapshotOf(size);
    const { jobs, runners, accounts } = size;
    return [`${jobs} jobs, ${runners} runners, ${accounts} accounts, ${Math.round(work().length / 1024)} KiB`, work];
  }),
);
for (const [what, taken] of Object.entries(undisturbed(works, runs))) console.log(`${what}: ${inWords(taken)}`);
