import assert from 'node:assert/strict';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { aCloseInput, anOpenInput } from '../store/fixture.ts';
import { addTool } from './add_tool.ts';
import { startApi, type ApiFixture } from './fixture.ts';

describe('api: a monthly quota that is used up', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
    await addTool(api, 'qc', '7.1');
  });
  after(() => api.stop());

  for (const [quota, words, fields = ''] of [
    ['{"request-count": 1}', /: number of requests/],
    ['{"processing-time": 41}', /: processing time/],
    ['{"data-processed": 1000}', /: amount of data/],
    ['{"decoded-seconds": 9}', /: seconds decoded by content checks/, '&qc[enabled]=true'],
  ] as const) {
    it(`is a 403 that names the quota: ${quota}`, async () => {
      const { token, id } = await api.newToken();
      await api.stored.sql('update tokens set monthly_quota = $2 where id = $1', [id, quota]);
      const used = anOpenInput(api.stored.store, { tokenId: id, userId: api.userId });
      await api.stored.store.openRequest(used);
      await api.stored.store.closeRequest(aCloseInput(used, { decodedSeconds: 9 }));
      const response = await api.get(`url=https%3A%2F%2Fquota.example.org%2Fa.mp4${fields}`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      const body = (await response.json()) as { error: string };
      assert.equal(response.status, 403);
      assert.deepEqual(Object.keys(body), ['error']);
      assert.match(body.error, /^the monthly quota is used up: /);
      assert.match(body.error, words);
      assert.deepEqual(await api.stored.sql('select count(*)::integer n from requests where token_id = $1', [id]), [
        { n: 1 },
      ]);
      const { items } = await api.kube.listAll(PROBE_JOBS, { namespace: api.namespace });
      assert.ok(!items.some(({ spec }) => spec.token?.id === id));
    });
  }
});
