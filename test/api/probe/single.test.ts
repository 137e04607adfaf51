import assert from 'node:assert/strict';
import type { ProbeJob } from '../../../src/platform/kube/probe_job.ts';
import { addTool } from '../add_tool.ts';
import { C2PA_REPORT, HLS_REPORT } from '../reports.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';

describe('an endpoint of one tool', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
    await Promise.all([
      addTool(api, 'c2pa', '0.90.22'),
      api.wired.deps.catalog().versions('msv').length > 0 ? undefined : addTool(api, 'msv', '1.0'),
    ]);
  });
  after(() => api.stop());

  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${api.url}/v1/probe/${path}`, {
      ...init,
      headers: { Authorization: `Bearer ${api.token}`, ...init.headers },
    });
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    call(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json', ...headers },
    });
  const end = (job: ProbeJob, output: string) => {
    const name = job.spec.kind as 'msv' | 'c2pa';
    return api.end(job.metadata.name, { result: { tools: [tool(name, output)], ioUsage: 77 }, asked: [{ name }] });
  };

  it('creates a job of that tool, with its own defaults', async () => {
    for (const [path, spec] of [
      ['c2pa', { kind: 'c2pa', timeoutMs: 65_000, tools: [{ name: 'c2pa', version: '0.90.22', timeoutMs: 65_000 }] }],
      [
        'mediastreamvalidator',
        {
          kind: 'msv',
          timeoutMs: 650_000,
          tools: [
            {
              name: 'msv',
              version: api.wired.deps.catalog().resolve('msv', 'latest').version,
              timeoutMs: 650_000,
            },
          ],
        },
      ],
    ] as const) {
      const answering = call(`${path}?url=https://defaults.test/a.mp4`);
      const job = await api.job('defaults.test');
      const { kind, timeoutMs, tools, queueTimeoutMs } = job.spec;
      assert.deepEqual({ kind, timeoutMs, tools }, spec);
      assert.equal(queueTimeoutMs, 60_000);
      assert.equal(job.metadata.labels?.['probeyard.dev/kind'], kind);
      await end(job, kind === 'c2pa' ? C2PA_REPORT : HLS_REPORT);
      const response = await answering;
      assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
      assert.equal(response.headers.get('x-request-id'), job.metadata.name);
      assert.ok(response.headers.has('ratelimit'));
      assert.equal(await response.text(), kind === 'c2pa' ? C2PA_REPORT : HLS_REPORT, 'bare by default');
    }
  });

  it('returns the output bare and enveloped, as text and as object, and reads back enveloped', async () => {
    const metadata = (id: string) => ({ request_id: id, queue_time: 7, io_usage: 77, duration: 31, usage: 31 });
    const envelope = (id: string, kind: string, output: unknown) => ({
      success: true,
      output,
      ...(kind === 'msv' ? { cli_output: 'fine' } : {}),
      metadata: metadata(id),
    });
    for (const [path, output] of [
      ['c2pa', C2PA_REPORT],
      ['mediastreamvalidator', HLS_REPORT],
    ] as const) {
      for (const [query, bare, object] of [
        ['', true, path !== 'c2pa'],
        ['inject_output=true&inject_json=false', true, false],
        ['inject_output=true&inject_json=true', true, true],
        ['inject_output=false', false, path !== 'c2pa'],
        ['inject_output=0&inject_json=false', false, false],
        ['inject_output=f&inject_json=TRUE', false, true],
      ] as const) {
        const answering = call(`${path}?url=https://forms.test/a.mp4&${query}`);
        const job = await api.job('forms.test');
        await end(job, output);
        const text = await (await answering).text();
        const enveloped = envelope(job.metadata.name, job.spec.kind, object ? JSON.parse(output) : output);
        if (bare) assert.equal(text, output);
        else assert.deepEqual(JSON.parse(text), enveloped, `${path} ${query}`);
        const back = await call(job.metadata.name);
        assert.deepEqual([back.status, await back.json()], [200, enveloped], `read back: ${path} ${query}`);
      }
    }
  });

  it('accepts JSON, forms and multipart forms, with null where null is the default', async () => {
    const form = new FormData();
    form.set('url', 'https://ways.test/a.m3u8');
    form.set('parse_playlist_only', 'False');
    form.set('enable_cli_output', '1');
    const fields = {
      url: 'https://ways.test/a.m3u8',
      parse_playlist_only: 'f',
      enable_cli_output: 'T',
      webhook_url: '',
    };
    const ways: (() => Promise<Response>)[] = [
      () =>
        post('mediastreamvalidator', {
          url: fields.url,
          parse_playlist_only: false,
          enable_cli_output: true,
          webhook_url: null,
        }),
      () => call('mediastreamvalidator', { method: 'POST', body: new URLSearchParams(fields) }),
      () => call('mediastreamvalidator', { method: 'POST', body: form }),
      () => call(`mediastreamvalidator?${new URLSearchParams(fields)}`),
    ];
    for (const way of ways) {
      const answering = way();
      const job = await api.job('ways.test');
      assert.deepEqual(job.spec.tools?.[0]?.options, { parse_playlist_only: 'false', enable_cli_output: 'true' });
      await end(job, HLS_REPORT);
      assert.equal((await answering).status, 200);
    }
  });

  it('lowers values above the maximum', async () => {
    const answering = post('c2pa', { url: 'https://lowered.test/a.jpg', timeout: 9_000_000, queue_timeout: 600_000 });
    const job = await api.job('lowered.test');
    assert.deepEqual(
      [job.spec.timeoutMs, job.spec.queueTimeoutMs, job.spec.tools?.[0]?.timeoutMs],
      [650_000, 60_000, 650_000],
    );
    await end(job, C2PA_REPORT);
    assert.equal((await answering).status, 200);
  });

  it('refuses unknown and invalid fields by name', async () => {
    for (const [path, body, error] of [
      ['c2pa', {}, 'url: is required'],
      ['c2pa', { url: 'file:///etc/passwd' }, /^url must begin with/],
      ['c2pa', { url: 'http://169.254.169.254/' }, 'url: the address is not allowed: it is private, local or reserved'],
      ['c2pa', { url: 'https://x.test/', timeout: 0 }, 'timeout: must be at least 1'],
      ['c2pa', { url: 'https://x.test/', inject_json: 'yes' }, 'inject_json: must be true or false'],
      ['c2pa', { url: 'https://x.test/', parse_playlist_only: true }, /^parse_playlist_only: is unknown/],
      ['mediastreamvalidator', { url: 'https://x.test/', version: '1.0' }, /^version: is unknown/],
      [
        'mediastreamvalidator',
        { url: 'https://x.test/', enable_cli_outputs: true },
        'enable_cli_outputs: is unknown; did you mean enable_cli_output?',
      ],
      [
        'mediastreamvalidator',
        { url: 'https://x.test/', parse_playlist_only: 1 },
        'parse_playlist_only: must be true or false',
      ],
    ] as const) {
      const response = await post(path, body);
      const told = ((await response.json()) as { error: string }).error;
      assert.equal(response.status, 400, told);
      if (typeof error === 'string') assert.equal(told, error);
      else assert.match(told, error);
    }
    for (const path of ['c2pa', 'mediastreamvalidator']) {
      const response = await call(path, { method: 'DELETE' });
      assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, POST']);
      assert.equal((await fetch(`${api.url}/v1/probe/${path}?url=https://x.test/`)).status, 401);
    }
  });

  it('with an Idempotency-Key is created once, and the key is per endpoint', async () => {
    const headers = { 'Idempotency-Key': 'single-1' };
    const first = post('c2pa', { url: 'https://once.test/a.jpg' }, headers);
    const job = await api.job('once.test');
    await end(job, C2PA_REPORT);
    assert.equal(await (await first).text(), C2PA_REPORT);
    const second = await post('c2pa', { url: 'https://once.test/a.jpg' }, headers);
    assert.deepEqual([await second.text(), second.headers.get('x-request-id')], [C2PA_REPORT, job.metadata.name]);
    const other = await post('mediastreamvalidator', { url: 'https://once.test/a.jpg' }, headers);
    assert.deepEqual(
      [other.status, await other.json()],
      [400, { error: 'Idempotency-Key: was used with another body' }],
    );
  });

  it('is 404 if the origin is unreachable, 200 with success:false if the tool fails', async () => {
    const failed = {
      success: false,
      failure: 'origin-unreachable',
      output: null,
      error: 'the origin answered 404 (exit code 1)',
    } as const;
    for (const [change, status, told] of [
      [failed, 404, { error: failed.error, code: 'origin-unreachable' }],
      [
        { ...failed, failure: 'failed', error: 'not a media file (exit code 1)' },
        200,
        { success: false, error: 'not a media file (exit code 1)', code: 'failed' },
      ],
    ] as const) {
      const answering = call('c2pa?url=https://fails.test/a.jpg');
      const job = await api.job('fails.test');
      await api.end(job.metadata.name, {
        result: { tools: [tool('c2pa', '', change)], ioUsage: 0 },
        asked: [{ name: 'c2pa' }],
      });
      const response = await answering;
      assert.deepEqual([response.status, await response.json()], [status, told]);
    }
  });
});

describe('an endpoint of a tool that the cluster lacks', function () {
  this.timeout(60_000);
  it('returns an error that says so', async () => {
    const api = await startApi();
    try {
      const response = await fetch(`${api.url}/v1/probe/c2pa?url=https://x.test/a.jpg`, {
        headers: { Authorization: `Bearer ${api.token}` },
      });
      assert.deepEqual(
        [response.status, await response.json()],
        [500, { error: 'c2pa: no version is ready in this cluster' }],
      );
    } finally {
      await api.stop();
    }
  });
});
