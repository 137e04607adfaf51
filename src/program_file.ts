/**
 * Programs of ours that the agent starts: in a checkout from their modules, in the image each from one file beside the
 * agent's (images/agent_bundle.ts). Neither in the tools container, which has the same image, nor in a thread is there
 * a compile cache. From modules the HLS validator takes 184 ms of CPU until it prints its usage, and 35 from one file.
 */
import { join } from 'node:path';

export const PROGRAMS = {
  hls: 'hls/program.ts',
  rewrite_thread: 'source/playlist/rewrite_thread.ts',
} as const;

export type ProgramName = keyof typeof PROGRAMS;

export const programFile = (name: ProgramName): string =>
  // Files of the image are CommonJS, which knows its folder by this name. Modules do not.
  typeof __dirname === 'string' ? join(__dirname, `${name}.cjs`) : join(import.meta.dirname, PROGRAMS[name]);
