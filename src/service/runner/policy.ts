/** The verdict of the policy that an assignment names, from what the tools printed and from the report. */
import type { Assignment } from '../../platform/bus/messages.ts';
import type { ResultBody } from '../../platform/bus/result_body.ts';
import { PolicyError } from '../../media/policy/error.ts';
import { evaluate } from '../../media/policy/evaluate.ts';
import { MOST_OUTPUT, TOO_LARGE } from '../../media/policy/limits.ts';
import type { ToolFacts } from '../../media/policy/types.ts';
import { unknownVerdict } from '../result/verdict.ts';
import type { RawToolResult } from './output.ts';

type Redact = (text: string) => string;

/** Redacted before it is read: a stored result is judged anew by the same text. */
const printedBy = ({ name, version, success, output }: RawToolResult, redact: Redact): ToolFacts => ({
  name,
  version,
  success,
  get output() {
    return output === null ? null : output.length > MOST_OUTPUT ? TOO_LARGE : redact(output.toString());
  },
});

/** `own`: the runs for the report alone, whose output no option of the caller shaped: they are judged first. */
export function verdictIn(
  { policy }: Pick<Assignment, 'policy'>,
  {
    tools,
    own,
    report,
  }: { tools: readonly RawToolResult[]; own: readonly RawToolResult[]; report?: object | undefined },
  redact: Redact,
): ResultBody['policy'] {
  if (!policy) return undefined;
  const { name, revision, document } = policy;
  const ran = [...own, ...tools.filter((tool) => !own.some((other) => other.name === tool.name))];
  try {
    const facts = ran.map((tool) => printedBy(tool, redact));
    return { name, revision, ...evaluate(document, { report, tools: facts }) };
  } catch (error) {
    // A document of a newer version, whose rules this runner does not know: the job has its result all the same.
    if (!(error instanceof PolicyError)) throw error;
    const where = error.path === '' ? '' : `${error.path}: `;
    return unknownVerdict({ name, revision }, `the policy could not be evaluated: ${where}${error.message}`);
  }
}
