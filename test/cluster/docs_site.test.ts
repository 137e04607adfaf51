/** The documentation as the installed image serves it: pages, Markdown, texts for programs, and the search. */
import assert from 'node:assert/strict';
import { makeSearch, type SearchIndex } from '../../docs/site/search.ts';
import { cluster, type Cluster } from './fixture.ts';

describe('the documentation on the cluster', function () {
  this.timeout(60_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());
  const read = async (path: string): Promise<string> => {
    const response = await fetch(`${c.url}${path}`, { signal: AbortSignal.timeout(10_000) });
    assert.equal(response.status, 200, path);
    return response.text();
  };

  it('/docs/ is a page that leads to the quickstart, and both are served without a token', async () => {
    assert.match(await read('/docs/'), /href="\/docs\/quickstart"/);
    assert.match(await read('/docs/quickstart'), /<h1[^>]*>Quickstart/);
  });

  it('search: its script and its index are served, and words find their page', async () => {
    const html = await read('/docs/');
    const index = JSON.parse(await read(/data-index="([^"]+)"/.exec(html)![1]!)) as SearchIndex;
    assert.ok((await read(/<script[^>]*\bsrc="([^"]+)"/.exec(html)![1]!)).length > 100);
    const search = makeSearch(index);
    for (const [query, address] of [
      ['quickstart', '/docs/quickstart'],
      ['presign azure', '/docs/guides/sources#azure-blob-storage'],
    ] as const)
      assert.ok(
        search(query)
          .slice(0, 5)
          .some((found) => found.address === address),
        query,
      );
  });

  it('each page of llms.txt is served as Markdown, and so is the API reference', async () => {
    const pages = [...(await read('/llms.txt')).matchAll(/\]\((\/docs\/[^)]+\.md)\)/g)].map(([, path]) => path!);
    assert.ok(pages.length > 50, `${pages.length} pages`);
    for (const path of pages) assert.match(await read(path), /^# \S/, path);
    assert.match(await read('/docs/api/probe'), /<p class="operation"><code>POST \/v1\/probe\/file</);
  });
});
