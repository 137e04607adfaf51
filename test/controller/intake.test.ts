/** Intake: one account holds up nobody else's jobs. */
import assert from 'node:assert/strict';
import pg from 'pg';
import { IntakeChains } from '../../src/service/controller/leader/intake_chains.ts';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { until } from '../until.ts';
import { clusterOfEach } from './cluster_parts.ts';

describe('intake chains', () => {
  /** Adds a job that is in intake until the test ends it. */
  const chainsWith = () => {
    const chains = new IntakeChains();
    const began: string[] = [];
    const ends = new Map<string, () => void>();
    const add = (name: string, token: number, account?: number) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      chains.add(token, account, () => {
        began.push(name);
        return promise;
      });
    };
    /** Two: on a busy machine the first may be that which they leave to other work. */
    const turn = async () => {
      for (let turns = 0; turns < 2; turns++) await new Promise(setImmediate);
    };
    const end = async (name: string) => {
      ends.get(name)!();
      await turn();
    };
    return { chains, began, add, end, turn };
  };

  it('take in the jobs of an account in order, and accounts side by side', async () => {
    const { began, add, end, turn } = chainsWith();
    add('a1', 1, 10);
    add('a2', 2, 10);
    add('b1', 3, 20);
    await turn();
    assert.deepEqual(began, ['a1', 'b1']);
    await end('a1');
    assert.deepEqual(began, ['a1', 'b1', 'a2']);
  });

  it('leave other work its turn where no job waits for anything', async () => {
    const chains = new IntakeChains();
    const busy = async (): Promise<void> => {
      for (const end = performance.now() + 2; performance.now() < end;);
    };
    for (let job = 0; job < 100; job++) chains.add(1, 10, busy);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await chains.settled();
    clearInterval(timer);
    assert.ok(turns > 1, `${turns} turns in 200 ms`);
  });

  it('keep the order of a token whose account becomes known while its jobs are in intake', async () => {
    const { began, add, end, turn } = chainsWith();
    add('first', 1);
    add('second', 1, 10);
    await turn();
    assert.deepEqual(began, ['first']);
    await end('first');
    assert.deepEqual(began, ['first', 'second']);
  });

  it('are forgotten when they are empty', async () => {
    const { chains, add, end, turn } = chainsWith();
    for (let token = 1; token <= 20; token++) add(`job ${token}`, token, token);
    await turn();
    assert.equal(chains.size, 20);
    for (let token = 1; token <= 20; token++) await end(`job ${token}`);
    await chains.settled();
    assert.equal(chains.size, 0);
  });

  it('take in at most eight jobs at once', async () => {
    const { began, add, end, turn } = chainsWith();
    for (let token = 1; token <= 10; token++) add(`job ${token}`, token, token);
    await turn();
    assert.equal(began.length, 8);
    await end('job 1');
    assert.equal(began.length, 9);
  });
});

describe('leader: intake of jobs created with kubectl', function () {
  this.timeout(60_000);
  const { led, current } = clusterOfEach();

  const createByHand = (name: string, version = 'latest') =>
    current().kube.create(PROBE_JOBS, {
      metadata: { name, namespace: current().namespace },
      spec: {
        kind: 'file',
        source: { url: 'https://media.example.org/a.mp4' },
        tools: [{ name: 'ffprobe', version }],
      },
    });

  it('holds up no job of an account while it waits for Postgres', async () => {
    const { submit, create, runners, newAccount, newToken, servers, term, log } = await led({ minReady: 2 });
    const submitted = await submit({ token: await newToken(5, await newAccount()), create: false });
    const client = new pg.Client({ connectionString: servers.stored.server.url });
    await client.connect();
    try {
      await client.query('begin');
      // Rows can be read, and none can be opened.
      await client.query('lock table requests in share mode');
      const { metadata } = await createByHand('by-hand');
      await until('the leader has seen the job', () => term.leader.knows('by-hand'));
      await create(submitted);
      await until('the job of the account runs', () => runners.began.some(({ job }) => job === submitted.id), 5_000);
      // A job that gave up would have let the other one pass.
      assert.ok(!log.some(({ msg }) => msg === 'cannot queue a job, will retry'));
      await client.query('rollback');
      await current().ended(metadata.uid ?? '', submitted.id);
    } finally {
      await client.end();
    }
  });

  it('ends those beyond the rate, without a record, and not those that a new leader finds', async () => {
    const {
      controller,
      reason,
      job,
      ended,
      runners,
      servers,
      leader: first,
    } = await led({ minReady: 2 }, { env: { PY_BY_HAND_PER_MINUTE: '2' } });
    runners.behaviour.go = () => 'hold';
    const made = [];
    for (const name of ['one', 'two', 'beyond']) made.push(await createByHand(name));
    await until('the third is refused', () => reason('beyond') === 'RateLimited');
    assert.match(
      job('beyond')?.status?.conditions?.find(({ type }) => type === 'Succeeded')?.message ?? '',
      /jobs\.byHandPerMinute/,
    );
    assert.equal(await servers.stored.store.readRequest(made[2]!.metadata.uid ?? ''), null);
    await until('both run', () => runners.of('one') && runners.of('two'));
    await first.stop();
    for (const name of ['three', 'four', 'five']) made.push(await createByHand(name));
    const { term } = await controller({ epoch: 2, env: { PY_BY_HAND_PER_MINUTE: '2' } });
    await until('the new leader has taken in all', () => [...term.leader.jobs.allTaken()].length === 5);
    runners.behaviour.go = () => ({ ms: 1 });
    for (const name of ['one', 'two']) await runners.of(name)!.finish();
    await ended(...made.filter(({ metadata }) => metadata.name !== 'beyond').map(({ metadata }) => metadata.uid ?? ''));
  });

  it('a job that is created and deleted under the name of one that ends does not free its slot', async () => {
    const { runners, kube, namespace, reason, term } = await led({ minReady: 2 });
    runners.behaviour.go = () => 'hold';
    await createByHand('twice');
    const runner = await until('it runs', () => runners.of('twice'));
    // The job ends only when the order to stop has timed out.
    runner.mute = true;
    await kube.delete(PROBE_JOBS, 'twice', { namespace });
    await createByHand('twice');
    await kube.delete(PROBE_JOBS, 'twice', { namespace });
    await createByHand('later', '0.1');
    await until('the leader has seen what came after', () => reason('later') === 'ToolUnavailable');
    assert.equal(term.leader.ledger.held, 1);
    await until('the slot is free', () => term.leader.ledger.held === 0, 5_000);
  });

  it('a job that is created under the name of one that was deleted during its intake runs', async () => {
    const { kube, namespace, job, ended, servers, term } = await led({ minReady: 2 });
    const client = new pg.Client({ connectionString: servers.stored.server.url });
    await client.connect();
    try {
      await client.query('begin');
      await client.query('lock table requests in share mode');
      await createByHand('twice');
      await until('the first is in intake', () => term.leader.knows('twice'));
      await kube.delete(PROBE_JOBS, 'twice', { namespace });
      await until('the first is gone', () => !term.leader.knows('twice'));
      const { metadata } = await createByHand('twice');
      await until('the second is shown', () => job('twice')?.metadata.uid === metadata.uid);
      await until('the second is in intake', () => term.leader.knows('twice'));
      await client.query('rollback');
      const [record] = await ended(metadata.uid ?? '');
      assert.equal(record?.state, 'success');
    } finally {
      await client.end();
    }
  });
});
