/**
 * How a result is to be given: as its caller asked, or as it is given back later, always enveloped. What the result
 * means for the request was decided when it was recorded, and is not decided again here.
 */
import type { Kind } from '../kube/resources.ts';
import { FILE_TOOLS, type FileTool } from '../tools/table.ts';
import { assemble, type Answer } from './assemble.ts';
import { assembleSingle, SINGLE_DEFAULTS, type SingleTool } from './assemble_single.ts';
import type { Unpacked } from './unpack.ts';

export interface Wanted {
  /** An endpoint of one tool, whose answers have a form of their own. */
  single?: SingleTool;
  shown: readonly FileTool[];
  injectOutput: boolean;
  /** What the bare output is, where it is no JSON. */
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
  wanted: Wanted,
  { withoutOutputs = false } = {},
): Answer =>
  wanted.single === undefined
    ? assemble(result, { ...recorded, ...wanted, long, withoutOutputs })
    : assembleSingle(result, { ...recorded, ...wanted, tool: wanted.single, long, withoutOutputs });

/** Of what the record keeps of a request. Those that no API made (kubectl) keep no wishes: they show everything. */
export function keptWishes({ kind, request }: { kind: Kind; request: unknown }): Wanted {
  const kept = (request ?? {}) as Partial<{ shown: Wanted['shown']; inject_json: boolean }>;
  if (kind !== 'file') {
    return {
      single: kind,
      shown: [],
      injectOutput: false,
      injectJson: kept.inject_json ?? SINGLE_DEFAULTS[kind].injectJson,
    };
  }
  return {
    shown: kept.shown ?? FILE_TOOLS,
    injectOutput: false,
    injectJson: kept.inject_json ?? false,
  };
}
