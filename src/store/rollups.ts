/**
 * Moves usage that has come to rest into the rollups by minute, hour and day. Figures are right whether it runs or not;
 * folded they are quick.
 */
import type { Database } from './connection.ts';

const AT_ONCE = 2_000;
/** A turn ends here: what is left waits for the next, so that nothing else of the caller's waits. */
const MOST_TURNS = 200;

export function rollupCalls(database: Database) {
  return {
    /**
     * How many rows were folded. To be called about once a minute, by any replica: while one folds the others find
     * nothing to do.
     */
    async foldUsage({ restSeconds = 120 } = {}): Promise<number> {
      let folded = 0;
      for (let turn = 0; turn < MOST_TURNS; turn++) {
        const [row] = await database.rows<{ n: number }>({
          name: 'fold_usage',
          text: 'select fold_usage(make_interval(secs => $1), $2) n',
          values: [restSeconds, AT_ONCE],
        });
        folded += row?.n ?? 0;
        if ((row?.n ?? 0) < AT_ONCE) break;
      }
      return folded;
    },
  };
}
