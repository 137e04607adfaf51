/** A policy as data, what it judges, and the verdict. */
import type { ReportTool } from '../tools/probe_report.ts';
import type { RuleResult } from './schema.ts';

export const OUTCOMES = ['pass', 'fail', 'warn', 'not-applicable', 'unknown'] as const;
export type Outcome = (typeof OUTCOMES)[number];
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

export interface Operators {
  is?: Operand;
  not?: Operand | Scalar[];
  in?: Scalar[];
  'at-least'?: Operand;
  'at-most'?: Operand;
  above?: Operand;
  below?: Operand;
  between?: [Scalar, Scalar];
  within?: Operand | ({ value: Scalar; tolerance: Scalar } | { field: string; tolerance: Scalar });
  'starts-with'?: string | string[];
  matches?: string | string[];
  exists?: boolean;
  absent?: boolean;
}

/** How many, and which do not count. */
export interface Counted {
  of?: string | string[];
  except?: string | string[];
  is?: number;
  'at-least'?: number;
  'at-most'?: number;
  between?: [number, number];
}

export interface Findings {
  'must-fix'?: number | Counted;
  'should-fix'?: number | Counted;
  info?: number | Counted;
}

export interface C2pa {
  state?: string | string[];
  signer?: string | string[];
  'declared-ai'?: string | string[];
}

export type Match = 'every' | 'any' | string | { exactly: number } | { 'at-least': number } | { 'at-most': number };

/** Exactly one subject (field, tool, count, disagreement, warnings, findings, c2pa, or a group), and its operators. */
export interface Condition extends Operators {
  /** For every stream of this type, unless `match` says how many. */
  each?: StreamType;
  match?: Match;
  /** Where this does not hold, the condition is not applicable. */
  when?: Condition;
  field?: string;
  confidence?: { 'at-least': number };
  tool?: RawTool;
  path?: string;
  count?: StreamType;
  disagreement?: { field: string; 'at-most'?: Scalar } | Counted;
  warnings?: number | Counted;
  findings?: Findings;
  c2pa?: C2pa;
  all?: Condition[];
  any?: Condition[];
  none?: Condition[];
}

export interface Rule extends Condition {
  name: string;
  level?: Level;
  description?: string;
}

export interface Policy {
  description?: string;
  /** Versions of the tools that the policy is written for. */
  uses?: Partial<Record<ReportTool, string>>;
  rules: Rule[];
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

export interface Verdict {
  outcome: Outcome;
  rules: RuleResult[];
}
