/**
 * From a stored result to the answer, in the form that its caller asked for. What the result means for the request was
 * decided when it was recorded, and is not decided again here.
 */
import type { EndpointTool, FileTool } from '../tools/table.ts';
import { assemble, type Answer } from './assemble.ts';
import { assembleSingle } from './assemble_single.ts';
import type { Unpacked } from './unpack.ts';

/** How a result is given. */
export interface ResponseForm {
  /** Set for an endpoint of one tool, whose answers have a form of their own. */
  single?: EndpointTool;
  /** Tools that ran for the report alone are not in it. */
  shown: readonly FileTool[];
  injectOutput: boolean;
  /** The media type of the bare output, where it is not JSON. */
  bareType?: string;
  injectJson: boolean;
}

/** Of the end of a request, as it is recorded. */
export interface Recorded {
  requestId: string;
  queueTimeMs: number;
  error: string | null;
}

/** Every other end is answered with its status and its error alone. */
export const hasEnvelope = ({ hasBody, status }: { hasBody: boolean; status: number | null }): boolean =>
  hasBody && status === 200;

/** `withoutOutputs`: the tools' outputs are left out, because all of it would be too much. */
export const answerOf = (
  { result, long }: Unpacked,
  recorded: Recorded,
  form: ResponseForm,
  { withoutOutputs = false } = {},
): Answer =>
  form.single === undefined
    ? assemble(result, { ...recorded, ...form, long, withoutOutputs })
    : assembleSingle(result, { ...recorded, ...form, tool: form.single, long, withoutOutputs });
