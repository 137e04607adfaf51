/** Content checks through the API: asked for, in the job, on record, and in the envelope. */
import assert from 'node:assert/strict';
import type { QcReport } from '../../../src/media/qc/schema.ts';
import { CHECKS } from '../../console/sample_answers.ts';
import { DAMAGE } from '../../qc/reports.ts';
import { addTool } from '../add_tool.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';

interface Section {
  success: boolean;
  duration: number;
  usage: number;
  error?: string;
  response: QcReport | null;
}
type Envelope = Record<string, unknown> & { qc: Section };
type Schema = Record<string, any>;

describe('content checks', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  let hosts = 0;
  const address = () => {
    const host = `qc-${++hosts}.test`;
    return { host, url: `https://${host}/a.mp4` };
  };
  const qc = (change = {}) => tool('qc', JSON.stringify(CHECKS), { version: '7.1', ...change });

  const post = (path: string, fields: object) =>
    fetch(`${api.url}/v1/probe/${path}`, {
      method: 'POST',
      body: JSON.stringify(fields),
      headers: { Authorization: `Bearer ${api.token}`, 'Content-Type': 'application/json' },
    });

  /** A request that has ended, with what was answered. */
  async function ended(fields: object, result = [tool('ffprobe', '{}'), qc()], path = 'file') {
    const { host, url } = address();
    const answering = post(path, { url, ...fields });
    const job = await api.job(host);
    await api.end(job.metadata.name, { result: { tools: result, ioUsage: 9 } });
    const response = await answering;
    return { id: job.metadata.name, job, status: response.status, json: (await response.json()) as Envelope };
  }

  async function logged(id: string): Promise<Record<string, string> & { request: string }> {
    const headers = { Authorization: `Bearer ${api.token}` };
    const response = await fetch(`${api.url}/frontend/api/v1/media/log/${id}`, { headers });
    assert.equal(response.status, 200);
    return (await response.json()) as Record<string, string> & { request: string };
  }

  it('are refused where no version of them is ready', async () => {
    for (const fields of [{ only: 'qc' }, { qc: { enabled: true } }]) {
      const response = await api.post({ url: address().url, ...fields });
      assert.equal(response.status, 500);
      assert.deepEqual(await response.json(), { error: 'qc: no version is ready in this cluster' });
    }
  });

  describe('where they are ready', () => {
    before(() => addTool(api, 'qc', '7.1'));

    it('are in the job after ffprobe, with the options that are no defaults as texts', async () => {
      const { job, json } = await ended({
        only: 'qc',
        timeout: 600_000,
        qc: { silence_min: 0.5, black_min: 2, timeout: 500_000 },
      });
      assert.deepEqual(
        job.spec.tools?.map(({ name, version, timeoutMs, options }) => [name, version, timeoutMs, options]),
        [
          ['ffprobe', '7.0', 60_000, undefined],
          ['qc', '7.1', 500_000, { silence_min: '0.5' }],
        ],
      );
      assert.deepEqual(Object.keys(json), ['success', 'metadata', 'qc'], 'ffprobe ran for them, and is not shown');
      assert.deepEqual(json.qc, { success: true, duration: 31, usage: 31, response: CHECKS });
    });

    describe('by /v1/probe/qc', () => {
      it('run with ffprobe alone, longer than other probes, and both are shown', async () => {
        const { job, json, status } = await ended({ qc: { silence_min: 0.5 } }, undefined, 'qc');
        assert.deepEqual(
          job.spec.tools?.map(({ name, timeoutMs, options }) => [name, timeoutMs, options]),
          [
            ['ffprobe', 60_000, undefined],
            ['qc', 650_000, { silence_min: '0.5' }],
          ],
        );
        assert.deepEqual([status, job.spec.kind, job.spec.timeoutMs], [200, 'file', 650_000]);
        assert.deepEqual(Object.keys(json), ['success', 'metadata', 'ffprobe', 'qc']);
        assert.deepEqual(json.qc.response, CHECKS);
      });

      it('run by GET, too', async () => {
        const { host, url } = address();
        const headers = { Authorization: `Bearer ${api.token}` };
        const answering = fetch(`${api.url}/v1/probe/qc?url=${url}&qc[black_min]=1`, { headers });
        const job = await api.job(host);
        assert.deepEqual(job.spec.tools?.[1]?.options, { black_min: '1' });
        await api.end(job.metadata.name, { result: { tools: [tool('ffprobe', '{}'), qc()], ioUsage: 9 } });
        assert.equal((await answering).status, 200);
      });

      for (const [fields, message] of [
        [{ mediainfo: { enabled: true } }, /^mediainfo: is unknown/],
        [{ only: 'ffprobe' }, /^only: is unknown/],
        [{ qc: { enabled: false } }, /^qc\.enabled: is unknown/],
        [{ qc: { black_pixel: 2 } }, /^qc\.black_pixel: must be at most 1/],
        [{ qc: { sha256: 'abc' } }, /^qc\.sha256: must be 64 hexadecimal digits/],
        [{ url: 'nonsense' }, /^url must begin/],
      ] as const)
        it(`are refused: ${JSON.stringify(fields)}`, async () => {
          const response = await post('qc', { url: address().url, ...fields });
          assert.equal(response.status, 400);
          assert.match(((await response.json()) as { error: string }).error, message);
        });
    });

    it('look for damage where a policy has a rule about it', async () => {
      const rules = [{ name: 'sums', tool: 'qc', path: 'integrity.checksums[*].wrong', 'at-most': 0 }];
      const { job } = await ended({ policy: { rules } });
      const checks = job.spec.tools?.find(({ name }) => name === 'qc');
      assert.deepEqual(checks?.options, { integrity: 'true' });
    });

    it('have a section beside those of the other tools', async () => {
      const { json } = await ended({ qc: { enabled: true }, mediainfo: { enabled: false } });
      assert.deepEqual(Object.keys(json), ['success', 'metadata', 'ffprobe', 'qc']);
      assert.equal(json.qc.response?.audio[0]?.loudness.integrated, -23.04);
    });

    it('that failed say why in their section, and the request has an answer', async () => {
      const broken = qc({ success: false, output: null, failure: 'failed', error: 'the source has no pictures' });
      const { status, json } = await ended({ qc: { enabled: true } }, [tool('ffprobe', '{}'), broken]);
      assert.deepEqual(
        [status, json['success'], json.qc.success, json.qc.error, json.qc.response],
        [200, true, false, 'the source has no pictures', null],
      );
    });

    it('are on record with their options and their output; a request without them has neither', async () => {
      const asked = await logged((await ended({ only: 'qc', qc: { freeze_noise: -50.5 } })).id);
      const { qc: options, ffprobe } = JSON.parse(asked.request) as Record<string, Record<string, unknown>>;
      assert.deepEqual([options!['freeze_noise'], options!['version'], options!['black_min']], [-50.5, 'latest', 2]);
      assert.equal(ffprobe!['version'], 'latest');
      assert.deepEqual(JSON.parse(asked['qc-response']!), CHECKS);
      assert.equal(asked['qc-response-type'], 'json');
      const plain = await logged((await ended({ qc: { silence_min: 5 } }, [tool('ffprobe', '{}')])).id);
      assert.equal('qc' in (JSON.parse(plain.request) as object), false);
      assert.equal('qc-response' in plain, false);
    });

    it('make another request of the same Idempotency-Key, unless they are off', async () => {
      const { host, url } = address();
      const send = (fields: object) =>
        api.post({ url, ...fields }, { headers: { 'Idempotency-Key': host, Prefer: 'respond-async' } });
      const first = await send({ qc: { enabled: true, silence_min: 1 } });
      const id = first.headers.get('x-request-id');
      assert.equal((await api.job(host)).metadata.name, id);
      const table: [fields: object, status: number][] = [
        [{ qc: { enabled: true, silence_min: 1 } }, 202],
        [{ qc: { enabled: true, silence_min: 1.0, black_min: 2 } }, 202],
        [{ qc: { enabled: true, silence_min: 2 } }, 400],
        [{ qc: { enabled: true } }, 400],
        [{ qc: { silence_min: 1 } }, 400],
        [{}, 400],
      ];
      for (const [fields, status] of table) {
        const response = await send(fields);
        assert.equal(response.status, status, JSON.stringify(fields));
        if (status === 202) assert.equal(response.headers.get('x-request-id'), id);
        else assert.deepEqual(await response.json(), { error: 'Idempotency-Key: was used with another body' });
      }
      const other = address();
      const off = (fields: object) =>
        api.post(
          { url: other.url, ...fields },
          { headers: { 'Idempotency-Key': other.host, Prefer: 'respond-async' } },
        );
      const ids = [];
      for (const fields of [{}, { qc: { enabled: false } }, { qc: { silence_min: 9 } }])
        ids.push((await off(fields)).headers.get('x-request-id'));
      assert.equal(new Set(ids).size, 1, 'what does not run makes no other request');
    });

    for (const [checks, message] of [
      [{ silence_noise: 1 }, /^qc\.silence_noise: must be at most 0/],
      [{ silence_noise: -121 }, /^qc\.silence_noise: must be at least -120/],
      [{ black_min: -1 }, /^qc\.black_min: must be at least 0/],
      [{ black_min: 86_401 }, /^qc\.black_min: must be at most 86400/],
      [{ black_pixel: 1.1 }, /^qc\.black_pixel: must be at most 1/],
      [{ freeze_min: 'long' }, /^qc\.freeze_min: must be a number/],
      [{ freeze_min: '2,metadata=mode=print' }, /^qc\.freeze_min: must be a number/],
      [{ silence_min: [1, 2] }, /^qc\.silence_min: must be a number/],
      [{ blackmin: 1 }, /^qc\.blackmin: .*black_min/],
      [{ version: '1.0' }, /^qc\.version: "1\.0" is not available; available: latest, 7\.1/],
      [{ enabled: 'perhaps' }, /^qc\.enabled: must be/],
      ['on', /^qc: must be an object/],
    ] as const)
      it(`are refused: ${JSON.stringify(checks)}`, async () => {
        const response = await api.post({
          url: address().url,
          qc: typeof checks === 'string' ? checks : { enabled: true, ...checks },
        });
        const { error } = (await response.json()) as { error: string };
        assert.equal(response.status, 400, error);
        assert.match(error, message);
      });
  });

  it('are described with the defaults and bounds that are checked, and their report', async () => {
    const { paths, components } = (await (await fetch(`${api.url}/openapi.json`)).json()) as Schema;
    const body = paths['/v1/probe/file'].post.requestBody.content['application/json'].schema;
    const { properties } = body.properties.qc as Schema;
    assert.deepEqual(Object.keys(properties), [
      'enabled',
      'version',
      'timeout',
      'black_min',
      'black_pixel',
      'freeze_min',
      'freeze_noise',
      'silence_min',
      'silence_noise',
      'phase_min',
      'letterbox_min',
      'test_bars_min',
      'test_tone_min',
      'pictures',
      'private_pictures',
      'integrity',
      'sha256',
      'md5',
    ]);
    const { description: _, ...noise } = properties.silence_noise;
    assert.deepEqual(noise, { type: 'number', minimum: -120, maximum: 0, default: -60 });
    assert.match(properties.enabled.description, /The whole source is read/);
    const { QcResult, QcReport: report, Envelope: envelope } = components.schemas;
    assert.ok(envelope.properties.qc && QcResult.properties.response);
    const { video, audio, ...rest } = { ...CHECKS, ...DAMAGE['errors'], pictures: 0 };
    assert.deepEqual(Object.keys(report.properties), Object.keys({ video, audio, tracks: null, ...rest }));
  });
});
