import assert from 'node:assert/strict';
import {
  statisticsQueue,
  statisticsRequests,
  statisticsSources,
  statisticsSummary,
  statisticsUsage,
} from '../../../src/service/api/records/statistics_endpoints.ts';
import { uuidv7 } from '../../../src/platform/store/uuid.ts';
import type { CloseInput, OpenInput } from '../../../src/platform/store/records.ts';
import { aCloseInput, anOpenInput } from '../../store/fixture.ts';
import { startRecord, type RecordFixture } from './record_fixture.ts';

const at = (text: string) => Date.parse(text);

describe('management: statistics', function () {
  this.timeout(60_000);
  let fixture: RecordFixture;
  let owner: { userId: number; tokenId: number; token: string };
  let second: { tokenId: number; token: string };
  let sub: typeof owner;
  let stranger: typeof owner;
  let admin: typeof owner;

  async function ended(
    time: number,
    open: Partial<OpenInput> = {},
    close: Partial<CloseInput> & { queued?: number } = {},
  ): Promise<void> {
    const { queued = 10, ...rest } = close;
    const opened = anOpenInput(fixture.stored.store, {
      id: uuidv7(time),
      submittedAt: new Date(time),
      userId: owner.userId,
      tokenId: owner.tokenId,
      ...open,
    });
    await fixture.stored.store.openRequest(opened);
    await fixture.stored.store.closeRequest(
      aCloseInput(opened, { body: null, startedAt: new Date(time + queued), ...rest }),
    );
  }
  const ask = async (path: string, who: { token: string } = owner) => {
    const { status, body } = await fixture.get(`statistics/${path}`, who.token);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  const times = (body: any, name = 'request-count') =>
    body['users-usage'].flatMap((user: any) =>
      user['aggregated-usage'].map((one: any) => [one['aggregation-time'], one.resources[name]]),
    );

  before(async () => {
    fixture = await startRecord([
      statisticsUsage,
      statisticsQueue,
      statisticsRequests,
      statisticsSources,
      statisticsSummary,
    ]);
    owner = await fixture.newUser();
    second = await fixture.newToken(owner.userId);
    sub = await fixture.newUser({ role: 'sub', parent: owner.userId });
    stranger = await fixture.newUser();
    admin = await fixture.newUser({ role: 'admin' });
    // The turn of an ISO year: 2025-12-29 is the Monday of the first week of 2026.
    await ended(at('2025-12-28T23:59:59.999Z'), { scheme: 'hls' }, { queued: 100, ioBytes: 1 });
    await ended(
      at('2025-12-29T00:00:00Z'),
      { kind: 'msv', scheme: 'hls' },
      { state: 'with-errors', queued: 200, ioBytes: 2 },
    );
    await ended(
      at('2026-01-01T00:00:00Z'),
      { tokenId: second.tokenId, scheme: 's3' },
      { state: 'error', status: 429, reason: 'QueueTimeout', queued: 60_000, ioBytes: 0, tools: [] },
    );
    await ended(at('2026-01-01T00:00:01.500Z'), { scheme: 'rtmps' }, { queued: 0, ioBytes: 1000 });
    await ended(
      at('2026-01-01T00:01:00Z'),
      { userId: sub.userId, tokenId: sub.tokenId, kind: 'c2pa', scheme: 'dash' },
      { ioBytes: 5 },
    );
    await ended(at('2026-01-01T00:00:30Z'), { userId: stranger.userId, tokenId: stranger.tokenId }, {});
    await fixture.stored.store.openRequest(
      anOpenInput(fixture.stored.store, {
        id: uuidv7(at('2026-01-01T00:00:02Z')),
        submittedAt: new Date('2026-01-01T00:00:02Z'),
        userId: owner.userId,
        tokenId: owner.tokenId,
      }),
    );
  });
  after(() => fixture.stop());

  const RANGE = 'date[from]=2025-12-01T00:00:00Z&date[to]=2026-02-01T00:00:00Z';
  const DAY = 'date[from]=2026-01-01T00:00:00Z&date[to]=2026-01-02T00:00:00Z';

  for (const folded of ['as they ended', 'folded']) {
    describe(folded, () => {
      before(async () => {
        if (folded === 'folded') assert.ok((await fixture.stored.store.foldUsage()) > 0);
      });

      for (const [aggregation, expected] of [
        ['no-aggregation', [['2025-12-01T00:00:00.000Z', 4]]],
        [
          'yearly',
          [
            ['2025-01-01T00:00:00.000Z', 2],
            ['2026-01-01T00:00:00.000Z', 2],
          ],
        ],
        [
          'monthly',
          [
            ['2025-12-01T00:00:00.000Z', 2],
            ['2026-01-01T00:00:00.000Z', 2],
          ],
        ],
        [
          'weekly',
          [
            ['2025-12-22T00:00:00.000Z', 1],
            ['2025-12-29T00:00:00.000Z', 3],
          ],
        ],
        [
          'daily',
          [
            ['2025-12-28T00:00:00.000Z', 1],
            ['2025-12-29T00:00:00.000Z', 1],
            ['2026-01-01T00:00:00.000Z', 2],
          ],
        ],
        [
          'hourly',
          [
            ['2025-12-28T23:00:00.000Z', 1],
            ['2025-12-29T00:00:00.000Z', 1],
            ['2026-01-01T00:00:00.000Z', 2],
          ],
        ],
      ] as const) {
        it(`${aggregation}: only buckets with data, each at its start`, async () => {
          const body = await ask(`usage?${RANGE}&aggregation=${aggregation}&user-id=${owner.userId}`);
          assert.deepEqual(times(body), expected);
          assert.deepEqual(
            [body.aggregation, body.period],
            [aggregation, { from: '2025-12-01T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z' }],
          );
        });
      }

      it('by minute and by second', async () => {
        assert.deepEqual(times(await ask(`usage?${DAY}&aggregation=minutely`)), [
          ['2026-01-01T00:00:00.000Z', 2],
          ['2026-01-01T00:01:00.000Z', 1],
        ]);
        assert.deepEqual(times(await ask(`usage?${DAY}&aggregation=secondly`)), [
          ['2026-01-01T00:00:00.000Z', 1],
          ['2026-01-01T00:00:01.000Z', 1],
          ['2026-01-01T00:01:00.000Z', 1],
        ]);
      });

      it('each statistic has its resource names', async () => {
        const of = async (path: string) =>
          (await ask(`${path}?${RANGE}&aggregation=no-aggregation&user-id=${owner.userId}`))['users-usage'];
        const one = (resources: Record<string, number>) => [
          {
            'user-id': owner.userId,
            'aggregated-usage': [{ 'aggregation-time': '2025-12-01T00:00:00.000Z', resources }],
          },
        ];
        assert.deepEqual(
          await of('usage'),
          one({
            'request-count': 4,
            'processing-time': 123,
            'data-processed': 1003,
            'queue-time': 60_300,
            'decoded-seconds': 0,
          }),
        );
        assert.deepEqual(
          await of('requests'),
          one({ file: 3, msv: 1, c2pa: 0, compare: 0, cached: 0, success: 2, 'with-errors': 1, error: 1 }),
        );
        assert.deepEqual(
          await of('sources'),
          one({ hls: 2, dash: 0, http: 0, https: 0, s3: 1, ftp: 0, rtmp: 1, rtsp: 0, srt: 0 }),
        );
        const [queue] = await of('queue');
        const { 'queue-time-p95': p95, ...rest } = queue['aggregated-usage'][0].resources;
        assert.deepEqual(rest, {
          'request-count': 4,
          'queue-time-average': 15_075,
          'queue-time-maximum': 60_000,
          'timed-out': 1,
        });
        assert.ok(Math.abs(p95 - 60_000) <= 60_000 * 0.091, String(p95));
      });

      it('from is inclusive, to is exclusive, even within a minute', async () => {
        const count = async (from: string, to: string) =>
          times(
            await ask(`usage?date[from]=${from}&date[to]=${to}&aggregation=no-aggregation&user-id=${owner.userId}`),
          )[0]?.[1] ?? 0;
        assert.equal(await count('2026-01-01T00:00:00Z', '2026-01-01T00:00:01.500Z'), 1);
        assert.equal(await count('2026-01-01T00:00:00.001Z', '2026-01-01T00:00:01.501Z'), 1);
        assert.equal(await count('2026-01-01T00:00:00.000Z', '2026-01-01T00:00:01.501Z'), 2);
        assert.equal(await count('2025-12-28T23:59:59.999Z', '2026-01-01T00:00:00.001Z'), 3);
        assert.equal(await count('2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'), 0);
      });

      it('default to the caller and their sub-users; by token; by user', async () => {
        assert.deepEqual(
          (await ask(`usage?${RANGE}`))['users-usage'].map((user: any) => user['user-id']),
          [owner.userId, sub.userId],
        );
        assert.deepEqual(
          (await ask(`usage?${RANGE}`, sub))['users-usage'].map((user: any) => user['user-id']),
          [sub.userId],
        );
        assert.deepEqual(times(await ask(`usage?${RANGE}&token-id=${second.tokenId}&aggregation=yearly`)), [
          ['2026-01-01T00:00:00.000Z', 1],
        ]);
        assert.deepEqual(
          times(await ask(`usage?${RANGE}&token-id=${second.tokenId}&token-id=${sub.tokenId}&aggregation=yearly`)),
          [
            ['2026-01-01T00:00:00.000Z', 1],
            ['2026-01-01T00:00:00.000Z', 1],
          ],
        );
        assert.deepEqual(times(await ask(`usage?${DAY}&token-id=${second.tokenId}&aggregation=secondly`)), [
          ['2026-01-01T00:00:00.000Z', 1],
        ]);
        assert.deepEqual(times(await ask(`usage?${RANGE}&aggregation=yearly`, admin)), []);
        assert.deepEqual(times(await ask(`usage?${RANGE}&aggregation=yearly&user-id=${stranger.userId}`, admin)), [
          ['2026-01-01T00:00:00.000Z', 1],
        ]);
      });

      it('summarises a month, a year, and a period without usage', async () => {
        const january = await ask(`summary?month=1&year=2026`);
        assert.deepEqual(january.period, { from: '2026-01-01T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z' });
        assert.deepEqual(
          january['users-usage'].map((user: any) => [user['user-id'], user.resources.map((one: any) => one.value)]),
          [
            [owner.userId, [2, 41, 1000, 60_000, 0]],
            [sub.userId, [1, 41, 5, 10, 0]],
          ],
        );
        assert.deepEqual(january['users-usage'][0].resources[1], {
          name: 'processing-time',
          title: 'Processing time',
          value: 41,
          'value-type': 'ms',
          amount: 0,
          price: 0,
        });
        assert.deepEqual(
          (await ask(`summary?year=2025&user-id=${owner.userId}`))['users-usage'][0].resources[0].value,
          2,
        );
        assert.deepEqual(
          (await ask(`summary?year=2024`))['users-usage'].map((user: any) => user.resources[0].value),
          [0, 0],
        );
      });
    });
  }

  for (const path of ['usage', 'queue', 'requests', 'sources', 'summary']) {
    it(`${path}: ids of another account are not found`, async () => {
      for (const [who, filter] of [
        [owner, `user-id=${stranger.userId}`],
        [owner, `user-id=${owner.userId}&user-id=${stranger.userId}`],
        [sub, `user-id=${owner.userId}`],
        [admin, 'user-id=999999'],
      ] as const) {
        const { status, body } = await fixture.get(`statistics/${path}?${filter}`, who.token);
        assert.deepEqual([status, body.code], [404, 40400]);
      }
      if (path !== 'summary')
        assert.equal((await fixture.get(`statistics/${path}?token-id=${stranger.tokenId}`, owner.token)).status, 404);
    });
  }

  for (const [query, field] of [
    ['usage?aggregation=secondly&date[from]=2026-01-01T00:00:00Z&date[to]=2026-01-02T00:00:00.001Z', 'aggregation'],
    ['queue?aggregation=minutely&date[from]=2026-01-01T00:00:00Z&date[to]=2026-02-01T00:00:00.001Z', 'aggregation'],
    ['sources?aggregation=hourly&date[from]=2026-01-01T00:00:00Z&date[to]=2027-01-02T00:00:00.001Z', 'aggregation'],
    ['usage?aggregation=secondly', 'aggregation'],
    ['usage?aggregation=fortnightly', 'aggregation'],
    ['usage?date[from]=2026-02-02&date[to]=2026-02-01', 'date.from'],
    ['usage?date[from]=x', 'date.from'],
    ['usage?dates=1', 'dates'],
    ['usage?user-id=x', 'user-id'],
    ['summary?month=13', 'month'],
    ['summary?month=0', 'month'],
    ['summary?year=99', 'year'],
    ['summary?aggregation=daily', 'aggregation'],
  ] as const) {
    it(`refuses ${query}`, async () => {
      const { status, body } = await fixture.get(`statistics/${query}`, owner.token);
      assert.deepEqual([status, body.code], [400, 40000]);
      assert.match(body.error, new RegExp(String.raw`^${field.replace('.', String.raw`\.`)}`));
    });
  }

  it('the maximum range is accepted: 24 hours by second, 31 days by minute, 366 days by hour', async () => {
    await ask(`usage?aggregation=secondly&${DAY}`);
    await ask('usage?aggregation=minutely&date[from]=2026-01-01T00:00:00Z&date[to]=2026-02-01T00:00:00Z');
    await ask('sources?aggregation=hourly&date[from]=2026-01-01T00:00:00Z&date[to]=2027-01-02T00:00:00Z');
  });

  it('default to the last month until now, by day', async () => {
    const body = await ask('usage');
    assert.equal(body.aggregation, 'daily');
    assert.ok(Math.abs(at(body.period.to) - fixture.stored.store.clock.now()) < 60_000);
    const days = (at(body.period.to) - at(body.period.from)) / 86_400_000;
    assert.ok(days >= 28 && days <= 31, String(days));
  });
});
