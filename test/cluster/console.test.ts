/** The console of the product image, which is bundled into the image and served by every API pod. */
import assert from 'node:assert/strict';
import { cluster, type Cluster } from './fixture.ts';

describe('console in the image', function () {
  this.timeout(60_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  it('the root leads to its page, and every file that the page refers to is served', async () => {
    const page = await fetch(c.url);
    assert.deepEqual([page.status, new URL(page.url).pathname], [200, '/app/']);
    const addresses = [...(await page.text()).matchAll(/(?:src|href)="(\/app\/assets\/[^"]+)"/g)].map(
      ([, path]) => path!,
    );
    assert.ok(addresses.length >= 3, addresses.join());
    for (const path of addresses) {
      const asset = await fetch(`${c.url}${path}`);
      assert.deepEqual([asset.status, (await asset.arrayBuffer()).byteLength > 0], [200, true], path);
    }
  });
});
