/** How a result is to be given: as its caller asked, or as it is given back later, always enveloped. */
import type { Kind } from '../kube/resources.ts';
import type { ToolName } from '../tools/table.ts';
import { assemble, type Answer, type Shown } from './assemble.ts';
import { assembleSingle, SINGLE_DEFAULTS, type SingleTool } from './assemble_single.ts';
import type { Unpacked } from './unpack.ts';

export interface Wanted {
  /** An endpoint of one tool, whose answers have a form of their own. */
  single?: SingleTool;
  asked: readonly { name: ToolName }[];
  shown: readonly Shown[];
  injectOutput: boolean;
  /** What the bare output is, where it is no JSON. */
  bareType?: string;
  injectJson: boolean;
}

export interface About {
  requestId: string;
  queueTimeMs: number;
  /** The tools' outputs are left out, because all of it would be too much. */
  withoutOutputs?: boolean;
}

export const answerOf = ({ result, long }: Unpacked, about: About, wanted: Wanted): Answer =>
  wanted.single === undefined
    ? assemble(result, { ...about, ...wanted, long })
    : assembleSingle(result, { ...about, ...wanted, tool: wanted.single, long });

const EVERYTHING: readonly Shown[] = ['ffprobe', 'mediainfo', 'probe_report', 'c2pa'];

/** Of what the record keeps of a request. Those that no API made (kubectl) keep no wishes: they show everything. */
export function keptWishes({ kind, request }: { kind: Kind; request: unknown }): Wanted {
  const kept = (request ?? {}) as Partial<{ asked: Wanted['asked']; shown: Wanted['shown']; inject_json: boolean }>;
  if (kind !== 'file') {
    return {
      single: kind,
      asked: [{ name: kind }],
      shown: [],
      injectOutput: false,
      injectJson: kept.inject_json ?? SINGLE_DEFAULTS[kind].injectJson,
    };
  }
  return {
    asked: kept.asked ?? [],
    shown: kept.shown ?? EVERYTHING,
    injectOutput: false,
    injectJson: kept.inject_json ?? false,
  };
}
