/**
 * Work that can hold an event loop for more than 5 ms, as functions of plain data. The pool runs them in its threads,
 * and those that are known to be short in place.
 */
import { itemsIn, ListError } from '../../../base/source_list.ts';
import { compareRuns, type ComparedRun } from '../../../media/compare/compare.ts';
import { canonicalPolicy } from '../../../media/policy/canonical.ts';
import { PolicyError } from '../../../media/policy/error.ts';
import { evaluate } from '../../../media/policy/evaluate.ts';
import { TOO_LARGE } from '../../../media/policy/limits.ts';
import { readPolicyText } from '../../../media/policy/read.ts';
import type { Policy, Verdict } from '../../../media/policy/schema.ts';
import type { Facts } from '../../../media/policy/types.ts';
import { report as makeReport, type Told } from '../../../media/report/report.ts';
import { sides } from '../../../media/report/side.ts';
import { probeReport, REPORT_TOOLS, type ReportTool } from '../../../media/tools/probe_report.ts';
import type { ResultBody, ToolResult } from '../../../platform/bus/result_body.ts';
import { extensionOf } from '../../../source/playlist/mapping.ts';
import type { Texts } from '../../result/unpack.ts';
import { say } from '../mcp/result_summary.ts';
import { reportPage } from '../report_page/report_page.ts';
import { KEPT_PARTS, type KeptPart } from '../report_page/kept_parts.ts';

export type ReadPolicy =
  | { document: string; digest: string; description: string | undefined; untranslated: string[] }
  | { refused: { path: string; message: string } };

function readPolicy({ text, mediaType }: { text: string; mediaType: string }): ReadPolicy {
  try {
    const { policy, untranslated } = readPolicyText(text, mediaType);
    return { ...canonicalPolicy(policy), description: policy.description, untranslated };
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return { refused: { path: error.path, message: error.message } };
  }
}

/** A stored result, as a policy judges it. */
interface JudgedResult {
  result: Pick<ResultBody, 'tools' | 'report'>;
  texts: Texts;
  options: Record<string, unknown>;
  /** The address as the log shows it. */
  display: string;
}

function toldBy(tool: ToolResult | undefined, texts: Texts): Told | undefined {
  const text = tool?.success && tool.output ? texts.get(tool.output.from) : undefined;
  if (tool === undefined || text === undefined) return undefined;
  try {
    return { version: tool.version, output: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

function preferred(options: JudgedResult['options']): ReportTool | null {
  const asked = options[probeReport.name] as { prefer?: unknown } | null | undefined;
  return REPORT_TOOLS.find((tool) => tool === asked?.prefer) ?? null;
}

/** A long output, or report, is not read again. */
export function storedFacts({ result, texts, options, display }: JudgedResult): Facts {
  const tools = result.tools.map(({ name, version, success, output }) => ({
    name,
    version,
    success,
    output: output === null ? null : (texts.get(output.from) ?? TOO_LARGE),
  }));
  const text = result.report?.output ? texts.get(result.report.output.from) : undefined;
  const stored = text === undefined ? undefined : (JSON.parse(text) as { diff?: unknown });
  // Without its diff a report says less than a policy may ask for.
  if (Array.isArray(stored?.diff)) return { report: stored, tools };
  const made = makeReport({
    ...sides((name) =>
      toldBy(
        result.tools.find((tool) => tool.name === name),
        texts,
      ),
    ),
    diff: true,
    prefer: preferred(options),
    extension: extensionOf({ url: display }),
  });
  // What the pictures say is in the stored report alone.
  return { report: made && stored ? { ...stored, diff: made.diff } : (made ?? stored), tools };
}

/** A call judges many results by the same policies: they are compiled once. */
const MOST_KEPT = 8;
const kept = new Map<string, Policy>();
function policyOf(document: string): Policy {
  const policy = kept.get(document) ?? (JSON.parse(document) as Policy);
  kept.delete(document);
  kept.set(document, policy);
  for (const oldest of kept.keys()) if (kept.size > MOST_KEPT) kept.delete(oldest);
  return policy;
}

/** By each of the policies, `documents` as they are saved. */
function judge({ documents, ...stored }: JudgedResult & { documents: readonly string[] }): Verdict[] {
  const facts = storedFacts(stored);
  return documents.map((document) => evaluate(policyOf(document), facts));
}

/** An output as its text. */
export type TextRun = Omit<ComparedRun, 'output'> & { output: string | null };

const compare = (runs: readonly TextRun[], options: { raw?: boolean } = {}) =>
  compareRuns(
    runs.map(({ output, ...run }) => ({
      ...run,
      output: output === null ? null : { bytes: Buffer.byteLength(output), text: () => output },
    })),
    options,
  );
/** Of many files: after normalisation alone. */
const compareFields = (files: readonly (readonly TextRun[])[]) => files.map((runs) => compare(runs, { raw: false }));

/** The items of a list of sources, each as JSON, as many as are wanted. */
function readList({ text, most }: { text: string; most: number }): { lines: string[] } | { refused: string } {
  try {
    return {
      lines: itemsIn(text)
        .slice(0, most)
        .map(({ item }) => JSON.stringify(item)),
    };
  } catch (error) {
    if (!(error instanceof ListError)) throw error;
    return { refused: error.message };
  }
}

/** The answer to a caller. Null: it cannot be read. */
const keptPart =
  (part: KeptPart) =>
  ({ requestId, stored }: { requestId: string; stored: string }): string | null => {
    const value = KEPT_PARTS[part](stored);
    return value && JSON.stringify({ success: true, request_id: requestId, ...value });
  };
const [timeline, pictures] = [keptPart('timeline'), keptPart('pictures')];

export const JOBS = { readPolicy, judge, compare, compareFields, readList, say, timeline, pictures, reportPage };
export type Jobs = typeof JOBS;
export type JobName = keyof Jobs;
export type Input<N extends JobName> = Parameters<Jobs[N]>[0];
export type Output<N extends JobName> = ReturnType<Jobs[N]>;

/** JSON of this many characters is read in 2 ms at most, and YAML and XML of the same size in 20 ms. */
const SHORT_POLICY = 4 * 1024;

/** An answer of this many characters is shortened in 2 ms. */
const SHORT_ANSWER = 16 * 1024;

/** Those that take less than 5 ms, whatever is in them. */
export const IS_SHORT: { [N in JobName]: (input: Input<N>) => boolean } = {
  readPolicy: ({ text, mediaType }) => text.length <= SHORT_POLICY && mediaType === 'application/json',
  judge: () => false,
  compare: () => false,
  compareFields: () => false,
  readList: () => false,
  say: ({ text }) => text.length <= SHORT_ANSWER,
  timeline: ({ stored }) => stored.length <= SHORT_ANSWER,
  pictures: ({ stored }) => stored.length <= SHORT_ANSWER,
  reportPage: () => false,
};
