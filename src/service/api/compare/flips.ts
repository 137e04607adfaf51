/** Policies whose verdict changes with the versions of the tools: judged on comparisons that are on record. */
import Type, { type Static } from 'typebox';
import type { ToolResult } from '../../../platform/bus/result_body.ts';
import { OUTCOMES, type Outcome, type Policy, type Verdict } from '../../../media/policy/types.ts';
import { REPORT_TOOLS, type ReportTool } from '../../../media/tools/probe_report.ts';
import { invalid } from '../errors.ts';
import { tokenOf, type Context } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { shown } from '../http/input/pairs.ts';
import { findNamed, unknownPolicy } from '../policies/names.ts';
import { judged, type StoredResult } from '../probe/stored_result.ts';

const MOST_EXAMPLES = 3;
const MOST_RULES = 5;

const StateSchema = Type.Object(
  {
    outcome: Type.Unsafe<Outcome>({ type: 'string', enum: [...OUTCOMES] }),
    versions: Type.Unsafe<Partial<Record<ReportTool, string>>>({
      type: 'object',
      properties: Object.fromEntries(REPORT_TOOLS.map((tool) => [tool, { type: 'string' }])),
      additionalProperties: false,
    }),
  },
  { title: 'PolicyAtVersions', additionalProperties: false },
);
type State = Static<typeof StateSchema>;

export const FlipsSchema = Type.Object(
  {
    name: Type.String(),
    revision: Type.Integer({ minimum: 1 }),
    flips: Type.Integer({ minimum: 0, description: 'Comparisons in which the outcome changes.' }),
    judged: Type.Integer({ minimum: 0, description: 'Comparisons that were judged.' }),
    not_judged: Type.Integer({
      minimum: 0,
      description: 'Those that were not: an output is too large to be held, or there was no time left.',
    }),
    examples: Type.Array(
      Type.Object(
        {
          request_id: Type.String(),
          from: StateSchema,
          to: StateSchema,
          rules: Type.Array(Type.String(), {
            maxItems: MOST_RULES,
            description: 'Rules whose outcome changes.',
          }),
        },
        { additionalProperties: false },
      ),
      { maxItems: MOST_EXAMPLES },
    ),
  },
  { title: 'PolicyFlips', additionalProperties: false },
);
type Flips = Static<typeof FlipsSchema>;

interface Asked {
  told: Flips;
  /** Without `uses`. */
  document: string;
}

/** The latest revisions of these policies, without `uses`: versions are the question here. */
export async function policiesNamed(
  { store }: Pick<Deps, 'store'>,
  ctx: Context,
  names: readonly string[],
): Promise<Asked[]> {
  const { rootUserId } = tokenOf(ctx);
  const asked: Asked[] = [];
  for (const name of names) {
    const found = await findNamed(store, name, rootUserId);
    if (!found) throw invalid('policies', `"${shown(name)}" ${await unknownPolicy(store, name, rootUserId)}`);
    const { uses: _, ...policy } = JSON.parse(found.document) as Policy;
    const { revision } = found;
    asked.push({
      document: JSON.stringify(policy),
      told: { name, revision, flips: 0, judged: 0, not_judged: 0, examples: [] },
    });
  }
  return asked;
}

/** The first versions of both tools, then the second ones; a tool with fewer keeps its last. */
function statesOf(tools: readonly ToolResult[]): ToolResult[][] {
  const lists = REPORT_TOOLS.map((name) => tools.filter((tool) => tool.name === name)).filter(
    ({ length }) => length > 0,
  );
  const most = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: most }, (_, at) => lists.map((list) => list[Math.min(at, list.length - 1)]!));
}

/** By all policies. Runs that failed are judged, too. `hasTime`: whether any is left. */
export async function judgeFlips(
  { work }: Pick<Deps, 'work'>,
  ctx: Context,
  asked: readonly Asked[],
  stored: StoredResult,
  hasTime: () => boolean,
): Promise<void> {
  const { result, long, record } = stored;
  const documents = asked.map(({ document }) => document);
  const states = statesOf(result.tools);
  const judgeable = states.length > 1 && result.tools.every(({ output }) => output === null || !long.has(output));
  const verdicts: Verdict[][] = [];
  for (const tools of judgeable ? states : []) {
    if (asked.length === 0 || !hasTime()) break;
    const input = { ...judged(stored), result: { tools }, documents, options: {} };
    verdicts.push(await work.run('judge', input, { account: tokenOf(ctx).rootUserId, what: 'policies' }));
  }
  for (const [index, one] of asked.entries()) {
    const of = verdicts.map((state) => state[index]!);
    if (of.length < 2 || of.length < states.length) one.told.not_judged += 1;
    else count(one.told, record.id, states, of);
  }
}

function count(told: Flips, requestId: string, states: readonly ToolResult[][], verdicts: readonly Verdict[]): void {
  told.judged += 1;
  const at = verdicts.findIndex(({ outcome }, index) => index > 0 && outcome !== verdicts[index - 1]!.outcome);
  if (at < 0) return;
  told.flips += 1;
  if (told.examples.length >= MOST_EXAMPLES) return;
  const [before, after] = [verdicts[at - 1]!, verdicts[at]!];
  const stateAt = (index: number): State => ({
    outcome: verdicts[index]!.outcome,
    versions: Object.fromEntries(states[index]!.map(({ name, version }) => [name, version])),
  });
  const rules = after.rules
    .filter(({ outcome }, index) => outcome !== before.rules[index]!.outcome)
    .map(({ name }) => name)
    .slice(0, MOST_RULES);
  told.examples.push({ request_id: requestId, from: stateAt(at - 1), to: stateAt(at), rules });
}
