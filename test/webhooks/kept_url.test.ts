import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { makeBox } from '../../src/service/accounts/box.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { keptUrl, openUrl, shownUrl } from '../../src/service/webhooks/kept_url.ts';

const keys = { keys: [{ kty: 'oct', kid: 'box', k: randomBytes(32).toString('base64url') }] };
const box = makeBox({ boxKeys: () => keys });
const URL_WITH = 'https://hook:pa55word@example.org:8443/a/b?key=s3cret#part';
const SHOWN = 'https://example.org:8443/a/b?key=REDACTED';

describe('stored address of a webhook', () => {
  it('with credentials is sealed, and opens for its request alone', async () => {
    const id = randomUUID();
    const kept = await keptUrl(URL_WITH, id, box);
    assert.ok(!/pa55word|s3cret|hook/.test(kept), kept);
    assert.equal(await openUrl(kept, id, box), URL_WITH);
    await assert.rejects(openUrl(kept, randomUUID(), box), { code: 'seal-other-request' });
    assert.equal(shownUrl(kept), SHOWN);
  });

  it('when sealed, is no address', async () => {
    assert.throws(() => parseSource('sealed+https://example.org/'), { code: 'source-scheme' });
    assert.match(await keptUrl(URL_WITH, randomUUID(), box), /^sealed\+https:\/\/example\.org/);
  });

  it('without credentials stays unchanged', async () => {
    for (const url of ['https://example.org/hook', 'HTTP://example.org/hook?a=b@c', 'https://@example.org/']) {
      const id = randomUUID();
      assert.equal(await keptUrl(url, id, box), url);
      assert.equal(await openUrl(url, id, box), url);
    }
  });
});
