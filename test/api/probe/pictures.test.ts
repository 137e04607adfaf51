/** Pictures of content checks through the API: asked for, read back, and in no other answer. */
import assert from 'node:assert/strict';
import { PICTURES, QUIET } from '../../qc/reports.ts';
import type { TextBody } from '../../result/text_body.ts';
import { addTool } from '../add_tool.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';

describe('pictures of content checks', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
    await addTool(api, 'qc', '7.1');
  });
  after(() => api.stop());

  const headers = () => ({ Authorization: `Bearer ${api.token}` });
  const read = async (id: string) => {
    const response = await fetch(`${api.url}/v1/probe/${id}/pictures`, { headers: headers() });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  };
  let hosts = 0;
  /** A request that has ended with this. */
  async function ended(pictures: unknown, { asked = true } = {}): Promise<{ id: string; answer: string }> {
    const host = `pictures-${++hosts}.test`;
    const answering = api.get(`url=https://${host}/a.mp4&qc[enabled]=true&only=qc&qc[pictures]=${asked}`);
    const { metadata, spec } = await api.job(host);
    const options = spec.tools!.find(({ name }) => name === 'qc')!.options;
    assert.deepEqual(options, asked ? { pictures: 'true' } : undefined);
    const output = typeof pictures === 'string' ? pictures : JSON.stringify(pictures);
    const result: TextBody = {
      tools: [tool('ffprobe', '{}'), tool('qc', JSON.stringify({ ...QUIET, pictures: 3 }))],
      ...(pictures === undefined ? {} : { pictures: { output } }),
      ioUsage: 9,
    };
    await api.end(metadata.name, { result, asked: [{ name: 'ffprobe' }, { name: 'qc' }] });
    return { id: metadata.name, answer: await (await answering).text() };
  }

  it('are read back, and no other answer has them', async () => {
    const { id, answer } = await ended(PICTURES);
    assert.deepEqual(await read(id), { status: 200, json: { success: true, request_id: id, ...PICTURES } });
    assert.match(answer, /"pictures":3/);
    const { jpeg } = PICTURES.video!.list[0]!;
    assert.ok(!answer.includes(jpeg));
    for (const path of [`v1/probe/${id}`, `frontend/api/v1/media/log/${id}`]) {
      const again = await fetch(`${api.url}/${path}`, { headers: headers() });
      assert.deepEqual([again.status, (await again.text()).includes(jpeg)], [200, false], path);
    }
    const report = await fetch(`${api.url}/frontend/api/v1/media/log/${id}/report`, { headers: headers() });
    assert.ok((await report.text()).includes(`base64,${jpeg}`));
  });

  for (const [what, pictures, error, asked] of [
    ['were not asked for', undefined, 'no pictures were requested', false],
    ['were not kept', undefined, 'the runner made no pictures', true],
    ['are of another form', { ...PICTURES, audio: [{ stream: '<b>' }] }, 'the pictures cannot be read', true],
    [
      'are no JPEG',
      { ...PICTURES, video: { ...PICTURES.video, list: [{ at: 0, jpeg: 'PHN2Zz4=' }] } },
      'the pictures cannot be read',
      true,
    ],
    ['are too long', { ...PICTURES, more: 'x'.repeat(300_000) }, 'the pictures cannot be read', true],
  ] as const)
    it(`that ${what} are 404 with the reason`, async () => {
      const { id } = await ended(pictures, { asked });
      assert.deepEqual(await read(id), { status: 404, json: { error } });
    });

  it('end with the result', async () => {
    const { id } = await ended(PICTURES);
    await api.stored.sql('delete from envelopes where id = $1', [id]);
    assert.deepEqual(await read(id), { status: 404, json: { error: 'the result has expired' } });
  });
});
