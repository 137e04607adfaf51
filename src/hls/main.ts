/**
 * The validator as a program: prints its report as JSON and ends with 0 whatever it found; with 1, and why on stderr, where the source
 * could not be read at all.
 */
import { openOrigin } from './origin.ts';
import { makeReport } from './report.ts';
import { textReport } from './text_report.ts';
import { UnreadableError, validate } from './validate.ts';

interface Arguments { address: string; timeMs: number; measure: boolean; text: boolean; ffprobe: string[] | undefined }

function readArguments(list: readonly string[]): Arguments {
  const found: Arguments = { address: '', timeMs: 600_000, measure: false, text: false, ffprobe: undefined };
  for (const argument of list) {
    const [name = '', value = ''] = argument.split(/=(.*)/s);
    if (name === '--time-ms') found.timeMs = Number(value) || found.timeMs;
    else if (name === '--measure') found.measure = true;
    else if (name === '--text') found.text = true;
    else if (name === '--ffprobe') found.ffprobe = value.startsWith('[') ? (JSON.parse(value) as string[]) : [value];
    else found.address = argument;
  }
  return found;
}

async function main(): Promise<void> {
  const { address, timeMs, measure, text, ffprobe } = readArguments(process.argv.slice(2));
  if (!/^https?:\/\//.test(address)) throw new UnreadableError('usage: main.ts [--measure] [--text] [--time-ms=N] [--ffprobe=PROGRAM] http(s)://…');
  const presentation = await validate({ origin: openOrigin(address), timeMs, ...(measure ? { measure: { ffprobe } } : {}) });
  const report = makeReport(presentation);
  if (text) report.cli_output = textReport(report);
  process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0));
}

// The image is warmed by importing every main.ts: only as the program itself it runs.
if (import.meta.main) {
  main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof UnreadableError ? error.message : `the validator failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`}\n`, () => process.exit(1));
  });
}
