/**
 * Programs and threads that the agent and the API start: in a checkout from their modules, in the image each from one
 * file beside the agent's (images/agent_bundle.ts). Neither in the tools container, which has the same image, nor in a
 * thread is there a compile cache. From modules the HLS validator takes 184 ms of CPU until it prints its usage, and 35
 * from one file; a thread of the API takes 250 ms and 60 MB from modules, and 50 ms and 27 MB from one file.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const PROGRAMS = {
  hls: 'media/hls/program.ts',
  rewrite_thread: 'source/playlist/rewrite_thread.ts',
  work_thread: 'service/api/work/thread.ts',
} as const;

export type ProgramName = keyof typeof PROGRAMS;

export function programFile(name: ProgramName): string {
  // Files of the image are CommonJS, which knows its folder by this name. Modules do not.
  if (typeof __dirname === 'string') return join(__dirname, `${name}.cjs`);
  const bundled = join(import.meta.dirname, '..', '..', 'agent', `${name}.cjs`);
  return existsSync(bundled) ? bundled : join(import.meta.dirname, '..', PROGRAMS[name]);
}
