/** Parts of a policy (schema.ts), and what it judges. */
export const OUTCOMES = ['pass', 'fail', 'warn', 'not-applicable', 'unknown'] as const;
export type Outcome = (typeof OUTCOMES)[number];
/** Of a rule; where one is waived, the policy is judged by the others. */
export const RULE_OUTCOMES = [...OUTCOMES, 'waived'] as const;
export type RuleOutcome = (typeof RULE_OUTCOMES)[number];
export const LEVELS = ['fail', 'warn'] as const;
export type Level = (typeof LEVELS)[number];

/** Streams as policies name them. A cover is a `picture`, and no `video`. */
export const STREAM_TYPES = ['video', 'audio', 'subtitle', 'data', 'attachment', 'picture', 'stream'] as const;
export type StreamType = (typeof STREAM_TYPES)[number];

/** Tools whose own output a raw path may read. */
export const RAW_TOOLS = ['ffprobe', 'mediainfo', 'msv', 'c2pa', 'qc'] as const;
export type RawTool = (typeof RAW_TOOLS)[number];

export type Scalar = string | number | boolean;
/** Another field of the same file, or another path of the same tool's output. */
export type Reference = { field: string } | { path: string };
export type Operand = Scalar | Reference;

/** How many, and which do not count. */
export interface Counted {
  of?: string | string[];
  except?: string | string[];
  is?: number;
  'at-least'?: number;
  'at-most'?: number;
  between?: [number, number];
}

/** What is known of a file: as it just ran, or as it was stored. */
export interface Facts {
  /** The probe_report as callers see it, with its `diff`. */
  report?: object | undefined;
  tools: readonly ToolFacts[];
}

export interface ToolFacts {
  name: string;
  version: string;
  success: boolean;
  /** As callers see it; TOO_LARGE in place of one that is not read. It may be made when it is asked for. */
  readonly output: string | null;
}
