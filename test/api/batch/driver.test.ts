import assert from 'node:assert/strict';
import { PROBE_TOOLS } from '../../../src/platform/kube/client.ts';
import type { Driven } from '../../../src/platform/store/batches.ts';
import type { TokenRecord } from '../../../src/platform/store/records.ts';
import { SealError } from '../../../src/platform/seal/seal.ts';
import { StoreError } from '../../../src/platform/store/errors.ts';
import { progressOf } from '../../../src/service/api/batch/batch_endpoints.ts';
import { contenderOf, runsOf, whyStopped } from '../../../src/service/api/batch/driver.ts';
import { refusalOf } from '../../../src/service/api/batch/submit.ts';
import { ApiError, invalid, overQuota } from '../../../src/service/api/errors.ts';
import { createTool, startApi, type ApiFixture } from '../fixture.ts';
import { until } from '../../until.ts';
import { batchesOf, ONLY } from './fixture.ts';

const counts = { waiting: 5, running: 2, success: 3, 'with-errors': 0, error: 1, skipped: 0 };

describe('batch: whether it may go on', () => {
  const batch = { sealedKey: Buffer.alloc(1), requests: 4, ioBytes: 100, maxRequests: null, maxBytes: null, counts };
  const token = { userStatus: 'active', permissions: ['write:media'], expiresAt: null };
  for (const [what, change, ofToken, expected] of [
    ['with nothing against it', {}, {}, null],
    ['with requests left, which what runs may use up', { maxRequests: 5 }, {}, null],
    ['with as many requests as it may', { maxRequests: 4 }, {}, 'RequestBudget'],
    ['with bytes left', { maxBytes: 101 }, {}, null],
    ['with as many bytes as it may', { maxBytes: 100 }, {}, 'ByteBudget'],
    ['without its key, after an erasure', { sealedKey: null }, {}, 'TokenInactive'],
    ['with a suspended user', {}, { userStatus: 'suspended' }, 'TokenInactive'],
    ['without the permission', {}, { permissions: ['read:media'] }, 'TokenInactive'],
    ['with an expired token', {}, { expiresAt: new Date(1) }, 'TokenInactive'],
    ['with a token that expires later', {}, { expiresAt: new Date(3) }, null],
  ] as const)
    it(what, () =>
      assert.equal(whyStopped({ ...batch, ...change } as Driven, { ...token, ...ofToken } as TokenRecord, 2), expected),
    );
  it('with a revoked token', () => assert.equal(whyStopped(batch as Driven, undefined, 2), 'TokenInactive'));
});

describe('batch: what accounts leave to one another', () => {
  const share = (held: number[]): number => {
    const running = held.flatMap((count, account) =>
      Array.from({ length: count }, (_, at) => ({
        job: `${account} ${at}`,
        batch: `b${account}`,
        account,
        token: account,
        host: 1n,
      })),
    );
    const token = { rootUserId: 9, id: 9, limits: { accountConcurrency: null, concurrency: 1_000 } };
    const batch = { id: 'new', maxRequests: null, counts };
    return contenderOf(batch as Driven, token as TokenRecord, runsOf(running)).accountMost;
  };
  for (const [what, held, expected] of [
    ['with nothing running, all of it', [0], 200],
    ['what is left is the most of the next one', [100], 100],
    ['the more there are, the less each has', [67, 67], 66],
    ['with many there is still room for one more', Array.from({ length: 199 }, () => 1), 1],
  ] as const)
    it(what, () => assert.equal(share([...held]), expected));
});

