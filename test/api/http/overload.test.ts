import assert from 'node:assert/strict';
import { makeOverload, refusedBy, watchLoop, type Load } from '../../../src/service/api/http/overload.ts';
import { ApiError } from '../../../src/service/api/errors.ts';
import { makePaces } from '../../../src/service/result/pace.ts';
import { until } from '../../until.ts';
import { startApi, type ApiFixture } from '../fixture.ts';

const never = new Int32Array(new SharedArrayBuffer(4));
/** Without CPU. */
const holdLoop = (ms: number): void => void Atomics.wait(never, 0, 0, ms);

/** Again and again, with time for a few calls in between. */
function keepHolding(ms: number): () => void {
  let timer: NodeJS.Timeout;
  const hold = (): void => {
    holdLoop(ms);
    timer = setTimeout(hold, 30);
  };
  timer = setTimeout(hold, 30);
  return () => clearTimeout(timer);
}

describe('overload', function () {
  this.timeout(60_000);

  const one = { lateMs: 300, debtMs: 0, open: 5, averageOpen: 5 };
  for (const [what, load, refused] of [
    ['a loop in time refuses nobody', { ...one, lateMs: 250, debtMs: 9_000, open: 100 }, undefined],
    ['a late loop refuses whoever owes time', { ...one, debtMs: 1 }, 'account'],
    ['a late loop refuses whoever has more open calls than others', { ...one, open: 6 }, 'account'],
    ['a late loop accepts one of equals', one, undefined],
    ['a late loop accepts a newcomer', { ...one, open: 0 }, undefined],
    ['a very late loop refuses everybody', { ...one, lateMs: 1_001, open: 0 }, 'replica'],
  ] as [string, Load, string | undefined][])
    it(what, () => assert.equal(refusedBy(load), refused));

  it('calls are counted by payer until they end, and refusals by what caused them', () => {
    let lateMs = 0;
    const refusals: string[] = [];
    const overload = makeOverload(makePaces(), (by) => refusals.push(by), { lateMs: () => lateMs, stop: () => {} });
    const ends = [1, 1, 1, 2].map((payer) => overload.begin(payer));
    lateMs = 300;
    const isOverloaded = (error: unknown): boolean =>
      error instanceof ApiError &&
      error.status === 503 &&
      error.code === 'overloaded' &&
      error.headers['Retry-After'] === '5';
    assert.throws(() => overload.begin(1), isOverloaded);
    overload.begin(2)();
    overload.begin('192.0.2.1/32')();
    for (const end of ends) end();
    overload.begin(1)();
    lateMs = 2_000;
    assert.throws(() => overload.begin(3), isOverloaded);
    assert.deepEqual(refusals, ['account', 'replica']);
  });

  it('a loop that was held once is not late, and one that is held again and again is, until it is free', async () => {
    const loop = watchLoop();
    try {
      holdLoop(600);
      await new Promise((resolve) => setTimeout(resolve, 150));
      assert.ok(loop.lateMs() < 250, `${loop.lateMs()} ms`);
      const free = keepHolding(400);
      await until('the loop is late', () => loop.lateMs() > 250);
      free();
      await until('the loop is free', () => loop.lateMs() < 250);
    } finally {
      loop.stop();
    }
  });

  describe('of a server', () => {
    let api: ApiFixture;
    before(async () => {
      api = await startApi();
    });
    after(() => api.stop());
    const statuses = async () => {
      const json = { 'Content-Type': 'application/json' };
      const work = await api.post({ url: 'nonsense' });
      const reading = await fetch(`${api.url}/v1/versions`, { headers: { Authorization: `Bearer ${api.token}` } });
      const signIn = await fetch(`${api.url}/frontend/api/v1/auth/sign-in`, {
        method: 'POST',
        body: '{}',
        headers: json,
      });
      const health = await fetch(`${api.url}/healthz`);
      const error = ((await work.json()) as { error: string }).error;
      return { work: work.status, error, reading: reading.status, signIn: signIn.status, health: health.status };
    };
    const TEXT = 'this server is overloaded; try again in a few seconds, with fewer calls at once';
    const owe = (busyMs: number) => void api.wired.deps.paceOf(api.userId)(busyMs);
    const whileHeld = async (ms: number, refused: 'work' | 'signIn') => {
      const free = keepHolding(ms);
      try {
        return await until(`a refusal while each turn takes ${ms} ms`, async () => {
          owe(400);
          const got = await statuses();
          return got[refused] === 503 ? got : undefined;
        });
      } finally {
        free();
      }
    };

    it('refuses work of an account that owes time, then that of everybody; reads and health go on', async () => {
      const free = await statuses();
      assert.deepEqual([free.work, free.reading, free.signIn, free.health], [400, 200, 400, 200]);
      // The whole burst, and two seconds of debt: a debt alone delays.
      owe(3_400);
      assert.equal((await statuses()).work, 400, 'a debt alone refuses nothing');
      assert.deepEqual(await whileHeld(400, 'work'), {
        work: 503,
        error: TEXT,
        reading: 200,
        signIn: 400,
        health: 200,
      });
      assert.deepEqual(await whileHeld(1_300, 'signIn'), {
        work: 503,
        error: TEXT,
        reading: 200,
        signIn: 503,
        health: 200,
      });
      await until('work is accepted again', async () => (await statuses()).work === 400);
      const metrics = await api.wired.deps.metrics.registry.metrics();
      assert.match(metrics, /probeyard_api_overload_refused_total\{by="account"\} [1-9]/);
      assert.match(metrics, /probeyard_api_overload_refused_total\{by="replica"\} [1-9]/);
    });
  });
});
