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

/** The outputs of one tool, as far as there is room for them. */
function read(tool: ReportTool, runs: readonly ComparedRun[], findings: Findings) {
  let room = ALL_BYTES;
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
      const parsed: unknown = JSON.parse(output.text());
      room -= bytes;
      return [{ label, version, output: parsed }];
    } catch {
      return not('its output is not valid JSON');
    }
  });
}

/** Runs of a tool are compared in the order in which they come; a tool with one run is compared with nothing. */
export function compareRuns(runs: readonly ComparedRun[]): Comparison {
  const findings = new Findings();
  for (const tool of REPORT_TOOLS) {
    const own = runs.filter((run) => run.tool === tool);
    if (own.length < 2) continue;
    const told = read(tool, own, findings);
    if (told.length < 2) continue;
    compareCanonical(tool, told, findings);
    compareRaw(tool, told, findings);
  }
  return findings.end();
}
