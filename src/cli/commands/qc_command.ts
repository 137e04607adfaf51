import { contentChecks } from '../../media/answer/content.ts';
import { optionsFor, verdictOf, type Longest, type QcVerdict } from '../../media/qc/verdict.ts';
import type { Answered } from '../api/exchange_http.ts';
import type { Envelope, QcReport, QcWaived } from '../../api_types.ts';
import type { Given, Run } from '../command.ts';
import { EXIT, Failure, type ExitCode, usage } from '../exits.ts';
import { givenSources, type GivenSource } from '../given_source.ts';
import { partsText } from '../output/section_text.ts';
import { colourOf, paint, several } from '../output/text_table.ts';
import { oneLine, type Terminal } from '../terminal.ts';
import { askFor } from './probe_command.ts';
import { cached, longestPassages, times, withFields } from './request_options.ts';
import { inOrder, tell } from './several.ts';
import { readFile } from 'node:fs/promises';

// Lists of hashes: of md5sum and sha256sum, and the manifests of BagIt.

const LINE = /^([0-9a-f]{32}|[0-9a-f]{64})[ \t]+\*?(?:\.\/)?(\S.*)$/i;

type FileHash = { sha256: string } | { md5: string };

interface Entry {
  path: string;
  hash: FileHash;
}

const entriesIn = (text: string): Entry[] =>
  text.split(/\r?\n/).flatMap((line): Entry[] => {
    const [, hash, path] = LINE.exec(line) ?? [];
    if (hash === undefined || path === undefined) return [];
    return [{ path, hash: hash.length === 64 ? { sha256: hash } : { md5: hash } }];
  });

/** Without what follows an address, and as a list names it. */
const pathOf = ({ file, text }: GivenSource): string => {
  const path = file ? text : text.replace(/[?#].*$/s, '');
  return file || !URL.canParse(path) ? path.replace(/^(?:\.\/)+/, '') : decoded(new URL(path).pathname);
};

const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
};

const nameIn = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** By its name; of several by the longest end of its path that is in the list. */
function entryOf(entries: readonly Entry[], path: string): Entry | undefined {
  const named = entries.filter((entry) => nameIn(entry.path) === nameIn(path));
  const [only, ...others] = named;
  if (others.length === 0) return only;
  const whole = named.filter((entry) => `/${path}`.endsWith(`/${entry.path}`));
  return whole.toSorted((a, b) => b.path.length - a.path.length)[0];
}

/** The hash of each source. All are found before anything is sent. */
export async function readManifest(
  { text }: Given,
  sources: readonly GivenSource[],
): Promise<ReadonlyMap<GivenSource, FileHash>> {
  const file = text('manifest');
  if (file === undefined) return new Map();
  const failing = (why: string, cause?: Error): never => {
    throw usage(`--manifest: ${oneLine(file)} ${why}`, 'a line is a hash (MD5, SHA-256), blanks and a name', cause);
  };
  const entries = entriesIn(await readFile(file, 'utf8').catch((error: Error) => failing('cannot be read', error)));
  return new Map(
    sources.map((source) => {
      const entry = entryOf(entries, pathOf(source)) ?? failing(`has no hash of ${source.shown}`);
      return [source, entry.hash];
    }),
  );
}

interface Checked {
  id: string;
  verdict: QcVerdict;
  report: QcReport | null;
  waived: readonly QcWaived[];
}

function checkedIn({ body }: Answered, longest: Longest): Checked {
  const { success, error, code, metadata, qc } = JSON.parse(body.toString()) as Envelope;
  // Nothing is known of a file that no tool could read.
  if (!success)
    throw new Failure(error ?? qc?.error ?? 'no tool could read it', EXIT.unknown, { code: code ?? qc?.code });
  const report = typeof qc?.response === 'object' ? qc.response : null;
  return { id: metadata.request_id, verdict: verdictOf(qc ?? {}, longest), report, waived: qc?.waived ?? [] };
}

function checkedText(terminal: Terminal, { id, report, waived, verdict: told }: Checked): string {
  const { verdict, findings, more, waived_count: count } = told;
  const blocking = findings.filter((found) => found.verdict === 'block').map((found) => oneLine(found.text));
  const why = blocking.length === 0 ? '' : ` ${blocking.join('; ')}${more > 0 ? ' …' : ''}`;
  return (
    (report === null ? '' : partsText(terminal, contentChecks(report, waived).parts)) +
    `${paint(terminal, colourOf(verdict), verdict)}${why}${waivedText(count)}\n` +
    `${paint(terminal, 'dim', `request ${id}`)}\n`
  );
}

const waivedText = (count: number): string =>
  count === 0 ? '' : ` (${several(count, 'finding')} ${count === 1 ? 'is' : 'are'} waived)`;

function exitOf({ verdict }: QcVerdict, failOnWarn: boolean): ExitCode {
  return verdict === 'block' || (verdict === 'warn' && failOnWarn) ? EXIT.failed : EXIT.done;
}

const run: Run = async (invocation) => {
  const { positionals, terminal } = invocation;
  const longest = longestPassages(invocation);
  const sources = await givenSources(positionals);
  const manifest = await readManifest(invocation, sources);
  const integrity = invocation.has('integrity') ? { integrity: true } : {};
  const fieldsOf = (source: GivenSource): Record<string, unknown> => {
    const qc = { ...optionsFor(longest), ...integrity, ...manifest.get(source) };
    return withFields({ ...times(invocation), ...cached(invocation), qc }, invocation);
  };
  const api = await invocation.api();
  const outcomes = await inOrder(invocation, sources, 'checked', async (source) => {
    const asked = { source, enveloped: sources.length === 1, path: 'qc' } as const;
    return checkedIn(await askFor(invocation, api, fieldsOf(source), asked), longest);
  });
  const failOnWarn = invocation.text('fail-on') === 'warn';
  return tell(invocation, outcomes, {
    text: (checked) => checkedText(terminal, checked),
    value: ({ id, verdict, report }) => ({ request_id: id, ...verdict, report }),
    unknown: { verdict: 'unknown' },
    exit: ({ verdict }) => exitOf(verdict, failOnWarn),
  });
};
export default run;
