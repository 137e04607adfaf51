/**
 * What the probe endpoints refuse, over HTTP: credentials, methods, bodies and rates. Every response is JSON with a
 * request id.
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { once } from 'node:events';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { until } from '../until.ts';
import { startApi, type ApiFixture } from './fixture.ts';

describe('probe endpoints refuse', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  const file = (path = '', init: RequestInit = {}) => fetch(`${api.url}/v1/probe/file${path}`, init);
  async function refused(response: Response, status: number, error: string): Promise<void> {
    assert.deepEqual([response.status, await response.json()], [status, { error }]);
    assert.match(response.headers.get('x-request-id')!, /^[0-9a-f-]{36}$/);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
  }

  describe('callers', () => {
    const BAD = 'the credential is not valid or has expired';
    const NONE =
      'authentication required: send an API token as Authorization: Bearer <token> or as the query parameter token';
    const good = 'A'.repeat(64);
    const BEARER = 'Authorization: Bearer <token>';
    const MISSING = `Authorization: the scheme Bearer is missing; send ${BEARER}`;
    const cases: [what: string, headers: Record<string, string>, query: string, error: string][] = [
      ['without a token', {}, '', NONE],
      ['with an unknown token', { Authorization: `Bearer ${'B'.repeat(64)}` }, '', BAD],
      ['with an unknown token in the query', {}, `?token=${'B'.repeat(64)}`, BAD],
      ['with a token of the wrong length', { Authorization: 'Bearer abc' }, '', BAD],
      ['with Basic', { Authorization: `Basic ${good}` }, '', `Authorization: Basic is not accepted; send ${BEARER}`],
      ['with a token without Bearer', { Authorization: good }, '', MISSING],
      ['with another scheme', { Authorization: `Token ${good}` }, '', MISSING],
      [
        'with a bad header beside a good query: nothing falls through',
        { Authorization: 'Bearer abc' },
        `?token=${good}`,
        BAD,
      ],
      ['with two tokens in the query', {}, `?token=${good}&token=${good}`, BAD],
      ['with an empty token', {}, '?token=', BAD],
      [
        'with a token that no HTTP client would send',
        {},
        `?token=${encodeURIComponent("' or 1=1 --".padEnd(64, 'A'))}`,
        BAD,
      ],
      ['without a token, even where the query cannot be read', {}, '?url=%', NONE],
    ];
    for (const [what, headers, query, error] of cases) {
      it(what, async () => {
        const response = await file(query, { headers });
        assert.equal(response.headers.get('www-authenticate'), 'Bearer');
        await refused(response, 401, error);
      });
    }

    it('whose token expired or was revoked just now, although it was used before', async () => {
      for (const change of ['expires_at = now()', 'revoked_at = now()']) {
        const { token, id } = await api.newToken();
        const headers = { Authorization: `Bearer ${token}` };
        assert.equal((await file('?url=x', { headers })).status, 400);
        await api.stored.sql(`update tokens set ${change} where id = $1`, [id]);
        const response = await until(
          'the change is heard of',
          async () => {
            const answer = await file('?url=x', { headers });
            return answer.status === 400 ? undefined : answer;
          },
          2_000,
        );
        await refused(response, 401, BAD);
      }
    });

    it('whose account is suspended, and those without the permission', async () => {
      const { token, id } = await api.newToken();
      const headers = { Authorization: `Bearer ${token}` };
      await api.stored.sql(`update tokens set permissions = array['read:media'] where id = $1`, [id]);
      await refused(await file('?url=x', { headers }), 403, 'missing permission: write:media');
      await api.stored.sql(`update users set status = 'suspended' where id = $1`, [api.userId]);
      try {
        const response = await until(
          'the change is heard of',
          async () => {
            const answer = await file('?url=x', { headers: { Authorization: `Bearer ${api.token}` } });
            return answer.status === 400 ? undefined : answer;
          },
          2_000,
        );
        await refused(response, 403, 'the account is suspended');
      } finally {
        await api.stored.sql(`update users set status = 'active' where id = $1`, [api.userId]);
        await until(
          'the change is heard of',
          async () => (await file('?url=x', { headers: { Authorization: `Bearer ${api.token}` } })).status === 400,
        );
      }
    });
  });

  it('other methods, HEAD included, and unknown paths', async () => {
    const headers = { Authorization: `Bearer ${api.token}` };
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const response = await file('?url=https://a.test/', { method, headers });
      assert.equal(response.headers.get('allow'), 'GET, POST');
      await refused(response, 405, 'method not allowed; allowed: GET, POST');
    }
    const head = await file('?url=https://a.test/', { method: 'HEAD', headers });
    assert.deepEqual([head.status, head.headers.get('allow')], [405, 'GET, POST']);
    for (const path of [
      '/',
      '/v1',
      '/v1/probe',
      '/v1/probe/file/x',
      '/favicon.ico',
      '/v1/probe/%',
      '//',
      '/v1/probe/../../etc/passwd',
    ]) {
      await refused(await fetch(`${api.url}${path}`, { headers }), 404, 'not found');
    }
  });

  describe('bodies', () => {
    const TYPES = 'body: must be application/json, application/x-www-form-urlencoded or multipart/form-data';
    const JSON_TYPE = 'application/json';
    const cases: [
      what: string,
      type: string | undefined,
      body: string | Uint8Array<ArrayBuffer> | undefined,
      error: string,
    ][] = [
      ['that are missing', undefined, undefined, TYPES],
      ['of another type', 'text/plain', 'url=x', TYPES],
      ['of a similar type', 'application/jsonp', '{}', TYPES],
      ['in another charset', 'application/json; charset=utf-16', '{}', 'body: must be UTF-8'],
      ['that are not JSON', JSON_TYPE, '{"url":', 'body: is not valid JSON'],
      ['that are empty', JSON_TYPE, '', 'body: is not valid JSON'],
      ['that are not a JSON object', JSON_TYPE, '[1]', 'body: must be a JSON object'],
      [
        'that are not UTF-8',
        JSON_TYPE,
        Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
        'body: is not valid UTF-8',
      ],
      [
        'nested deeply',
        JSON_TYPE,
        `{"url":${'['.repeat(400_000)}${']'.repeat(400_000)}}`,
        'body: has more than 64 levels',
      ],
      [
        'nested deeply in brackets',
        'application/x-www-form-urlencoded',
        `url${'[a]'.repeat(60)}=1`,
        `"url${'[a]'.repeat(60).slice(0, 61)}…": is not a valid field name; use name=value or name[option]=value`,
      ],
      ['over a megabyte', JSON_TYPE, JSON.stringify({ url: 'x'.repeat(1_100_000) }), 'body: must be at most 1 MB'],
      [
        'with too many fields',
        'application/x-www-form-urlencoded',
        'a=1&'.repeat(100_000),
        'body: has more than 256 fields',
      ],
      [
        'that are not a multipart form',
        'multipart/form-data; boundary=x',
        'url=x',
        'body: is not valid multipart/form-data',
      ],
      [
        'that are a multipart form without a boundary',
        'multipart/form-data',
        'url=x',
        'body: is not valid multipart/form-data',
      ],
      [
        'with a file in them',
        'multipart/form-data; boundary=x',
        '--x\r\nContent-Disposition: form-data; name="url"; filename="a.mp4"\r\n\r\nabc\r\n--x--\r\n',
        'url: is a file; only text fields are accepted',
      ],
    ];
    for (const [what, type, body, error] of cases) {
      it(what, async () => {
        const headers = {
          Authorization: `Bearer ${api.token}`,
          ...(type === undefined ? {} : { 'Content-Type': type }),
        };
        await refused(
          await file('', {
            method: 'POST',
            headers,
            ...(body === undefined ? {} : { body: typeof body === 'string' ? Buffer.from(body) : body }),
          }),
          400,
          error,
        );
      });
    }

    it('that inflate beyond a megabyte', async () => {
      const { gzipSync } = await import('node:zlib');
      const body = gzipSync(JSON.stringify({ url: 'x'.repeat(50_000_000) }));
      assert.ok(body.length < 100_000);
      await refused(
        await file('', {
          method: 'POST',
          headers: { Authorization: `Bearer ${api.token}`, 'Content-Type': JSON_TYPE, 'Content-Encoding': 'gzip' },
          body,
        }),
        400,
        'body: must be at most 1 MB',
      );
    });

    it('together with fields in the query of a POST', async () => {
      await refused(
        await api.post({ url: 'x' }, {}).then(() =>
          file('?timeout=5', {
            method: 'POST',
            headers: { Authorization: `Bearer ${api.token}`, 'Content-Type': JSON_TYPE },
            body: '{"url":"x"}',
          }),
        ),
        400,
        '"timeout": is not accepted in the query of a POST; send fields in the body',
      );
    });
  });

  it('malformed HTTP, also with a JSON error', async () => {
    const said = async (text: string): Promise<string> => {
      const socket = connect(api.server.port, '127.0.0.1');
      await once(socket, 'connect');
      socket.write(text);
      let answer = '';
      for await (const chunk of socket) answer += String(chunk);
      return answer;
    };
    for (const [text, error] of [
      ['rubbish\r\n\r\n', 'not a valid HTTP request'],
      [
        `GET /v1/probe/file?url=${'x'.repeat(70_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
        'the headers or the query are too large',
      ],
    ] as const) {
      const answer = await said(text);
      assert.match(answer, /^HTTP\/1\.1 400 /);
      assert.match(answer, /\r\nX-Request-Id: [0-9a-f-]{36}\r\n/);
      assert.deepEqual(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)), { error });
    }
  });

  it('a query of the maximum length for its scheme only, not for its length', async () => {
    const response = await api.get(`url=${encodeURIComponent(`file:///${'é'.repeat(8184)}`)}`);
    assert.match(((await response.json()) as { error: string }).error, /^url must begin with one of/);
  });

  it('invalid fields and sources, without creating anything', async () => {
    for (const [fields, error] of [
      [{ url: 'file:///etc/passwd' }, /^url must begin with one of http:\/\//],
      [
        { url: 'https://a.test/', ffprobe: { version: '9.9' } },
        /^ffprobe\.version: "9\.9" is not available; available: latest, 7\.0, 3\.3; nearest: 7\.0$/,
      ],
      [
        { url: 'https://a.test/', ffprobe: { version: '3.3', max_probe_packets: 5 } },
        /^ffprobe\.max_probe_packets: ffprobe 3\.3 does not have this option$/,
      ],
    ] as const) {
      const response = await api.post(fields);
      assert.equal(response.status, 400);
      assert.match(((await response.json()) as { error: string }).error, error);
      assert.ok(response.headers.has('ratelimit'));
    }
    const key = await api.post({ url: 'https://a.test/' }, { headers: { 'Idempotency-Key': 'with space' } });
    await refused(key, 400, 'Idempotency-Key: must be 1 to 255 visible ASCII characters');
    assert.deepEqual((await api.kube.listAll(PROBE_JOBS, { namespace: api.namespace })).items, []);
    assert.deepEqual(await api.stored.sql('select id from requests'), []);
  });

  it('calls over the rate limit of a token, counting bad ones, with Retry-After', async () => {
    const { token } = await api.newToken({ requestsPerMinute: 3 });
    const headers = { Authorization: `Bearer ${token}` };
    const seen: (string | null)[] = [];
    for (let call = 0; call < 3; call++) {
      const response = await file('?url=file:///x', { headers });
      assert.equal(response.status, 400);
      assert.equal(response.headers.get('ratelimit-policy'), '"default";q=3;w=60');
      seen.push(/r=(\d+)/.exec(response.headers.get('ratelimit')!)![1]!);
    }
    assert.deepEqual(seen, ['2', '1', '0']);
    const over = await file('?url=https://a.test/', { headers });
    const retryAfter = Number(over.headers.get('retry-after'));
    assert.ok(retryAfter >= 1 && retryAfter <= 20, String(retryAfter));
    await refused(over, 429, 'rate limit exceeded; try again later');
    await refused(await file('?url=file:///x', { headers }), 429, 'rate limit exceeded; try again later');
  });
});
