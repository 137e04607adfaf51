/**
 * Folds settled usage into the rollups by minute, hour and day. Figures are exact either way; folding makes them fast.
 */
import type { Database } from './connection.ts';

const AT_ONCE = 2_000;
/** Bounds one call; the rest is left for the next, so that the caller's other work is not delayed. */
const MOST_TURNS = 200;

export function rollupCalls(database: Database) {
  return {
    /**
     * Returns the number of folded rows. To be called about once a minute by any replica: while one folds, the others
     * find nothing to do.
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
