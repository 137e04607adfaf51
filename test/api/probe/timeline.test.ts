/** A timeline through the API: asked for, in the job, in the envelope, and read back. */
import assert from 'node:assert/strict';
import type { Timeline } from '../../../src/media/timeline/schema.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';
import type { TextBody } from '../../result/text_body.ts';

const TIMELINE: Timeline = {
  version: '7.0',
  streams_left_out: 0,
  streams: [
    {
      index: 0,
      type: 'video',
      codec: 'h264',
      start: 0,
      end: 1,
      packets: 25,
      bytes: 1_000,
      untimed: 0,
      step: 0.125,
      first: 0,
      bits: [1_000, 7_000],
      counts: [3, 22],
      keys: { count: 1, every: false, times: [0] },
      gops: null,
      gaps: { count: 0, list: [] },
      jumps: { count: 1, list: [[0.5, -0.1]] },
    },
  ],
};
const made = (
  output: unknown,
  change: Partial<NonNullable<TextBody['timeline']>> = {},
): NonNullable<TextBody['timeline']> => ({
  success: true,
  durationMs: 812.4,
  usageMs: 811.6,
  output: typeof output === 'string' ? output : JSON.stringify(output),
  ...change,
});

describe('timelines', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  const read = async (id: string, token = api.token) => {
    const response = await fetch(`${api.url}/v1/probe/${id}/timeline`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  };
  let hosts = 0;
  /** A request that has ended with this result. */
  async function ended(
    timeline: NonNullable<TextBody['timeline']> | undefined,
    { asked = true, large = false } = {},
  ): Promise<string> {
    const host = `timeline-${++hosts}.test`;
    const answering = api.get(`url=https://${host}/a.mp4&only=ffprobe&timeline[enabled]=${asked}`);
    const { name: id } = (await api.job(host)).metadata;
    const output = JSON.stringify({ format: large ? 'x'.repeat(2_000_000) : 'x' });
    const result: TextBody = { tools: [tool('ffprobe', output)], ...(timeline ? { timeline } : {}), ioUsage: 9 };
    await api.end(id, { result, asked: [{ name: 'ffprobe' }], inline: !large });
    await answering;
    return id;
  }

  it('is in the job, and in the envelope as what it cost', async () => {
    const answering = api.post({ url: 'https://asked.test/a.mp4', timeline: { enabled: true }, only: 'ffprobe' });
    const job = await api.job('asked.test');
    assert.deepEqual(job.spec.timeline, { enabled: true });
    assert.equal((await read(job.metadata.name)).status, 202);
    await api.end(job.metadata.name, {
      result: { tools: [tool('ffprobe', '{}')], timeline: made(TIMELINE), ioUsage: 9 },
      asked: [{ name: 'ffprobe' }],
    });
    const envelope = (await (await answering).json()) as Record<string, unknown>;
    assert.deepEqual(Object.keys(envelope), ['success', 'metadata', 'ffprobe', 'timeline']);
    assert.deepEqual(envelope['timeline'], { success: true, duration: 812, usage: 812 });
  });

  it('runs ffprobe, at its version, where the answer does not show it', async () => {
    const answering = api.post({
      url: 'https://hidden.test/a.mp4',
      timeline: { enabled: true },
      only: 'mediainfo',
      ffprobe: { version: '3.3' },
    });
    const job = await api.job('hidden.test');
    assert.deepEqual(
      job.spec.tools?.map(({ name, version }) => [name, version]),
      [
        ['ffprobe', '3.3'],
        ['mediainfo', '24.06'],
      ],
    );
    await api.end(job.metadata.name, {
      result: { tools: [tool('ffprobe', '{}'), tool('mediainfo', '{}')], ioUsage: 9 },
    });
    assert.deepEqual(Object.keys((await (await answering).json()) as object), ['success', 'metadata', 'mediainfo']);
  });

  it('is not in the job unless it is asked for, and changes no key of a request', async () => {
    const answers = [];
    for (const fields of [{}, { timeline: { enabled: false } }]) {
      answers.push(
        api.post(
          { url: 'https://plain.test/a.mp4', only: 'ffprobe', ...fields },
          { headers: { 'Idempotency-Key': 'plain' } },
        ),
      );
    }
    const job = await api.job('plain.test');
    assert.equal(job.spec.timeline, undefined);
    await api.end(job.metadata.name, {
      result: { tools: [tool('ffprobe', '{}')], ioUsage: 9 },
      asked: [{ name: 'ffprobe' }],
    });
    const ids = (await Promise.all(answers)).map(({ headers }) => headers.get('x-request-id'));
    assert.deepEqual(ids, [job.metadata.name, job.metadata.name]);
  });

  for (const large of [false, true]) {
    it(`is read back beside ${large ? 'a large' : 'a small'} output`, async () => {
      const id = await ended(made(TIMELINE), { large });
      assert.deepEqual(await read(id.toUpperCase()), {
        status: 200,
        json: { success: true, request_id: id, ...TIMELINE },
      });
    });
  }

  it('that is long itself is read back', async () => {
    const [stream] = TIMELINE.streams;
    const streams = Array.from({ length: 64 }, (_, index) => ({
      ...stream!,
      index,
      bits: Array.from({ length: 2_000 }, (__, at) => 1_000_000 + at),
      counts: Array.from({ length: 2_000 }, () => 25),
    }));
    const long = { ...TIMELINE, until: 3.5, cut: 'ffprobe did not finish within 1000 ms', streams };
    const id = await ended(made(long));
    assert.deepEqual(await read(id), { status: 200, json: { success: true, request_id: id, ...long } });
  });

  for (const [what, timeline, error] of [
    ['was not made by an older runner', undefined, 'the runner made no timeline'],
    [
      'failed',
      made('', { success: false, error: 'Invalid data (exit code 1)', output: null }),
      'the timeline failed: Invalid data (exit code 1)',
    ],
    ['is not valid JSON', made('{"version"'), 'the timeline cannot be read'],
    ['is of another form', made({ ...TIMELINE, streams: [{ index: '<script>' }] }), 'the timeline cannot be read'],
    ['is none', made('null'), 'the timeline cannot be read'],
  ] as const) {
    it(`that ${what} is 404 with the reason`, async () =>
      assert.deepEqual(await read(await ended(timeline)), { status: 404, json: { error } }));
  }

  it('that was not requested, has expired, or belongs to somebody else is 404', async () => {
    const plain = await ended(undefined, { asked: false });
    assert.deepEqual(await read(plain), { status: 404, json: { error: 'no timeline was requested' } });

    const id = await ended(made(TIMELINE));
    const [other] = await api.stored.sql<{ id: string }>(
      `insert into users (email, status, role, permissions) values ('timeline@example.org', ` +
        `'active', 'user', array['read:media']) returning id`,
    );
    const theirs = await api.newToken();
    await api.stored.sql('update tokens set user_id = $1 where id = $2', [other!.id, theirs.id]);
    for (const path of [id, 'none'])
      assert.deepEqual(await read(path, theirs.token), { status: 404, json: { error: 'not found' } });

    await api.stored.sql('delete from envelopes where id = $1', [id]);
    assert.deepEqual(await read(id), { status: 404, json: { error: 'the result has expired' } });
  });

  it('of a request that ended without a result is 404 with its error', async () => {
    const answering = api.get('url=https://lost.test/a.mp4&timeline[enabled]=true');
    const { name: id } = (await api.job('lost.test')).metadata;
    await api.end(id, { close: { status: 429, reason: 'QueueTimeout', error: 'out of the queue' } });
    await answering;
    assert.deepEqual(await read(id), { status: 404, json: { error: 'no timeline: out of the queue' } });
  });
});
