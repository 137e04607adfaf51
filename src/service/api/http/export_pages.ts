/** Rows that are read in pages, as a file. No more than a page is held. */
import { Readable } from 'node:stream';
import type { Context } from './request_context.ts';

interface Exported<Row> {
  /** Its name, for a browser. */
  file: string;
  type: string;
  /** Before the first row. */
  head: string;
  /** Of a page. */
  write(rows: readonly Row[]): string | Uint8Array;
  /** After the last row. */
  end?(): Uint8Array;
  pages: AsyncGenerator<readonly Row[], void>;
  /** That of the account. */
  pace(busyMs: number): Promise<void> | undefined;
}

export const inLines =
  <Row>(line: (row: Row) => string) =>
  (rows: readonly Row[]): string =>
    rows.map((row) => line(row)).join('');

export async function exportPages<Row>(ctx: Context, { file, type, head, write, end, pages, pace }: Exported<Row>) {
  // What fails at once is an error, and not an answer that is cut.
  const first = await pages.next();
  async function* content() {
    yield head;
    for (let { value } = first; value; { value } = await pages.next()) {
      const began = performance.now();
      const written = write(value);
      await pace(performance.now() - began);
      yield written;
    }
    if (end) yield end();
  }
  ctx.set('Content-Disposition', `attachment; filename="${file}"`);
  ctx.body = Readable.from(content(), { objectMode: false });
  // Setting a stream clears the type.
  ctx.type = type;
}
