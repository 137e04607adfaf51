/** What the files of a batch are: counted, shown with each item, and asked for. */
import assert from 'node:assert/strict';
import type { Facets } from '../../../src/media/policy/facets.ts';
import { itemPage, itemPages } from '../../../src/service/api/batch/item_pages.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';
import { batchesOf, type BatchAnswer } from './fixture.ts';

type Summed = BatchAnswer & { summary: Record<string, object[]> };

describe('facets of a batch', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  let batches: ReturnType<typeof batchesOf>;
  let id: string;
  const ran = { name: 'ffprobe', version: '7.0', success: true, durationMs: 1, usageMs: 1 } as const;
  const files: Facets[] = [
    { container: ['matroska'], video_codec: ['hevc'], audio_codec: ['aac', 'ac3'], hdr: ['HDR10', 'Dolby Vision'] },
    { container: ['matroska'], video_codec: ['h264'], hdr: ['SDR'], rule: ['fail: bitrate', 'warn: a, b'] },
    { container: ['mp4'], video_codec: ['hevc'] },
  ];

  before(async () => {
    api = await startApi();
    batches = batchesOf(api);
    ({ id } = await batches.create({ items: files.map((_, n) => `https://films.test/${n}.mkv`) }));
    await batches.run(id, 'films.test', async ({ metadata: { name } }) => {
      const [row] = await api.stored.sql<{ display: string }>('select display from requests where id = $1', [name]);
      const facets = files[Number(/(\d)\.mkv/.exec(row!.display)![1])]!;
      await api.end(name, {
        result: { tools: [tool('ffprobe', '{}')], ioUsage: 10 },
        asked: [{ name: 'ffprobe' }],
        close: { tools: [{ ...ran, facets }] },
      });
    });
  });
  after(() => api.stop());

  it('are counted by value, the commonest first', async () => {
    const { summary } = (await batches.read(id)) as Summed;
    const one = (value: string) => ({ value, count: 1 });
    assert.deepEqual(summary, {
      container: [{ value: 'matroska', count: 2 }, one('mp4')],
      video_codec: [{ value: 'hevc', count: 2 }, one('h264')],
      audio_codec: [one('aac'), one('ac3')],
      hdr: [one('Dolby Vision'), one('HDR10'), one('SDR')],
      policy: [],
      rule: [one('fail: bitrate'), one('warn: a, b')],
    });
  });

  it('lead to the items that have them', async () => {
    for (const [query, found] of [
      ['container=matroska', [0, 1]],
      ['video_codec=hevc&container=mp4', [2]],
      ['hdr=Dolby+Vision&state=success', [0]],
      ['rule=fail%3A+bitrate', [1]],
      ['rule=bitrate', []],
      ['audio_codec=ac3&state=error', []],
    ] as const)
      assert.deepEqual(
        (await batches.items(id, query)).map(({ n }) => n),
        found,
        query,
      );
  });

  it('are shown with each item, also in files', async () => {
    const [first, second] = (await batches.items(id)) as unknown as Record<string, unknown>[];
    const { container, audio_codec: audio, hdr, rule } = first!;
    assert.deepEqual([container, audio, hdr, rule], ['matroska', 'aac; ac3', 'HDR10; Dolby Vision', null]);
    assert.equal(second!['rule'], 'fail: bitrate; warn: a, b');
    const csv = await (await batches.call(`/${id}/results?format=csv&video_codec=hevc`)).text();
    const [head, ...lines] = csv.trim().split('\n');
    assert.match(head!, /,container,video_codec,audio_codec,hdr,rule$/);
    assert.deepEqual(
      lines.map((line) => line.split(',').slice(-5)),
      [
        ['matroska', 'hevc', 'aac; ac3', 'HDR10; Dolby Vision', ''],
        ['mp4', 'hevc', '', '', ''],
      ],
    );
  });

  it('that few of many items have are looked for in pieces', async () => {
    await api.stored.sql(
      `insert into batch_items (batch_id, created_at, n, host, display, state, facets)
        select id, created_at, n, 1, '', 'success', case when n = 119999 then '{"hdr": ["PQ"]}'::jsonb end
          from batches, generate_series(3, 119999) n where id = $1`,
      [id],
    );
    const batch = { id, items: 120_000 };
    const paid: number[] = [];
    const search = { facets: { hdr: 'PQ' }, pace: (ms: number) => void paid.push(ms) };
    const first = await itemPage(api.stored, batch, { after: -1, limit: 10, search });
    assert.deepEqual(first, { items: [], next: 49_999 });
    const last = await itemPage(api.stored, batch, { after: 99_999, limit: 10, search });
    assert.deepEqual([last.items.map(({ n }) => n), last.next], [[119_999], null]);
    const pages: number[] = [];
    for await (const { length } of itemPages(api.stored, batch, { search })) pages.push(length);
    assert.deepEqual(pages, [0, 0, 1]);
    assert.equal(paid.filter((ms) => ms > 0).length, 5, 'the account pays for each piece');
  });
});
