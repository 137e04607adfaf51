import assert from 'node:assert/strict';
import { samplesAt } from '../../../src/service/api/probe/offer_endpoints.ts';
import { SAMPLES } from '../../../src/service/samples/list.ts';
import { startApi, type ApiFixture } from '../fixture.ts';

describe('GET /v1/samples', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi({ samplesUrl: 'http://samples.example' });
  });
  after(() => api.stop());
  const ask = (headers: Record<string, string>) => fetch(`${api.url}/v1/samples`, { headers });

  it('lists each sample by its address', async () => {
    const response = await ask({ Authorization: `Bearer ${api.token}` });
    const { samples } = (await response.json()) as ReturnType<typeof samplesAt>;
    assert.deepEqual(
      [response.status, samples.map(({ url }) => url)],
      [200, SAMPLES.map(({ path }) => `http://samples.example/${path}`)],
    );
    assert.deepEqual(
      samples.filter(({ codecs }) => codecs === null).map(({ group }) => group),
      ['broken', 'broken', 'broken'],
    );
  });

  it('requires a token', async () => {
    assert.equal((await ask({})).status, 401);
  });

  it('an installation without samples lists none', () => {
    assert.deepEqual(samplesAt(null), { success: true, samples: [] });
  });
});
