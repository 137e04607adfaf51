import { eventually, type Cluster } from '../cluster/fixture.ts';
import { postgresRefuses } from './injections.ts';
import { assertTold, settled, underLoad } from './load.ts';
import { wholeCluster } from './whole.ts';
import { unlessLong } from '../long.ts';

describe('Postgres refuses connections for 20 seconds', function () {
  this.timeout(400_000);
  let c: Cluster;
  before(async function () {
    unlessLong(this, 'postgres_restarted stands for it in the tests of every change');
    c = await wholeCluster();
  });
  after(() => c?.close());

  it('no end is recorded twice or lost', async () => {
    const before = await c.sql('select clock_timestamp()');
    assertTold(await underLoad(c, () => postgresRefuses(c)), 0.1, { answered: true });
    await settled(c);
    // The clients learned that they were cut off. The server did not, and has to notice on its own.
    await eventually(
      'the sessions that were cut off are gone',
      90,
      async () =>
        (await c.sql(
          `select count(*) from pg_stat_activity where client_addr is not null and backend_start < '${before}'`,
        )) === '0',
    );
  });
});
