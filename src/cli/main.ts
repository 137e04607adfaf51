#!/usr/bin/env node
/**
 * One program under several names. Linked under the name of a tool, it takes that tool's own flags; kubectl finds its
 * plugin, and what completes it, by their names. Shells ask the program itself what completes a line.
 */
import { basename } from 'node:path';
import { ASKS, completions } from './completion.ts';
import { KUBECTL_PROGRAM, PROGRAM } from './programs.ts';
import { start } from './run_program.ts';

const args = process.argv.slice(2);
const called = basename(process.argv[1] ?? '').replace(/\.[cm]?[jt]s$/, '');

switch (called) {
  case 'ffprobe':
  case 'mediainfo':
    void start(PROGRAM, [called, ...args]);
    break;
  case 'kubectl-probeyard':
    void start(KUBECTL_PROGRAM, args);
    break;
  case 'kubectl_complete-probeyard':
    process.stdout.write(completions(KUBECTL_PROGRAM, args));
    break;
  default:
    if (args[0] === ASKS) process.stdout.write(completions(PROGRAM, args.slice(1)));
    else void start(PROGRAM, args);
}