describe('batch: what a refused request is to it', () => {
  for (const [what, error, expected] of [
    ['a quota', overQuota('request-count'), { outcome: 'stop', reason: 'QuotaExceeded' }],
    ['a version that is gone', invalid('ffprobe.version', 'x'), { outcome: 'stop', reason: 'ToolUnavailable' }],
    ['a tool that is gone', new ApiError('tool-unavailable'), { outcome: 'stop', reason: 'ToolUnavailable' }],
    ['a policy that is gone', invalid('policy', 'x'), { outcome: 'stop', reason: 'PolicyUnavailable' }],
    ['an option that is refused', invalid('ffprobe.of', 'x'), { outcome: 'stop', reason: 'InvalidRequest' }],
    ['a scheme that is refused', new ApiError('invalid-source'), { outcome: 'refused', status: 400, code: null }],
    [
      'an address that is refused',
      new ApiError('address-refused', { toolCode: 'refused' }),
      { outcome: 'refused', status: 400, code: 'refused' },
    ],
    ['a lost key', new SealError('seal-unknown-key', 'x'), { outcome: 'stop', reason: 'AddressesLost' }],
    ['a full queue', new ApiError('queue-full', { retryAfterS: 10 }), { outcome: 'no-room', afterMs: 10_000 }],
    ['too many objects', new ApiError('unavailable', { retryAfterS: 7 }), { outcome: 'no-room', afterMs: 7_000 }],
    ['a fault of ours', new ApiError('internal'), undefined],
    ['any other error', new Error('x'), undefined],
  ] as const)
    it(what, () => assert.deepEqual(refusalOf(error), expected));
});

describe('batch: its progress', () => {
  const created = { state: 'running', counts, createdAt: new Date(0), endedAt: null } as const;
  it('is what has ended a minute, and an estimate of the rest', () =>
    assert.deepEqual(progressOf(created, 120_000), { perMinute: 2, estimatedEnd: new Date(120_000 + 3.5 * 60_000) }));
  it('counts what is unchanged, and not what was skipped at its end', () => {
    const skipped = { ...counts, skipped: counts.skipped + 4 };
    assert.equal(progressOf({ ...created, counts: skipped }, 120_000).perMinute, 4);
    assert.equal(progressOf({ ...created, state: 'cancelling', counts: skipped }, 120_000).perMinute, 2);
  });
  it('has no estimate while nothing has ended, or it does not run', () => {
    const none = { ...counts, success: 0, error: 0 };
    assert.deepEqual(progressOf({ ...created, counts: none }, 1), { perMinute: null, estimatedEnd: null });
    assert.equal(progressOf({ ...created, state: 'paused' }, 1).estimatedEnd, null);
  });
});

describe('batch: a driver that is deposed', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  const drives = async (): Promise<boolean> =>
    (await api.wired.deps.metrics.registry.metrics()).includes('probeyard_api_batch_driver 1');

  it('begins nothing, and goes on when the lease is free again', async () => {
    const batches = batchesOf(api);
    await until('it drives', drives);
    await api.stored.sql(
      `update batch_driver set holder = gen_random_uuid(), epoch = epoch + 1, until = now() + interval '1 hour'`,
    );
    const { id } = await batches.create({ items: ['https://epoch.test/a.mp4', 'https://epoch.test/b.mp4'] });
    await until('it knows', async () => !(await drives()));
    assert.deepEqual((await batches.read(id)).counts['waiting'], 2);
    assert.deepEqual(await api.stored.sql(`select id from requests where display like '%epoch.test%'`), []);
    await api.stored.sql('update batch_driver set until = now()');
    await batches.run(id, 'epoch.test', (job) => batches.success(job.metadata.name));
    assert.deepEqual(
      (await batches.items(id)).map(({ state, tries }) => [state, tries]),
      [
        ['success', 1],
        ['success', 1],
      ],
    );
  });

  it('says so once its lease is over, also if it cannot ask', async () => {
    await until('it drives', drives);
    await api.stored.sql('alter function take_driver rename to take_driver_away');
    try {
      await until('it knows', async () => !(await drives()), 30_000);
    } finally {
      await api.stored.sql('alter function take_driver_away rename to take_driver');
    }
    await until('it drives again', drives);
  });

  it('again and again: each item has one request and one end', async () => {
    const batches = batchesOf(api);
    const items = Array.from({ length: 30 }, (_, n) => `https://often.test/${n}.mp4`);
    const { id } = await batches.create({ items, concurrency: 4, per_host: 8 });
    let ends = 0;
    await batches.run(id, 'often.test', async ({ metadata }) => {
      if (++ends % 3 === 0)
        await api.stored.sql('update batch_driver set holder = gen_random_uuid(), epoch = epoch + 1, until = now()');
      await batches.success(metadata.name);
    });
    const { counts: ended, requests } = await batches.read(id);
    assert.deepEqual([ended['success'], requests], [30, 30]);
    const logged = await api.stored.sql(`select id from requests where display like '%often.test%'`);
    assert.equal(logged.length, 30);
  });
});

