/** Runs the test file of a guard in a separate process, with or without the guard. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Guard } from './guard.ts';

const root = join(import.meta.dirname, '..', '..');
const MOCHA = join(root, 'node_modules', 'mocha', 'bin', 'mocha.js');
const LONGEST_MS = 10 * 60_000;

export interface Ran {
  passed: number;
  /** Titles of the failed tests. */
  failed: string[];
  /** The output of the process if it has no such list. */
  broken?: string;
}

interface Report {
  stats: { passes: number };
  failures: { fullTitle: string }[];
}

export function runTest(file: string, environment: Record<string, string> = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const takeOut = join(import.meta.dirname, 'take_out.ts');
    const options = environment['GUARD'] === undefined ? '' : `--import=${takeOut}`;
    const child = spawn(process.execPath, [MOCHA, '--timeout=30000', '--exit', '--reporter=json', file], {
      cwd: root,
      env: { ...process.env, ...environment, NODE_OPTIONS: options },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LONGEST_MS,
    });
    let [printed, errors] = ['', ''];
    child.stdout.on('data', (data: Buffer) => (printed += data.toString()));
    child.stderr.on('data', (data: Buffer) => (errors += data.toString()));
    child.on('close', () => {
      try {
        // Log lines of the tested code may precede the report.
        const report = JSON.parse(printed.slice(printed.indexOf('{\n  "stats"'))) as Report;
        resolve({ passed: report.stats.passes, failed: report.failures.map(({ fullTitle }) => fullTitle) });
      } catch {
        resolve({ passed: 0, failed: [], broken: `${printed.slice(-1000)}${errors.slice(-1000)}`.trim() });
      }
    });
  });
}

export interface Tried extends Ran {
  /** Whether the replacement was called. */
  called: boolean;
}

export async function runWithout({ keeps, test }: Guard): Promise<Tried> {
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-mutation-'));
  const called = join(folder, 'called');
  try {
    const ran = await runTest(test, { GUARD: keeps, GUARD_CALLED: called });
    return { ...ran, called: existsSync(called) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const isFound = ({ failed, called }: Tried): boolean => called && failed.length > 0;
