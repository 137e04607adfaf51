/** Two results on record, compared by the API: nothing runs. */
import { JSON_TYPE } from '../../result/assemble.ts';
import { runOf } from '../../result/assemble_comparison.ts';
import { REPORT_TOOLS } from '../../../media/tools/probe_report.ts';
import { tokenOf, type Context } from '../http/context.ts';
import { takeRequestRate } from '../http/rate.ts';
import type { Deps } from '../deps.ts';
import { ApiError, inside } from '../errors.ts';
import type { TextRun } from '../work/jobs.ts';
import { storedResult, untilClosed, type NoResult, type StoredResult } from '../probe/stored_result.ts';

const FILES = { kind: 'file', endpoint: '/v1/probe/file' } as const;
const LABELS = ['a', 'b'] as const;
const NOT_HELD = 'its output is too large to be compared on record; compare the versions in one request instead';

/** Long outputs are not read into memory: what is compared is parsed whole. */
function runsOf({ result, long }: StoredResult, label: string, notRead: { tool: string; run: string; why: string }[]) {
  return result.tools.flatMap((stored) => {
    const tool = REPORT_TOOLS.find((name) => name === stored.name);
    if (!tool) return [];
    const { version, success, format, output } = stored;
    const isLong = output !== null && long.has(output);
    if (isLong) notRead.push({ tool, run: label, why: NOT_HELD });
    const compared: TextRun = {
      tool,
      label,
      version,
      output: success && format === 'json' && !isLong ? output : null,
    };
    return isLong ? [] : [compared];
  });
}

function refusal(id: string, { absent, why }: NoResult): ApiError {
  if (absent === 'unreadable') return inside(`${id}: ${why}`);
  const isGone = absent === 'unknown' || absent === 'expired';
  return new ApiError(isGone ? 'not-found' : 'invalid-field', {
    text: `request_ids: ${id} ${why}`,
    field: 'request_ids',
  });
}

export async function compareOnRecord(deps: Deps, ctx: Context, ids: readonly [string, string]): Promise<void> {
  await takeRequestRate(deps, ctx);
  const signal = untilClosed(ctx);
  const read: StoredResult[] = [];
  try {
    for (const id of ids) {
      const stored = await storedResult(deps, ctx, id, { only: FILES, signal });
      if ('absent' in stored) throw refusal(id, stored);
      read.push(stored);
    }
    ctx.type = JSON_TYPE;
    ctx.body = await answerOf(deps, ctx, ids, read);
  } finally {
    for (const { place } of read) place.release();
  }
}

async function answerOf(
  { work }: Pick<Deps, 'work'>,
  ctx: Context,
  ids: readonly string[],
  read: readonly StoredResult[],
): Promise<string> {
  const notRead: { tool: string; run: string; why: string }[] = [];
  const runs = read.flatMap((stored, at) => runsOf(stored, LABELS[at]!, notRead));
  const by = { account: tokenOf(ctx).rootUserId, what: 'request_ids' };
  const { fields, summary } = await work.run('compare', runs, by);
  const both = REPORT_TOOLS.some((tool) => runs.filter((run) => run.tool === tool && run.output).length === 2);
  return JSON.stringify({
    success: both,
    ...(both ? {} : { error: 'no tool has a JSON output in both results' }),
    metadata: { request_ids: ids, queue_time: 0, io_usage: 0 },
    runs: read.flatMap(({ result }, at) =>
      result.tools
        .filter(({ name }) => REPORT_TOOLS.some((tool) => tool === name))
        .map((tool) => runOf(tool, LABELS[at]!)),
    ),
    fields,
    summary: { ...summary, not_compared: [...summary.not_compared, ...notRead] },
  });
}
