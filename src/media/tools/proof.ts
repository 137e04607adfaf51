/** The single line that the `verify` role prints in its pod, and that the controller reads from the pod's log. */

export type ProofReason =
  'NotExecutable' | 'FileMissing' | 'WrongArchitecture' | 'Hangs' | 'Crashed' | 'VersionMismatch' | 'BadOutput';

export interface Proven {
  ok: true;
  /** The program's version line. */
  version: string;
  startupMs: number;
  options: string[];
  protocols: string[];
  arch: string;
}

/** `reason` is an arbitrary text for the controller, because the runner image may be newer. */
export type ProofLine<Reason extends string = string> = Proven | { ok: false; reason: Reason; message: string };

/** Bounds of a ProbeTool's status. */
export const PROOF_LIMITS = {
  version: 256,
  options: 512,
  optionLength: 64,
  protocols: 128,
  protocolLength: 32,
  message: 1024,
} as const;
