import assert from 'node:assert/strict';
import { backoff, pauseAfter, retry, within, type RetryOptions } from '../src/base/retry.ts';

describe('back-off', () => {
  const pauses = { first: 800, longest: 30_000 };

  it('doubles up to the longest pause, and starts over after a reset', () => {
    const wait = backoff(pauses, () => 0);
    assert.deepEqual(
      [1, 2, 3, 4, 5, 6, 7, 8].map(() => wait.next()),
      [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000],
    );
    wait.reset();
    assert.equal(wait.next(), 800);
  });

  it('stays at the longest pause after a thousand failures', () =>
    assert.equal(
      pauseAfter(1_000, pauses, () => 0),
      30_000,
    ));

  const jitters: [jitter: number | undefined, random: number, pause: number][] = [
    [undefined, 0.5, 600],
    [undefined, 1, 400],
    [0.2, 1, 640],
    [0, 1, 800],
  ];
  for (const [jitter, random, expected] of jitters)
    it(`jitter ${jitter ?? 'by default'} at random ${random}: pauses for ${expected} ms`, () =>
      assert.equal(
        pauseAfter(1, jitter === undefined ? pauses : { ...pauses, jitter }, () => random),
        expected,
      ));
});

describe('retry', () => {
  /** How many times work that fails `failures` times runs. */
  const run = async (failures: number, options: Partial<RetryOptions>) => {
    let runs = 0;
    const work = async () => {
      if (++runs <= failures) throw new Error(`failure ${runs}`);
      return 'done';
    };
    const outcome = await retry(work, { first: 1, longest: 2, ...options }).catch((error: Error) => error.message);
    return { runs, outcome };
  };
  const aborted = AbortSignal.abort();
  const past = () => performance.now() - 1;

  const cases: [name: string, failures: number, options: () => Partial<RetryOptions>, runs: number, outcome: string][] =
    [
      ['succeeds at once', 0, () => ({}), 1, 'done'],
      ['succeeds after three failures', 3, () => ({}), 4, 'done'],
      ['stops after the last attempt', 9, () => ({ attempts: 3 }), 3, 'failure 3'],
      ['stops where another attempt cannot help', 9, () => ({ when: () => false }), 1, 'failure 1'],
      ['goes on where the server asks for a pause of 0 ms', 1, () => ({ askedMs: () => 0 }), 2, 'done'],
      ['makes one attempt past the deadline', 9, () => ({ until: past() }), 1, 'failure 1'],
      ['makes one attempt after the signal', 9, () => ({ signal: aborted }), 1, 'failure 1'],
      [
        'stops where the pause that the server asks for passes the deadline',
        9,
        () => ({ until: performance.now() + 5_000, askedMs: () => 60_000 }),
        1,
        'failure 1',
      ],
    ];
  for (const [name, failures, options, runs, outcome] of cases)
    it(name, async () => assert.deepEqual(await run(failures, options()), { runs, outcome }));

  it('ends its pause when the signal aborts', async () => {
    const stopping = new AbortController();
    const askedMs = () => {
      queueMicrotask(() => stopping.abort());
      return 60_000;
    };
    assert.deepEqual(await run(9, { signal: stopping.signal, askedMs }), { runs: 1, outcome: 'failure 1' });
  });

  it('reports each failure that is retried', async () => {
    const seen: string[] = [];
    await run(9, { attempts: 3, onRetry: (error) => seen.push((error as Error).message) });
    assert.deepEqual(seen, ['failure 1', 'failure 2']);
  });
});

describe('within', () => {
  const never = new Promise<never>(() => {});

  it('returns what arrives in time', async () =>
    assert.equal(await within(60_000, Promise.resolve('result')), 'result'));
  it('passes a rejection on', () => assert.rejects(within(60_000, Promise.reject(new Error('broken'))), /broken/));
  it('rejects with the code deadline after its time', () =>
    assert.rejects(within(1, never), { code: 'deadline', message: 'no answer within 1 ms' }));
  it('rejects with an error of the caller', () =>
    assert.rejects(
      within(1, never, () => new Error('the launcher is silent')),
      /launcher is silent/,
    ));
});
