/** Lists of hashes: of md5sum and sha256sum, and the manifests of BagIt. */
import { readFile, stat } from 'node:fs/promises';
import type { Given } from '../command.ts';
import { usage } from '../exits.ts';
import type { GivenSource } from '../given_source.ts';
import { oneLine } from '../terminal.ts';

const MOST_BYTES = 64 * 1024 * 1024;
const LINE = /^([0-9a-f]{32}|[0-9a-f]{64})[ \t]+\*?(?:\.\/)?(\S.*)$/i;

export type FileHash = { sha256: string } | { md5: string };

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
  const size = await stat(file).then(
    (found) => found.size,
    (error: Error) => failing('cannot be read', error),
  );
  if (size > MOST_BYTES) failing(`has more than ${MOST_BYTES} bytes`);
  const entries = entriesIn(await readFile(file, 'utf8').catch((error: Error) => failing('cannot be read', error)));
  return new Map(
    sources.map((source) => {
      const entry = entryOf(entries, pathOf(source)) ?? failing(`has no hash of ${source.shown}`);
      return [source, entry.hash];
    }),
  );
}
