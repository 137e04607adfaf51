/**
 * From a stored result to the answer, in the form that its caller asked for. What the result means for the request was
 * decided when it was recorded, and is not decided again here.
 */
import type { ResultBody } from '../bus/messages.ts';
import { FILE_ROWS, sectionOf, type EndpointTool, type FileTool, type SectionName } from '../tools/table.ts';
import { assemble, type Answer } from './assemble.ts';
import { assembleComparison } from './assemble_comparison.ts';
import { assembleSingle } from './assemble_single.ts';
import type { Unpacked } from './unpack.ts';
import type { NamedPolicy } from './verdict.ts';

/** How a result is given. */
export interface ResponseForm {
  /** Set for an endpoint of one tool, whose answers have a form of their own. */
  single?: EndpointTool;
  /** Set for a comparison, whose answer tells what its runs say differently, and no output. */
  compared?: true;
  /** Tools that ran for the report alone are not in it. */
  shown: readonly FileTool[];
  injectOutput: boolean;
  /** The media type of the bare output, where it is not JSON. */
  bareType?: string;
  injectJson: boolean;
  /** What the result was to be judged by. */
  policy?: NamedPolicy | undefined;
}

export const COMPARED: ResponseForm = { compared: true, shown: [], injectOutput: false, injectJson: false };

/** Of the end of a request, as it is recorded. */
export interface Recorded {
  requestId: string;
  queueTimeMs: number;
  error: string | null;
}

/** Every other end is answered with its status and its error alone. */
export const hasEnvelope = ({ hasBody, status }: { hasBody: boolean; status: number | null }): boolean =>
  hasBody && status === 200;

/** Sections that were asked for and did not run, because the source is not of their kind. */
export const skippedSections = ({ skipped = [] }: ResultBody, { shown }: ResponseForm): SectionName[] =>
  FILE_ROWS.filter(({ name }) => shown.includes(name) && skipped.some((tool) => tool === name)).map(sectionOf);

/** `withoutOutputs`: the tools' outputs are left out, because all of it would be too much. */
export const answerOf = (
  { result, long }: Unpacked,
  recorded: Recorded,
  form: ResponseForm,
  { withoutOutputs = false } = {},
): Answer => {
  if (form.compared) return assembleComparison(result, recorded);
  return form.single === undefined
    ? assemble(result, { ...recorded, ...form, long, withoutOutputs })
    : assembleSingle(result, { ...recorded, ...form, tool: form.single, long, withoutOutputs });
};