describe('batch: others are not held up', function () {
  this.timeout(90_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  it('by one whose tool version is being tried again', async () => {
    const batches = batchesOf(api);
    const { kube, namespace } = api;
    const { store } = api.wired.deps;
    const isKnown = () => api.wired.deps.catalog().versions('ffprobe').includes('6.0');
    const probe = { ...ONLY, ffprobe: { version: '6.0' } };
    await createTool(api, 'ffprobe', '6.0');
    await until('the version is known', isKnown);
    const { id: held } = await batches.create({
      probe,
      items: ['https://a.test/1.ts', 'https://a.test/2.ts'],
      concurrency: 1,
    });
    const first = await until('an item of it runs', async () => (await batches.items(held, 'state=running'))[0]);
    const condition = {
      type: 'Available',
      status: 'Unknown',
      reason: 'Proving',
      message: '',
      lastTransitionTime: new Date().toISOString(),
    };
    await kube.mergePatchStatus(PROBE_TOOLS, 'ffprobe-6.0', { conditions: [condition] }, { namespace });
    await until('the version is not offered', () => !isKnown());
    const { claimItems } = store;
    let tries = 0;
    store.claimItems = (claim) => {
      if (claim.batch === held) tries += 1;
      return claimItems(claim);
    };
    await batches.success(first.request_id!);
    await until('it is tried', () => tries > 0);
    const items = Array.from({ length: 5 }, (_, n) => `https://b.test/${n}.ts`);
    const { id } = await batches.create({ items, concurrency: 1 });
    await batches.run(id, 'b.test', ({ metadata }) => batches.success(metadata.name));
    store.claimItems = claimItems;
    // Each try is made with the first round after a pause.
    assert.ok(tries <= 3, String(tries));
    assert.equal((await batches.read(held)).state, 'running');
    await batches.act(held, 'cancel');
  });

  it('by one whose items cannot be claimed or skipped in time', async () => {
    const batches = batchesOf(api);
    const { store } = api.wired.deps;
    const { claimItems } = store;
    const late = new StoreError('timeout', 'late');
    const { id: slow } = await batches.create({
      items: ['https://late.test/1.ts', 'https://late.test/2.ts'],
      concurrency: 1,
    });
    await until('an item of it runs', async () => (await batches.items(slow, 'state=running'))[0]);
    store.claimItems = (claim) => (claim.batch === slow ? Promise.reject(late) : claimItems(claim));
    const [job] = await batches.jobs('late.test');
    await batches.success(job!.metadata.name);
    const { id } = await batches.create({ items: ['https://d.test/1.ts', 'https://d.test/2.ts'], concurrency: 1 });
    await batches.run(id, 'd.test', ({ metadata }) => batches.success(metadata.name));
    store.claimItems = claimItems;

    const { skipItems } = store;
    store.skipItems = (skip) => (skip.batch === slow ? Promise.reject(late) : skipItems(skip));
    await batches.act(slow, 'cancel');
    const { id: next } = await batches.create({ items: ['https://e.test/1.ts'] });
    await batches.run(next, 'e.test', ({ metadata }) => batches.success(metadata.name));
    store.skipItems = skipItems;
    await batches.untilIn(slow, 'ended');
  });
});
