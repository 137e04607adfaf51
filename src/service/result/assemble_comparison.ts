/** The response of a comparison: its runs and their differences. It is small, however long the tools' outputs are. */
import { codeMember } from '../../base/causes.ts';
import { compareRuns } from '../../media/compare/compare.ts';
import type { Comparison } from '../../media/compare/schema.ts';
import { SIDES, sideText } from '../../platform/bus/messages.ts';
import type { ResultBody, ToolResult } from '../../platform/bus/result_body.ts';
import { JSON_TYPE, type Answer } from './assemble.ts';
import { metadataOf, type Recorded } from './metadata.ts';

const NOTHING = compareRuns([]);

/** `run`: its name among the values of a field. */
export const runOf = (
  { name, version, side, build, success, durationMs, usageMs, error, ...why }: ToolResult,
  run: string = side ?? version,
) => ({
  run,
  tool: name,
  version,
  build: build ?? null,
  success,
  duration: Math.round(durationMs),
  usage: Math.round(usageMs),
  ...(success ? {} : { error: error ?? 'failed', ...codeMember(why) }),
});

/** A runner reads hostile media, so its comparison may contain anything. */
export function comparisonOf({ comparison }: Pick<ResultBody, 'comparison'>): Comparison {
  try {
    const { fields, summary } = JSON.parse(comparison?.output ?? 'null') as Comparison;
    return Array.isArray(fields) && typeof summary === 'object' && summary !== null ? { fields, summary } : NOTHING;
  } catch {
    return NOTHING;
  }
}

/** Whether there was anything to compare: two successful runs of one tool. */
const isCompared = ({ tools }: Pick<ResultBody, 'tools'>): boolean => {
  const done = tools.filter(({ success }) => success).map(({ name }) => name);
  return new Set(done).size < done.length;
};

const FEW = 'fewer than two runs of one tool succeeded';

/** With the code of the first run that failed. Of two sources: of the one of which nothing could be compared. */
function tooFew({ tools }: Pick<ResultBody, 'tools'>): { error: string; code?: string } {
  const failed = SIDES.flatMap((side) => {
    const runs = tools.filter((tool) => tool.side === side);
    return runs.length === 0 || runs.some(({ success }) => success) ? [] : runs.slice(0, 1);
  });
  if (failed.length > 0)
    return {
      error: failed.map((tool) => `${sideText(tool)}${tool.error ?? 'failed'}`).join('; '),
      ...codeMember(failed[0]),
    };
  const isOfTwo = tools.some(({ side }) => side !== undefined);
  return {
    error: isOfTwo ? 'no tool succeeded on both sources' : FEW,
    ...codeMember(tools.find(({ success }) => !success)),
  };
}

/** The runner's version does not support comparisons: only possible briefly during an upgrade or rollback. */
const NOT_MADE = 'the runner did not compare the runs';

export function assembleComparison(result: ResultBody, recorded: Recorded): Answer {
  const compared = isCompared(result);
  const success = compared && result.comparison !== undefined;
  const why = compared ? { error: NOT_MADE } : tooFew(result);
  const body = {
    success,
    ...(success ? {} : { ...why, error: recorded.error ?? why.error }),
    metadata: metadataOf(result, recorded),
    runs: result.tools.map((tool) => runOf(tool)),
    ...comparisonOf(result),
  };
  return { contentType: JSON_TYPE, body: JSON.stringify(body) };
}
