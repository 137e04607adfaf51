/** COPY of rows out of and into Postgres, as streams in bounded memory. */
import { pipeline } from 'node:stream/promises';
import { setImmediate as turn } from 'node:timers/promises';
import type pg from 'pg';
import { from, to } from 'pg-copy-streams';

/** A reader that stops early must end the connection. */
export const copyOut = (client: pg.Client, statement: string): AsyncIterableIterator<Buffer> =>
  client.query(to(statement)).iterator();

/** A source that has everything at hand leaves no time to hear of a lost connection otherwise. */
async function* inTurns(rows: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const some of rows) {
    yield some;
    await turn();
  }
}

export const copyIn = (client: pg.Client, statement: string, rows: AsyncIterable<Buffer>): Promise<void> =>
  pipeline(inTurns(rows), client.query(from(statement)));
