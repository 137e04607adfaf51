import assert from 'node:assert/strict';
import { openSealed } from '../../../src/platform/seal/seal.ts';
import { HLS_VERSION } from '../../../src/media/hls/built_in.ts';
import { PROBE_JOBS } from '../../../src/platform/kube/client.ts';
import { until } from '../../until.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';
import { HLS_REPORT } from '../reports.ts';
import { PROBE_REPORT } from '../reports.ts';

const FFPROBE = '{"format": {"duration": "1.50", "n": 1e2}}';
const MEDIAINFO = '{"media":{"track":[]}}';
const bothTools = { tools: [tool('ffprobe', FFPROBE), tool('mediainfo', MEDIAINFO)], ioUsage: 4096 };
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('a probe request', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi({ allowSources: [{ cidr: '10.9.8.7/32', port: 8080 }] });
  });
  after(() => api.stop());

  it('becomes a ProbeJob with a sealed source, and the response contains the output of each tool', async () => {
    const answering = api.post({
      url: 'https://user:pa55word@one.test/dir/film.mp4?sig=s3cret',
      ffprobe: { show_frames: true, version: '3.3' },
      probe_report: { prefer: 'ffprobe' },
      timeout: 30_000,
    });
    const job = await api.job('one.test');
    const id = job.metadata.name;

    assert.match(id, UUID_V7);
    assert.deepEqual(job.metadata.labels, {
      'probeyard.dev/token': String(api.tokenId),
      'probeyard.dev/kind': 'file',
    });
    const { source, submittedAt, ...spec } = job.spec;
    assert.deepEqual(spec, {
      kind: 'file',
      token: { id: api.tokenId, user: api.userId },
      queueTimeoutMs: 60_000,
      timeoutMs: 30_000,
      tools: [
        { name: 'ffprobe', version: '3.3', timeoutMs: 30_000, options: { show_frames: 'true' } },
        { name: 'mediainfo', version: '24.06', timeoutMs: 30_000 },
      ],
      report: { enabled: true, diff: true, prefer: 'ffprobe' },
    });
    assert.equal(
      Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16),
      Date.parse(submittedAt!),
      'the id holds the submission time',
    );
    assert.equal(source.display, 'https://one.test/…/film.mp4');
    assert.ok(!JSON.stringify(job).includes('pa55word') && !JSON.stringify(job).includes('s3cret'));
    assert.equal(
      openSealed(source.sealed!, { requestId: id, tokenId: api.tokenId }, api.privateKeys),
      'https://user:pa55word@one.test/dir/film.mp4?sig=s3cret',
    );
    const told = await until('the leader was told', () => api.announced.find(({ metadata }) => metadata.name === id));
    assert.deepEqual(told.metadata, { name: id, namespace: api.namespace, labels: job.metadata.labels });
    assert.deepEqual(told.spec, job.spec);

    await api.end(id, { result: bothTools });
    const response = await answering;
    const text = await response.text();
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('x-request-id'), id);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.match(response.headers.get('ratelimit-policy')!, /^"default";q=\d+;w=60$/);
    assert.match(response.headers.get('ratelimit')!, /^"default";r=\d+;t=\d+$/);
    assert.ok(text.includes(`"response":${FFPROBE}`) && text.includes(`"response":${MEDIAINFO}`), 'byte for byte');
    const envelope = JSON.parse(text);
    assert.deepEqual(envelope.metadata, { request_id: id, queue_time: 7, io_usage: 4096 });
    assert.equal(envelope.success, true);
  });

  it('is the same as a query, a form and a multipart form', async () => {
    const form = new FormData();
    form.set('url', 'https://two.test/a.mp4');
    form.set('ffprobe[show_frames]', 'True');
    form.set('mediainfo', '{"enabled": false}');
    const plain = new URLSearchParams({
      url: 'https://two.test/a.mp4',
      'ffprobe[show_frames]': 't',
      'mediainfo[enabled]': '0',
      timeout: '',
    });
    const headers = { Authorization: `Bearer ${api.token}` };
    const ways: (() => Promise<Response>)[] = [
      () => api.get(plain.toString()),
      () => fetch(`${api.url}/v1/probe/file`, { method: 'POST', body: plain, headers }),
      () => fetch(`${api.url}/v1/probe/file?token=${api.token}`, { method: 'POST', body: form }),
      () => fetch(`${api.url}/v1/probe/file?token=${api.token}&${plain}`),
    ];
    for (const way of ways) {
      const answering = way();
      const job = await api.job('two.test');
      assert.deepEqual(job.spec.tools, [
        { name: 'ffprobe', version: '7.0', timeoutMs: 60_000, options: { show_frames: 'true' } },
      ]);
      await api.end(job.metadata.name, {
        result: { tools: [tool('ffprobe', FFPROBE)], ioUsage: 1 },
        asked: [{ name: 'ffprobe' }],
      });
      const response = await answering;
      assert.equal(response.status, 200, await response.clone().text());
    }
  });

  it('for one tool returns that tool, bare on request', async () => {
    for (const [fields, expected] of [
      [
        'only=ffprobe',
        (text: string) => assert.deepEqual(Object.keys(JSON.parse(text)), ['success', 'metadata', 'ffprobe']),
      ],
      ['only=ffprobe&inject_output=true', (text: string) => assert.equal(text, FFPROBE)],
    ] as const) {
      const answering = api.get(`url=https://three.test/a.mp4&${fields}`);
      const job = await api.job('three.test');
      assert.deepEqual(
        job.spec.tools?.map(({ name }) => name),
        ['ffprobe'],
      );
      assert.deepEqual(job.spec.report, { enabled: false });
      await api.end(job.metadata.name, {
        result: { tools: [tool('ffprobe', FFPROBE)], ioUsage: 1 },
        asked: [{ name: 'ffprobe' }],
      });
      expected(await (await answering).text());
    }
  });

  it('for the report alone runs both tools and shows neither', async () => {
    const answering = api.get('url=https://report.test/a.mp4&only=probe_report');
    const job = await api.job('report.test');
    assert.deepEqual(
      job.spec.tools?.map(({ name }) => name),
      ['ffprobe', 'mediainfo'],
    );
    const report = { ...tool('ffprobe', PROBE_REPORT), usageMs: 62 };
    await api.end(job.metadata.name, { result: { ...bothTools, report } });
    assert.deepEqual(Object.keys((await (await answering).json()) as object), ['success', 'metadata', 'probe_report']);
  });

  it('gets its end from Postgres if the notice is lost, even a large envelope', async () => {
    const large = JSON.stringify({
      frames: Array.from({ length: 30_000 }, (_, index) => ({ index, pts: index * 512 })),
    });
    for (const way of [{ tell: false }, { inline: false }]) {
      const answering = api.get('url=https://lost.test/a.mp4&only=ffprobe&inject_output=1');
      const job = await api.job('lost.test');
      await api.end(job.metadata.name, {
        result: { tools: [tool('ffprobe', large)], ioUsage: 1 },
        asked: [{ name: 'ffprobe' }],
        ...way,
      });
      assert.equal(await (await answering).text(), large);
    }
  });

  it('gets a large envelope in pieces, complete and with its length, without a warning of Node', async () => {
    const warnings: string[] = [];
    const warned = (warning: Error) => warnings.push(warning.message);
    process.on('warning', warned);
    const frames = JSON.stringify({
      frames: Array.from({ length: 60_000 }, (_, index) => ({ index, 'p"ts': `é\n${index * 512}` })),
    });
    for (const [fields, expected] of [
      ['', undefined],
      ['&inject_output=1', frames],
    ] as const) {
      const answering = api.get(`url=https://large.test/a.mp4&only=ffprobe${fields}`);
      const job = await api.job('large.test');
      await api.end(job.metadata.name, {
        result: { tools: [tool('ffprobe', frames)], ioUsage: 1 },
        asked: [{ name: 'ffprobe' }],
        inline: false,
      });
      const response = await answering;
      const text = await response.text();
      assert.deepEqual(
        [response.status, response.headers.get('content-type'), Number(response.headers.get('content-length'))],
        [200, 'application/json; charset=utf-8', Buffer.byteLength(text)],
      );
      if (expected === undefined) assert.deepEqual(JSON.parse(text).ffprobe.response, JSON.parse(frames));
      else assert.ok(text === expected);
    }
    process.off('warning', warned);
    assert.deepEqual(warnings, []);
  });

  it('gets its end at once when NATS is back, although the notice was lost', async () => {
    const answering = api.get('url=https://back.test/a.mp4&only=ffprobe');
    const job = await api.job('back.test');
    await api.nats.kill();
    await api.end(job.metadata.name, {
      result: { tools: [tool('ffprobe', FFPROBE)], ioUsage: 1 },
      asked: [{ name: 'ffprobe' }],
      tell: false,
    });
    await api.nats.restart();
    assert.equal((await answering).status, 200);
    await until('NATS is back', () => api.bus.connected());
  });

  it('that ended without a result returns its recorded status and error', async () => {
    for (const [close, status, error] of [
      [{ status: 429, reason: 'QueueTimeout' }, 429, 'the request waited too long in the queue'],
      [{ status: 500, reason: 'RunnerLost', error: 'three runners were lost' }, 500, 'three runners were lost'],
      [{ status: 500, reason: 'InternalError' }, 500, 'internal error'],
    ] as const) {
      const answering = api.get('url=https://ended.test/a.mp4');
      const job = await api.job('ended.test');
      await api.end(job.metadata.name, { close });
      const response = await answering;
      assert.deepEqual([response.status, await response.json()], [status, { error }]);
      assert.equal(response.headers.has('retry-after'), status === 429);
      assert.equal(response.headers.get('x-request-id'), job.metadata.name);
    }
  });

  it("whose origin does not respond is 404 with the tool's own message", async () => {
    const answering = api.get('url=https://gone.test/a.mp4');
    const job = await api.job('gone.test');
    const failed = {
      success: false,
      failure: 'origin-unreachable',
      output: null,
      error: 'Server returned 404 Not Found (exit code 1)',
    } as const;
    await api.end(job.metadata.name, {
      result: { tools: [tool('ffprobe', '', failed), tool('mediainfo', '', failed)], ioUsage: 0 },
    });
    const response = await answering;
    assert.deepEqual(
      [response.status, await response.json()],
      [404, { error: 'Server returned 404 Not Found (exit code 1)', code: 'origin-unreachable' }],
    );
  });

  it('is answered from the record alone, even if its result disagrees on status and error', async () => {
    const result = { tools: [tool('ffprobe', '{}'), tool('mediainfo', '{}')], ioUsage: 0 };
    const close = { state: 'error', status: 400, reason: 'SourceForbidden', error: 'decided by another' } as const;
    for (const query of ['', '&only=ffprobe&inject_output=true', '&inject_json=true']) {
      for (const inline of [true, false]) {
        const answering = api.get(`url=https://decided.test/a.mp4${query}`);
        const { metadata } = await api.job('decided.test');
        await api.end(metadata.name, { result, close, inline });
        const back = fetch(`${api.url}/v1/probe/${metadata.name}`, {
          headers: { Authorization: `Bearer ${api.token}` },
        });
        for (const response of [await answering, await back])
          assert.deepEqual([response.status, await response.json()], [400, { error: 'decided by another' }]);
      }
    }
  });

  it('is cancelled when its caller disconnects', async () => {
    const caller = new AbortController();
    const answering = api.get('url=https://hangup.test/a.mp4', {
      headers: { Authorization: `Bearer ${api.token}` },
      signal: caller.signal,
    });
    const job = await api.job('hangup.test');
    caller.abort();
    await assert.rejects(answering, { name: 'AbortError' });
    await until('the job is deleted', async () =>
      api.kube.get(PROBE_JOBS, job.metadata.name, { namespace: api.namespace }).then(
        () => false,
        () => true,
      ),
    );
  });

  it('with an Idempotency-Key is created once; a repeat gets the first result, another body is refused', async () => {
    const headers = { 'Idempotency-Key': 'order-1' };
    const first = api.post({ url: 'https://idem.test/a.mp4', timeout: 1000 }, { headers });
    const job = await api.job('idem.test');
    const second = api.post({ timeout: 1000, url: 'https://idem.test/a.mp4' }, { headers });
    await until('both wait', () => api.wired.deps.waiting.size() === 2);
    await api.end(job.metadata.name, { result: bothTools });
    const [one, two] = [await first, await second];
    const third = await api.post({ url: 'https://idem.test/a.mp4', timeout: 1000 }, { headers });
    const texts = [await one.text(), await two.text(), await third.text()];
    assert.equal(texts[1], texts[0]);
    assert.equal(texts[2], texts[0]);
    assert.equal(third.headers.get('x-request-id'), job.metadata.name);
    const other = await api.post({ url: 'https://idem.test/b.mp4' }, { headers });
    assert.deepEqual(
      [other.status, await other.json()],
      [400, { error: 'Idempotency-Key: was used with another body' }],
    );
    const { items } = await api.kube.listAll(PROBE_JOBS, { namespace: api.namespace });
    assert.equal(items.filter((item) => item.spec.source.display?.includes('idem.test')).length, 1);
  });

  it('may read a private address that the installation allows, and no other', async () => {
    const refused = 'url: the address is not allowed: it is private, local or reserved';
    for (const address of [
      'http://127.0.0.1/a',
      'http://10.9.8.7/a',
      'http://10.9.8.7:8081/a',
      'http://[::1]:8080/a',
      'http://169.254.169.254/latest/meta-data',
      'http://0x7f.1/a',
      'http://[::ffff:10.0.0.1]/',
    ]) {
      const response = await api.post({ url: address });
      assert.deepEqual(
        [address, response.status, await response.json()],
        [address, 400, { error: refused, code: 'source-forbidden' }],
      );
    }
    const answering = api.post({ url: 'http://10.9.8.7:8080/a.mp4' });
    const job = await api.job('10.9.8.7:8080');
    await api.end(job.metadata.name, { result: bothTools });
    assert.equal((await answering).status, 200);
  });

  it('lists unknown fields of the validator section, and the section itself if the source is no playlist', async () => {
    const answering = api.post({
      url: 'https://ignored.test/a.mp4',
      mediastreamvalidator: { enabled: true, anything: [1, 2], 'b\r\nX-Evil: \u{1f3ac}': 1 },
    });
    const job = await api.job('ignored.test');
    assert.deepEqual(job.spec.tools?.at(-1), { name: 'msv', version: HLS_VERSION, timeoutMs: 65_000 });
    await api.end(job.metadata.name, { result: { ...bothTools, skipped: ['msv'] } });
    const response = await answering;
    assert.equal(
      response.headers.get('x-ignored-fields'),
      'mediastreamvalidator.anything, mediastreamvalidator.b??X-Evil???, mediastreamvalidator',
    );
    const envelope = (await response.json()) as object;
    assert.deepEqual(Object.keys(envelope), ['success', 'metadata', 'ffprobe', 'mediainfo']);
    const again = await fetch(`${api.url}/v1/probe/${job.metadata.name}`, {
      headers: { Authorization: `Bearer ${api.token}` },
    });
    assert.equal(again.headers.get('x-ignored-fields'), 'mediastreamvalidator');
    assert.deepEqual(await again.json(), envelope);
  });

  it('shows the result of the validator in its section', async () => {
    const answering = api.post({
      url: 'https://playlist.test/a.m3u8',
      mediastreamvalidator: { enabled: true, parse_playlist_only: false, enable_cli_output: true },
    });
    const job = await api.job('playlist.test');
    assert.deepEqual(job.spec.tools?.at(-1)?.options, { parse_playlist_only: 'false', enable_cli_output: 'true' });
    await api.end(job.metadata.name, {
      result: { ...bothTools, tools: [...bothTools.tools, tool('msv', HLS_REPORT)] },
    });
    const response = await answering;
    assert.equal(response.headers.get('x-ignored-fields'), null);
    const { mediastreamvalidator: section } = (await response.json()) as Record<string, Record<string, unknown>>;
    assert.deepEqual([section?.['success'], section?.['response']], [true, JSON.parse(HLS_REPORT)]);
  });

  it('does not run the validator unless requested', async () => {
    const answering = api.post({ url: 'https://plain.test/a.m3u8', mediastreamvalidator: { enabled: false } });
    const job = await api.job('plain.test');
    assert.deepEqual(
      job.spec.tools?.map(({ name }) => name),
      ['ffprobe', 'mediainfo'],
    );
    await api.end(job.metadata.name, { result: bothTools });
    assert.equal((await answering).headers.get('x-ignored-fields'), null);
  });

  it('runs the validator alone where `only` names it', async () => {
    const answering = api.post({ url: 'https://alone.test/a.m3u8', only: 'mediastreamvalidator', inject_output: true });
    const job = await api.job('alone.test');
    assert.deepEqual(
      job.spec.tools?.map(({ name }) => name),
      ['msv'],
    );
    await api.end(job.metadata.name, { result: { tools: [tool('msv', HLS_REPORT)], ioUsage: 1 } });
    assert.equal(await (await answering).text(), HLS_REPORT);
  });

  it('leaves no secret of its source in the log or in the record', async () => {
    const secrets = ['pa55word', 's3cret', api.token];
    const lines = api.log.join('\n');
    const rows = JSON.stringify(await api.stored.sql('select display, request, tools, error from requests'));
    for (const secret of secrets) assert.ok(!lines.includes(secret) && !rows.includes(secret), secret.slice(0, 4));
    assert.ok(lines.includes('"route":"/v1/probe/file"'));
  });
});
