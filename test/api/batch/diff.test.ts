/** The difference of two batches, on real servers; the test acts as the controller. */
import assert from 'node:assert/strict';
import type { BatchDiff } from '../../../src/api_types.ts';
import type { Outcome } from '../../../src/media/policy/types.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';
import { batchesOf } from './fixture.ts';

const HOST = 'diff.test';
/** One is longer than what is held of an address. */
const address = (name: string): string => `https://${HOST}/${name === 'lost' ? 'x'.repeat(300) : 'x'}/${name}.mp4`;

interface Ends {
  /** Undefined: it fails. */
  output?: string;
  version?: string;
  policy?: Outcome;
  inflatedBytes?: number;
}
const film = (width: number): string =>
  JSON.stringify({
    streams: [{ index: 0, codec_type: 'video', codec_name: 'h264', width, height: 1080 }],
    format: { format_name: 'mov,mp4,m4a,3gp,3g2,mj2' },
  });

describe('GET /v1/batch/{id}/diff', function () {
  this.timeout(120_000);
  let api: ApiFixture;
  let batches: ReturnType<typeof batchesOf>;
  before(async () => {
    api = await startApi();
    batches = batchesOf(api);
  });
  after(() => api.stop());

  /** A batch whose items ended so, by name. */
  async function ended(ends: Record<string, Ends>): Promise<string> {
    const { id } = await batches.create({ items: Object.keys(ends).map(address), tries: 1 });
    await batches.run(id, HOST, ({ metadata, spec }) => {
      const { output, version = '7.0', inflatedBytes } = ends[/([a-z]+)\.mp4/.exec(spec.source.display!)![1]!]!;
      if (output === undefined)
        return batches.failure(metadata.name, {
          state: 'error',
          status: 404,
          reason: 'OriginUnreachable',
          error: 'gone',
        });
      return api.end(metadata.name, {
        result: { tools: [tool('ffprobe', output, { version })], ioUsage: 1 },
        asked: [{ name: 'ffprobe', version }],
        close: { inflatedBytes },
      });
    });
    // Of a request that names no policy, none is recorded.
    for (const [name, { policy }] of Object.entries(ends))
      await api.stored.sql('update batch_items set policy_outcome = $3 where batch_id = $1 and display = $2', [
        id,
        address(name),
        policy ?? null,
      ]);
    return id;
  }
  const ask = (id: string, query: string, token?: string) => batches.call(`/${id}/diff?${query}`, {}, token);
  async function diff(a: string, b: string, more = ''): Promise<BatchDiff> {
    const response = await ask(b, `against=${a}${more}`);
    assert.equal(response.status, 200, await response.clone().text());
    return (await response.json()) as BatchDiff;
  }

  /** Takes the account's half of the memory budget, and leaves as much. Returns what gives it back. */
  async function fill(left: number): Promise<() => void> {
    const { memory } = api.wired.deps;
    const [count, least] = [14, 64 * 1024];
    const inflatedBytes = Math.floor(((memory.totalBytes / 2 - left) / count - least) / 6);
    const want = { inflatedBytes, account: api.userId };
    const places = await Promise.all(Array.from({ length: count }, () => memory.reserve(want)));
    return () => places.forEach(({ release }) => release());
  }

  let before_: string;
  let after_: string;
  before(async () => {
    before_ = await ended({
      same: { output: film(1920) },
      wider: { output: film(1920), policy: 'pass' },
      larger: { output: film(1920) },
      lost: { output: film(1920) },
      text: { output: '{}' },
      gone: { output: film(1) },
    });
    after_ = await ended({
      same: { output: film(1920), version: '9.0' },
      wider: { output: film(1922), version: '9.0', policy: 'fail' },
      larger: { output: film(3840), version: '9.0' },
      lost: {},
      text: { output: '{}' },
      fresh: { output: film(1) },
    });
  });

  it('pairs, flips, and changed fields by the number of files', async () => {
    const found = await diff(before_, after_);
    assert.deepEqual(
      [found.a.id, found.b.id, found.pairs, found.only_in_a, found.only_in_b],
      [before_, after_, 5, 1, 1],
    );
    assert.deepEqual(
      found.states.map(({ from, to, count, items }) => [from, to, count, items.map(({ url }) => url)]),
      [['success', 'error', 1, [address('lost')]]],
    );
    assert.deepEqual(
      found.policy_outcomes.map(({ from, to, items: [first] }) => [from, to, first?.url]),
      [['pass', 'fail', address('wider')]],
    );
    const width = found.fields.find(({ path }) => path === 'video[].size.width');
    assert.deepEqual([width?.files, width?.tool, width?.change], [2, 'ffprobe', 'value']);
    const items = await batches.items(after_);
    assert.deepEqual(
      width!.examples.map(({ request_id: id, values }) => [items.find((item) => item.request_id === id)?.url, values]),
      [
        [address('wider'), { a: 1920, b: 1922 }],
        [address('larger'), { a: 1920, b: 3840 }],
      ],
    );
    assert.ok(found.fields.every(({ level }) => level === 'canonical'));
    const { comparisons, changed, unchanged } = found.summary;
    assert.deepEqual([comparisons, changed, unchanged, found.next], [3, 2, 1, null]);
    assert.deepEqual(found.not_compared, [
      { why: 'no-result', count: 1 },
      { why: 'no-fields', count: 1 },
    ]);
  });

  it('after: the fields of further pairs alone, and counts of all', async () => {
    const found = await diff(before_, after_, '&after=1');
    assert.deepEqual([found.pairs, found.states.length, found.summary.comparisons], [5, 1, 1]);
  });

  it('without room for the items of both it is refused, and holds no place when it has ended', async () => {
    const { memory } = api.wired.deps;
    const release = await fill(0);
    const response = await ask(after_, `against=${before_}&after=1000`);
    release();
    const { error } = (await response.json()) as { error: string };
    assert.deepEqual([response.status, error], [503, 'too much is being read; try again later']);
    await diff(before_, after_);
    assert.equal(memory.used(), 0);
  });

  it('where the account has no room for a result, the answer has what comes before it, and next', async () => {
    // Of unknown size: it is charged with that of the largest.
    const large = { output: film(1) };
    const [a, b] = [
      await ended({ small: { output: film(1), inflatedBytes: 1_000 }, large }),
      await ended({ small: { output: film(2), inflatedBytes: 1_000 }, large }),
    ];
    const release = await fill(500_000);
    const [first, second] = [await ask(b, `against=${a}`), await ask(b, `against=${a}&after=0`)];
    release();
    const found = (await first.json()) as BatchDiff;
    assert.deepEqual([found.summary.comparisons, found.summary.changed, found.next], [1, 1, 0]);
    assert.equal(second.status, 503);
    const rest = await diff(a, b, '&after=0');
    assert.deepEqual([rest.summary.comparisons, rest.next], [1, null]);
  });

  it('a result that is no longer kept is counted', async () => {
    await api.stored.sql('delete from envelopes where id in (select request_id from batch_items where batch_id = $1)', [
      before_,
    ]);
    const { summary, not_compared: not } = await diff(before_, after_);
    assert.deepEqual([summary.comparisons, not.find(({ why }) => why === 'expired')?.count], [0, 4]);
  });

  it('what cannot be compared is a 4xx', async () => {
    const { token } = await batches.account('diff');
    for (const [id, query, status, error, by] of [
      [after_, `against=${after_}`, 400, /^against: must be another batch$/],
      [after_, '', 400, /^against: is required$/],
      [after_, 'against=x', 400, /^against: /],
      [after_, `against=${before_}&after=-1`, 400, /^after: /],
      [after_, 'against=019a5f3e-8a00-7000-8000-000000000001', 404, /./],
      ['019a5f3e-8a00-7000-8000-000000000001', `against=${after_}`, 404, /./],
      [after_, `against=${before_}`, 404, /./, token],
    ] as const) {
      const response = await ask(id, query, by);
      assert.equal(response.status, status, query);
      assert.match(((await response.json()) as { error: string }).error, error);
    }
  });
});
