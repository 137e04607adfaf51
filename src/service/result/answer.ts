/**
 * Converts a stored result to the response in the form requested by the caller. The outcome of the request was decided
 * when it was recorded, and is not decided again here.
 */
import type { ResultBody } from '../../platform/bus/result_body.ts';
import { FILE_ROWS, sectionOf, type EndpointTool, type FileTool, type SectionName } from '../../media/tools/table.ts';
import { assemble, type Answer } from './assemble.ts';
import { assembleComparison } from './assemble_comparison.ts';
import { assembleSingle } from './assemble_single.ts';
import type { Recorded } from './metadata.ts';
import type { Unpacked } from './unpack.ts';
import type { NamedPolicy } from './verdict.ts';

/** The form of a response. */
export interface ResponseForm {
  /** Set for an endpoint of one tool, whose responses have their own form. */
  single?: EndpointTool;
  /** Set for a comparison, whose response contains the differences between its runs and no output. */
  compared?: true;
  /** Without tools that ran only for the report. */
  shown: readonly FileTool[];
  injectOutput: boolean;
  /** Media type of the bare output, if it is not JSON. */
  bareType?: string;
  injectJson: boolean;
  /** The policy named by the request. */
  policy?: NamedPolicy | undefined;
}

export const COMPARED: ResponseForm = { compared: true, shown: [], injectOutput: false, injectJson: false };

/** Any other end is returned as its status and error only. */
export const hasEnvelope = ({ hasBody, status }: { hasBody: boolean; status: number | null }): boolean =>
  hasBody && status === 200;

/** Requested sections that did not run, because the source is of another kind. */
export const skippedSections = ({ skipped = [] }: ResultBody, { shown }: ResponseForm): SectionName[] =>
  FILE_ROWS.filter(({ name }) => shown.includes(name) && skipped.some((tool) => tool === name)).map(sectionOf);

/** `withoutOutputs`: leaves the tools' outputs out, because the whole would be too large. */
export const answerOf = (
  { result, outputs }: Unpacked,
  recorded: Recorded,
  form: ResponseForm,
  { withoutOutputs = false } = {},
): Answer => {
  if (form.compared) return assembleComparison(result, recorded);
  return form.single === undefined
    ? assemble(result, { ...recorded, ...form, outputs, withoutOutputs })
    : assembleSingle(result, { ...recorded, ...form, tool: form.single, outputs, withoutOutputs });
};
