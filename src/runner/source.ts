/** What a job needs of the source proxy. */
import type { Assignment, FailureCode } from '../bus/messages.ts';
import type { ToolName } from '../kube/resources.ts';

export interface SourceFailure { failure: FailureCode; status?: number; message: string }

export interface JobSource {
  /** Where this tool finds the source: an address on 127.0.0.1. */
  address(tool: ToolName): string;
  /** The guard as HTTP proxy, for whatever the tool opens beside it. */
  environment(tool: ToolName): Record<string, string>;
  /** Resolves, connects, reads what every tool will want first. Never rejects: what fails, fails again when the tool asks. */
  prepare(): Promise<void>;
  /** Puts the caller's redacted address back, and takes secrets out. */
  redact(text: string): string;
  ioUsage(): number;
  failure(): SourceFailure | undefined;
  close(): void;
}

/** Throws a SourceError where the address cannot be read or is not offered. */
export type OpenSource = (assignment: Assignment) => JobSource;
