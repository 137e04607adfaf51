/** Intake: one account holds up nobody else's jobs. */
import assert from 'node:assert/strict';
import pg from 'pg';
import { IntakeChains } from '../../src/service/controller/leader/intake_chains.ts';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster } from './cluster_parts.ts';

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
    const end = async (name: string) => {
      ends.get(name)!();
      await new Promise(setImmediate);
    };
    return { chains, began, add, end, turn: () => new Promise(setImmediate) };
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
  let cluster: Cluster;
  afterEach(() => cluster?.stop());

  const createByHand = (name: string) =>
    cluster.kube.create(PROBE_JOBS, {
      metadata: { name, namespace: cluster.namespace },
      spec: {
        kind: 'file',
        source: { url: 'https://media.example.org/a.mp4' },
        tools: [{ name: 'ffprobe', version: 'latest' }],
      },
    });

  it('holds up no job of an account while it waits for Postgres', async () => {
    cluster = await startCluster();
    const { controller, ready, submit, create, runners, newAccount, newToken, servers } = cluster;
    const { term, log } = await controller();
    await ready(2);
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
      await cluster.ended(metadata.uid ?? '', submitted.id);
    } finally {
      await client.end();
    }
  });

  it('ends those beyond the rate, without a record, and not those that a new leader finds', async () => {
    cluster = await startCluster();
    const { controller, ready, reason, job, ended, runners, servers } = cluster;
    runners.behaviour.go = () => 'hold';
    const first = await controller({ env: { PY_BY_HAND_PER_MINUTE: '2' } });
    await ready(2);
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
    await until('the new leader has taken in all', () => term.leader.figures.jobs === 5);
    runners.behaviour.go = () => ({ ms: 1 });
    for (const name of ['one', 'two']) await runners.of(name)!.finish();
    await ended(...made.filter(({ metadata }) => metadata.name !== 'beyond').map(({ metadata }) => metadata.uid ?? ''));
  });
});
