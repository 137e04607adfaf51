import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Probe, Verdict } from '../finding.ts';
import type { Settings } from '../settings.ts';

const PROGRAM = 'app/bin/node';
const RUN_MS = 20_000;

/** The code of the error with which the program in the image did not start; undefined: it ran. */
type Facts = string | undefined;

const bundled = (found: string): Verdict => ({ status: 'fail', found, set: { 'tools.delivery': 'bundled' } });

export const imageVolume: Probe<Facts, Settings> = {
  id: 'image-volume',
  title: 'image volumes',
  wanted: 'a program runs from an image that is mounted as a volume',
  why: 'Runners mount each tool so. Where that is not possible, one image holds all tools (tools.delivery).',
  async collect({ folder }) {
    if (folder === '') throw new Error('--folder is missing');
    try {
      await promisify(execFile)(join(folder, PROGRAM), ['--version'], { timeout: RUN_MS });
      return undefined;
    } catch (error) {
      return String((error as { code?: unknown }).code ?? (error as Error).message);
    }
  },
  verdict: (problem) =>
    problem === undefined
      ? { status: 'pass', found: 'a program in one runs', set: { 'tools.delivery': 'imageVolume' } }
      : bundled(`a program in one does not run: ${problem}`),
  // No room on the nodes is another matter.
  notStarted: ({ reason, message }) =>
    reason === 'Unschedulable' ? undefined : bundled(`the pod did not start: ${reason}: ${message}`),
};
