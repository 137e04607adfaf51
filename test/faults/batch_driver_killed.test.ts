import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Batch } from '../../src/api_types.ts';
import { batchEnded, createdBatch, recorded } from '../cluster/batches.ts';
import { eventually, type Cluster } from '../cluster/fixture.ts';
import { inFull } from '../long.ts';
import { serveContent } from '../node/origin.ts';
import { noted } from '../waits.ts';
import { apiReplicasKilled, leaderKilled, natsWiped, postgresReplaced, type Injection } from './injections.ts';
import { settled } from './load.ts';
import { wholeCluster } from './whole.ts';

/** Fewer items in the tests of every change. A batch that is sent has at most 10,000. */
const ITEMS = inFull() ? 10_000 : 800;
const BATCHES = inFull() ? 2 : 1;
const ROUNDS = inFull() ? 4 : 1;
/** Of each file, so that the batch is not over before the faults are. */
const DELAY_MS = inFull() ? 250 : 500;
const FILE = readFileSync(join(import.meta.dirname, '..', 'fixtures', 'tiny.mp4'));

const FAULTS: readonly (readonly [string, Injection])[] = [
  ['the API replicas are killed', apiReplicasKilled],
  ['the leader is killed', leaderKilled],
  ['NATS is wiped', natsWiped],
  ['Postgres is replaced', postgresReplaced],
];

describe('API replicas, leader, NATS and Postgres are killed in turn while a batch runs', function () {
  this.timeout(inFull() ? 7_200_000 : 600_000);
  let c: Cluster;
  before(async () => {
    c = await wholeCluster();
  });
  after(() => c.close());

  it('each item has one end, and usage counts every request once', async () => {
    const origin = await c.origin((request, response) => {
      setTimeout(() => serveContent(FILE, request, response), DELAY_MS);
    });
    const { id: tokenId, token } = await c.newToken(10);
    const body = {
      probe: { only: 'ffprobe' },
      per_host: 8,
      concurrency: 8 / BATCHES,
      tries: 5,
      rate: 1_000_000,
      items: Array.from({ length: ITEMS }, (_, n) => `${origin.url}/${n}.mp4`),
    };
    const ids: string[] = [];
    for (let n = 0; n < BATCHES; n++) ids.push((await createdBatch(c, token, body)).id);
    for (let round = 1; round <= ROUNDS; round++) {
      for (const [what, fault] of FAULTS) await noted(what, () => fault(c));
      const { waiting } = await eventually('the batch is read', 60, async () => {
        const { status, json } = await c.get(`/v1/batch/${ids[0]}`, token);
        return status === 200 && (json as unknown as Batch).counts;
      });
      console.log(`      after round ${round} of faults ${waiting} items wait`);
    }
    const ends = { waiting: 0, running: 0, success: ITEMS, 'with-errors': 0, error: 0, skipped: 0 };
    let requests = 0;
    for (const id of ids) {
      const batch = await noted('the batch ends', () => batchEnded(c, token, id, inFull() ? 6_000 : 400));
      assert.deepEqual([batch.counts, batch.reason], [ends, 'Completed']);
      requests += batch.requests;
    }
    const { requests: rows, ids: recordedIds, used } = await recorded(c, tokenId);
    assert.deepEqual([rows, used], [recordedIds, recordedIds], 'each request is recorded and counted once');
    assert.equal(requests, rows, 'the batches counted each of their requests once');
    console.log(`      ${BATCHES * ITEMS} items by ${rows} requests`);
    await settled(c);
  });
});
