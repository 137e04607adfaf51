/** The validator as a program: see main.ts. */
import { PROBE_OPTION } from './built_in.ts';
import { LIMITS_BESIDE } from './limits.ts';
import { openOrigin } from './origin.ts';
import { makeReport, textReport } from './report.ts';
import { UnreadableError, validate } from './validate.ts';

function readArguments(list: readonly string[]) {
  const found = {
    address: '',
    timeMs: 600_000,
    measure: 'none' as 'none' | 'sample' | 'all',
    text: false,
    playlists: false,
    beside: false,
    probeCommand: undefined as string[] | undefined,
  };
  for (const argument of list) {
    const [name = '', value = ''] = argument.split(/=(.*)/s);
    if (name === '--time-ms') found.timeMs = Number(value) || found.timeMs;
    else if (name === '--measure-all') found.measure = 'all';
    else if (name === '--measure' && found.measure === 'none') found.measure = 'sample';
    else if (name === '--text') found.text = true;
    else if (name === '--playlist-text') found.playlists = true;
    else if (name === '--beside') found.beside = true;
    else if (name === PROBE_OPTION)
      found.probeCommand = value.startsWith('[') ? (JSON.parse(value) as string[]) : [value];
    else found.address = argument;
  }
  return found;
}

async function report(): Promise<string> {
  const { address, timeMs, measure, text, playlists, beside, probeCommand } = readArguments(process.argv.slice(2));
  if (!/^https?:\/\//.test(address))
    throw new UnreadableError(
      'usage: main.ts [--measure] [--measure-all] [--text] [--playlist-text] [--beside] [--time-ms=N] ' +
        `[${PROBE_OPTION}=PROGRAM] http(s)://…`,
    );
  const presentation = await validate({
    origin: openOrigin(address),
    timeMs,
    keepsText: playlists,
    ...(beside ? { limits: LIMITS_BESIDE } : {}),
    ...(measure === 'none' ? {} : { measure: { probeCommand, all: measure === 'all' } }),
  });
  const made = makeReport(presentation);
  if (text) made.cli_output = textReport(made);
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
