/** The validator as a program: see main.ts. */
import { parseArgs } from 'node:util';
import { PROBE_OPTION } from './built_in.ts';
import { LIMITS_BESIDE } from './limits.ts';
import { openOrigin } from './origin.ts';
import { makeReport, textReport } from './report.ts';
import { UnreadableError, validate } from './validate.ts';

const OPTIONS = {
  'time-ms': { type: 'string' },
  measure: { type: 'boolean' },
  'measure-all': { type: 'boolean' },
  text: { type: 'boolean' },
  'playlist-text': { type: 'boolean' },
  beside: { type: 'boolean' },
  ffprobe: { type: 'string' },
} as const;

async function report(): Promise<string> {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const [address = ''] = positionals;
  if (!/^https?:\/\//.test(address))
    throw new UnreadableError(
      'usage: main.ts [--measure] [--measure-all] [--text] [--playlist-text] [--beside] [--time-ms=N] ' +
        `[${PROBE_OPTION}=PROGRAM] http(s)://…`,
    );
  const { ffprobe, 'measure-all': all = false, measure = all } = values;
  const probeCommand = ffprobe?.startsWith('[')
    ? (JSON.parse(ffprobe) as string[])
    : ffprobe === undefined
      ? undefined
      : [ffprobe];
  const presentation = await validate({
    origin: openOrigin(address),
    timeMs: Number(values['time-ms']) || 600_000,
    keepsText: values['playlist-text'] === true,
    ...(values.beside ? { limits: LIMITS_BESIDE } : {}),
    ...(measure ? { measure: { probeCommand, all } } : {}),
  });
  const made = makeReport(presentation);
  if (values.text) made.cli_output = textReport(made);
  return `${JSON.stringify(made)}\n`;
}

report().then(
  (text) => process.stdout.write(text, () => process.exit(0)),
  (error: unknown) => {
    const cause = error instanceof Error ? (error.stack ?? error.message).replaceAll('\n', ' ') : String(error);
    const why = error instanceof UnreadableError ? error.message : `the validator failed: ${cause}`;
    process.stderr.write(`${why}\n`, () => process.exit(1));
  },
);
