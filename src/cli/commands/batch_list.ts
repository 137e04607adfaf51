/** A list of sources from a file or stdin. */
import { createReadStream } from 'node:fs';
import { boundedText } from '../../base/bounded_text.ts';
import { itemsIn, type ListedItem, ListError } from '../../base/source_list.ts';
import { usage } from '../exits.ts';
import { UNREADABLE } from '../given_source.ts';
import { oneLine } from '../terminal.ts';

/** More than the service takes. */
const MOST_BYTES = 64 * 1024 * 1024;
const STDIN = '-';

export async function readList(path: string): Promise<ListedItem[]> {
  const shown = path === STDIN ? 'stdin' : oneLine(path.slice(0, 200));
  if (path === STDIN && process.stdin.isTTY)
    throw usage('batch create: stdin is a terminal', 'give it a list: probeyard batch create addresses.txt');
  const stream = path === STDIN ? process.stdin : createReadStream(path);
  const text = await boundedText(stream, MOST_BYTES).catch((cause: NodeJS.ErrnoException) => {
    throw usage(`${shown}: ${UNREADABLE[cause.code ?? ''] ?? `cannot be read: ${cause.code}`}`, undefined, cause);
  });
  if (text === undefined) throw usage(`${shown}: is larger than 64 MB`);
  try {
    return itemsIn(text);
  } catch (error) {
    throw error instanceof ListError ? usage(error.message, error.hint, error) : error;
  }
}
