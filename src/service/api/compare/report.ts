/** `POST /v1/compare/report`: what an upgrade changes over many comparisons on record. */
import Type from 'typebox';
import { ReportedFieldSchema, UpgradeReport, UpgradeSummarySchema } from '../../../media/compare/upgrade_report.ts';
import { comparisonOf } from '../../result/assemble_comparison.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Context } from '../http/context.ts';
import { takeRequestRate } from '../http/rate.ts';
import { checkedBy } from '../http/read_input.ts';
import type { Deps } from '../deps.ts';
import { storedResult, untilClosed } from '../probe/stored_result.ts';
import { FlipsSchema, judgeFlips, policiesNamed } from './flips.ts';
import { CompareReportSchema } from './schema.ts';

const COMPARISONS = { kind: 'compare', endpoint: '/v1/compare' } as const;
/** A comparison of small outputs is read in 2 ms; large ones are read at the account's pace. */
const DEADLINE_MS = 60_000;
/** For verdicts, so that there is time left to read what remains. */
const JUDGING_MS = 30_000;
const LATE = `was not read within ${DEADLINE_MS / 1000} s: ask for it in a report of its own`;

const Answer = Type.Object(
  {
    fields: Type.Array(ReportedFieldSchema),
    summary: UpgradeSummarySchema,
    left_out: Type.Array(
      Type.Object({ request_id: Type.String(), why: Type.String() }, { additionalProperties: false }),
      { description: 'Requests that the report does not count.' },
    ),
    policies: Type.Optional(
      Type.Array(FlipsSchema, {
        description:
          'Where `policies` were named: on how many files the outcome of each changes from one run of the tools to ' +
          'the next. Its `uses` has no effect here.',
      }),
    ),
  },
  { title: 'UpgradeReport', additionalProperties: false },
);

/** One after the other: no more than one result is held. */
async function report(deps: Deps, ctx: Context): Promise<void> {
  const { request_ids: ids, policies: names } = checkedBy(CompareReportSchema, ctx);
  await takeRequestRate(deps, ctx);
  const signal = untilClosed(ctx);
  const asked = await policiesNamed(deps, ctx, names ?? []);
  const began = performance.now();
  const hasTime = (ms: number) => performance.now() - began < ms && !signal.aborted;
  const made = new UpgradeReport();
  const leftOut: { request_id: string; why: string }[] = [];
  for (const id of ids) {
    signal.throwIfAborted();
    if (!hasTime(DEADLINE_MS)) {
      leftOut.push({ request_id: id, why: LATE });
      continue;
    }
    const stored = await storedResult(deps, ctx, id, { only: COMPARISONS, signal });
    if ('absent' in stored) {
      leftOut.push({ request_id: id, why: stored.why });
      continue;
    }
    try {
      if (stored.result.tools.some(({ side }) => side !== undefined))
        leftOut.push({ request_id: id, why: 'compares two sources, not versions' });
      else if (stored.result.comparison) {
        const begun = performance.now();
        made.add(id, comparisonOf(stored.result));
        await stored.place.pace(performance.now() - begun);
        await judgeFlips(deps, ctx, asked, stored, () => hasTime(JUDGING_MS));
      } else leftOut.push({ request_id: id, why: 'its runs were not compared' });
    } finally {
      stored.place.release();
    }
  }
  const { fields, summary } = made.end();
  ctx.body = { fields, summary, left_out: leftOut, ...(names ? { policies: asked.map(({ told }) => told) } : {}) };
}

const FIRST_ID = '01937c5e-8a00-7000-8000-000000000001';

export const compareReport = endpoint(
  'POST /v1/compare/report',
  {
    id: 'compareReport',
    tag: 'probe',
    summary: 'Report on many comparisons',
    description:
      'Which fields an upgrade changes, and on how many files: from comparisons of versions (`POST /v1/compare`) ' +
      'that are on record. Fields are sorted by the number of files, with at most three examples each.',
    rate: 'request',
    body: CompareReportSchema,
    bodyExamples: {
      two: { value: { request_ids: [FIRST_ID, '01937c5e-8a00-7000-8000-000000000002'] } },
      policies: {
        summary: 'With a policy',
        value: { request_ids: [FIRST_ID], policies: ['shared/web-mp4'] },
      },
    },
    answer: { description: 'The report.', schema: Answer },
  },
  report,
);
