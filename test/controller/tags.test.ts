/** Tags of an object between the sealed source, the runner that writes them, and the record; and facets of a file. */
import assert from 'node:assert/strict';
import type { Go } from '../../src/platform/bus/messages.ts';
import { until } from '../until.ts';
import { type Cluster, startCluster } from './cluster_parts.ts';
import { success } from './simulated_runners.ts';

const tag = { request: '019a5f3e-8a00-7000-8000-000000000001' };

describe('tags of an object in the controller', function () {
  this.timeout(120_000);
  let cluster: Cluster;
  const orders: Go[] = [];
  const says = { tagged: { written: true } as { written: boolean; code?: string }, facets: {} };
  before(async () => {
    cluster = await startCluster({
      runners: {
        result(order) {
          orders.push(order);
          return { ...success(order), ...says };
        },
      },
    });
    await cluster.controller();
  });
  after(() => cluster?.stop());

  async function endOf(source: object) {
    const { id } = await cluster.submit({ sources: [JSON.stringify(source)] });
    const [row] = await until('it has its end', async () => {
      const rows = await cluster.servers.stored.sql<{ tools: object[] }>(
        `select tools from requests where id = $1 and state <> 'open'`,
        [id],
      );
      return rows.length === 0 ? undefined : rows;
    });
    return row!;
  }

  const facets = { container: ['matroska'], rule: ['fail: bitrate'] };
  for (const [what, sent, recorded] of [
    ['recorded with the first tool, without those of a later runner', { ...facets, later: 1 }, facets],
    ['unreadable as the whole result if one has control characters', { container: ['a\nb'] }, undefined],
  ] as const)
    it(`facets: ${what}`, async () => {
      says.facets = sent;
      const row = await endOf({ address: 'https://films.test/a.mkv' });
      says.facets = {};
      assert.deepEqual((row.tools[0] as { facets?: object }).facets, recorded);
    });

  for (const [what, tagged, recorded] of [
    ['written', { written: true }, 'written'],
    ['not written', { written: false, code: 'http-403' }, 'http-403'],
    ['not written, without a reason', { written: false }, 'failed'],
  ] as const)
    it(`${what}: asked of the runner, and recorded with the first tool`, async () => {
      says.tagged = tagged;
      const row = await endOf({ address: 's3://KEY:SECRET@films/a.mp4', tag });
      assert.deepEqual(orders.at(-1)!.assignment.source.tag, tag);
      assert.deepEqual(
        row.tools.map((tool) => (tool as { tagged?: string }).tagged),
        [recorded],
      );
    });
});
