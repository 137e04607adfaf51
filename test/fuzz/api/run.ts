/**
 * Many cases against the whole API: `make fuzz-api` (CASES: minimum per side; N: examples per operation and round;
 * SEED; SIDE=gateway or management: one side only). Rounds continue with the next seed until there are enough. Writes
 * its summaries into docs/reports/fuzzing.md.
 */
import { endAll } from '../../at_end.ts';
import { writeSummary } from '../summary.ts';
import { startFuzzRig } from './rig.ts';
import { runSchemathesis, schemathesis, VERSION, type Fuzzed } from './schemathesis.ts';

const [examples = 500, cases = 10_000, first = Date.now() % 1_000_000_000] = ['N', 'CASES', 'SEED'].map((name) =>
  process.env[name] ? Number(process.env[name]) : undefined,
);
const SIDES = {
  gateway: { words: 'the gateway, `/v1/probe/*`', include: ['--include-tag', 'probe'] },
  management: { words: 'accounts, users, log, statistics, description', include: ['--exclude-tag', 'probe'] },
};
const NAMES = (process.env['SIDE'] ? [process.env['SIDE']] : ['gateway', 'management']) as (keyof typeof SIDES)[];

interface Side {
  rounds: { seed: number; fuzzed: Fuzzed }[];
  ended: number;
  errors: number;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const casesOf = ({ rounds }: Side) => sum(rounds.map(({ fuzzed }) => fuzzed.cases));

/** A separate rig, so that one side does not see the records of the other. */
async function fuzzSide(program: string, { words, include }: (typeof SIDES)['gateway']): Promise<Side> {
  const rig = await startFuzzRig();
  const side: Side = { rounds: [], ended: 0, errors: 0 };
  try {
    for (let seed = first; casesOf(side) < cases; seed++) {
      const fuzzed = await runSchemathesis(
        program,
        {
          url: rig.api.url,
          token: rig.api.token,
          seed,
          examples,
          phases: 'examples,coverage,fuzzing',
          include: [...include],
        },
        (text) => process.stdout.write(text),
      );
      side.rounds.push({ seed, fuzzed });
      console.log(
        `\n${words}, seed ${seed}: ${fuzzed.cases} cases, ` +
          `${JSON.stringify(fuzzed.statuses)}; ` +
          `${fuzzed.ok ? 'no answer outside its schema' : 'FAILED'}`,
      );
      if (fuzzed.cases === 0) break;
    }
    side.ended = rig.ended();
    const errors = rig.api.log.filter((line) => line.includes('"level":50'));
    side.errors = errors.length;
    for (const line of errors.slice(0, 20)) console.log(line.slice(0, 1_500));
    return side;
  } finally {
    await rig.stop();
  }
}

function tableOf(side: Side): string[] {
  const statuses = new Map<string, number>();
  for (const { fuzzed } of side.rounds)
    for (const [status, count] of Object.entries(fuzzed.statuses))
      statuses.set(status, (statuses.get(status) ?? 0) + count);
  const failed = side.rounds.filter(({ fuzzed }) => !fuzzed.ok).map(({ seed }) => seed);
  const operations = Math.max(...side.rounds.map(({ fuzzed }) => fuzzed.operations));
  return [
    '| operations | seeds | cases | answers by status | accepted and ended | findings | errors logged |',
    '|---|---|---|---|---|---|---|',
    `| ${operations} | ${side.rounds.map(({ seed }) => seed).join(', ')} | ${casesOf(side)} | ${[...statuses]
      .sort()
      .map(([status, count]) => `${status}: ${count}`)
      .join(', ')} | ${side.ended} | ${failed.length === 0 ? 'none' : `seed ${failed.join(', ')}`} | ${side.errors} |`,
  ];
}

const program = schemathesis();
if (program === null) process.exit(1);
console.log(
  `from seed ${first} on, at most ${examples} examples of each operation ` +
    `in a round, until there are ${cases} cases of each side`,
);
try {
  for (const name of NAMES) {
    const side = await fuzzSide(program, SIDES[name]);
    const text = [
      `## Made-up requests to ${SIDES[name].words}`,
      '',
      `\`make fuzz-api SIDE=${name} SEED=${first} N=${examples} CASES=${cases}\`: schemathesis ` +
        `${VERSION} makes requests of the OpenAPI description, good ones and bad ones, for the API ` +
        'on a real Postgres, NATS and API server. Somebody ends what is accepted,',
      'in turn with success, text, a tool that was stopped, an origin that is not there, and no ' +
        'result. An answer of 5xx, of a status, a type, a header or a body that is not described, one ' +
        'to a method that there is not, or without the credential is a finding.',
      '',
      ...tableOf(side),
    ].join('\n');
    console.log(text);
    writeSummary(`fuzz-api-${name}`, text);
    if (!side.rounds.every(({ fuzzed }) => fuzzed.ok)) process.exitCode = 1;
  }
} finally {
  await endAll();
}
