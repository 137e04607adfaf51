/** The one line that the `verify` role prints in its pod, and the controller reads from the pod's log. */

export type ProofReason =
  'NotExecutable' | 'FileMissing' | 'WrongArchitecture' | 'Hangs' | 'Crashed' | 'VersionMismatch' | 'BadOutput';

export interface Proven {
  ok: true;
  /** The line in which the program names itself. */
  version: string;
  startupMs: number;
  options: string[];
  protocols: string[];
  arch: string;
}

/** `reason` is a text for the controller: the runner image may be of a newer version. */
export type ProofLine<Reason extends string = string> = Proven | { ok: false; reason: Reason; message: string };

/** What a ProbeTool's status has room for. */
export const PROOF_LIMITS = {
  version: 256,
  options: 512,
  optionLength: 64,
  protocols: 128,
  protocolLength: 32,
  message: 1024,
} as const;
