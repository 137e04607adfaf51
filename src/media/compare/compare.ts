/** What the runs of a tool say differently: several versions on one file, or one version on two files. Pure. */
import { REPORT_TOOLS, type ReportTool } from '../tools/probe_report.ts';
import { compareCanonical } from './canonical.ts';
import { Findings, type Labelled } from './findings.ts';
import { compareRaw } from './raw.ts';
import type { Comparison } from './schema.ts';

export interface ComparedRun extends Labelled {
  tool: ReportTool;
  /** What the tool printed; null: it failed, or printed no JSON. */
  output: { bytes: number; text(): string } | null;
}

/**
 * Of one run. What JSON.parse makes of an output takes several times its size, and all that are compared are held at
 * once: of more than ALL_BYTES the last ones are left out.
 */
const MOST_BYTES = 16 * 1024 * 1024;
const ALL_BYTES = 2 * MOST_BYTES;

const MB = 1024 * 1024;
/**
 * Commas in all of them. A parsed value takes about 100 bytes, however short its text is. ffprobe prints a value in 30
 * bytes; two outputs of 16 MB with a value in 9 bytes made the agent peak at 700 MB, and its container has 640.
 */
const MOST_VALUES = 1_500_000;
const COMMA = 44;

function commasIn(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) === COMMA) count += 1;
  return count;
}

/** The outputs of one tool, as far as there is room for them. */
function read(tool: ReportTool, runs: readonly ComparedRun[], findings: Findings) {
  let room = ALL_BYTES;
  let values = MOST_VALUES;
  return runs.flatMap(({ label, version, output }) => {
    const not = (why: string): [] => {
      findings.notCompared(tool, label, why);
      return [];
    };
    if (output === null) return not('it gave no JSON');
    const { bytes } = output;
    if (bytes > MOST_BYTES) return not(`its output of ${Math.ceil(bytes / MB)} MB is over ${MOST_BYTES / MB} MB`);
    if (bytes > room) return not(`the outputs of all runs are over ${ALL_BYTES / MB} MB`);
    try {
      const text = output.text();
      const commas = commasIn(text);
      if (commas > values) return not(`the outputs of all runs have more than ${MOST_VALUES} values`);
      const parsed: unknown = JSON.parse(text);
      room -= bytes;
      values -= commas;
      return [{ label, version, output: parsed }];
    } catch {
      return not('its output is not valid JSON');
    }
  });
}

/**
 * Runs of a tool are compared in the order in which they come; a tool with one run is compared with nothing. Without
 * `raw`: after normalisation alone.
 */
export function compareRuns(runs: readonly ComparedRun[], { raw = true } = {}): Comparison {
  const findings = new Findings();
  for (const tool of REPORT_TOOLS) {
    const own = runs.filter((run) => run.tool === tool);
    if (own.length < 2) continue;
    const told = read(tool, own, findings);
    if (told.length < 2) continue;
    compareCanonical(tool, told, findings);
    if (raw) compareRaw(tool, told, findings);
  }
  return findings.end();
}
