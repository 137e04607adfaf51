/** Rows that are read in pages, as the lines of a file. No more than a page is held. */
import { Readable } from 'node:stream';
import type { Context } from './request_context.ts';

interface Exported<Row> {
  /** Its name, for a browser. */
  file: string;
  type: string;
  /** Before the first line. */
  head: string;
  line(row: Row): string;
  pages: AsyncGenerator<readonly Row[], void>;
  /** That of the account. */
  pace(busyMs: number): Promise<void> | undefined;
}

export async function exportPages<Row>(ctx: Context, { file, type, head, line, pages, pace }: Exported<Row>) {
  // What fails at once is an error, and not an answer that is cut.
  const first = await pages.next();
  async function* lines() {
    yield head;
    for (let { value } = first; value; { value } = await pages.next()) {
      const began = performance.now();
      const text = value.map((row) => line(row)).join('');
      await pace(performance.now() - began);
      yield text;
    }
  }
  ctx.set('Content-Disposition', `attachment; filename="${file}"`);
  ctx.body = Readable.from(lines(), { objectMode: false });
  // Setting a stream clears the type.
  ctx.type = type;
}
