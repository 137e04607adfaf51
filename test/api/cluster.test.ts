/** `GET cluster` on a real NATS, with its permissions and its responses with and without a leader. */
import assert from 'node:assert/strict';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import type { ClusterSnapshot } from '../../src/platform/bus/cluster_snapshot.ts';
import { buildSnapshot } from '../../src/service/controller/snapshot/build.ts';
import { aView, busyRunner } from '../controller/snapshot_view.ts';
import { until } from '../until.ts';
import { startManagement, type Management } from './accounts/fixture.ts';

describe('GET cluster', function () {
  this.timeout(60_000);
  let m: Management;
  beforeEach(async () => {
    m = await startManagement();
  });
  afterEach(() => m.stop());

  const read = (token = m.root.token) => m.call('GET', 'cluster', { token });
  const now = (): number => m.replicas[0].deps.store.clock.now();
  /** A leader that responds as the test says. */
  const lead = async (say: () => ClusterSnapshot) => {
    let asked = 0;
    const serving = m.bus.serve(SUBJECT.cluster, () => {
      asked += 1;
      return say();
    });
    await m.bus.flush();
    return { stop: () => serving.stop(), asked: () => asked };
  };

  it('without a response of a leader: 503 with a short Retry-After', async () => {
    const began = performance.now();
    const answer = await read();
    assert.deepEqual([answer.status, answer.json['code'], answer.headers.get('retry-after')], [503, 50300, '2']);
    assert.equal(answer.json['error'], 'the leader has not sent a cluster snapshot yet; try again');
    assert.ok(performance.now() - began < 5_000);
  });

  it('returns the snapshot and its age to administrators, and asks the leader at most once a second', async () => {
    const { asked } = await lead(() => buildSnapshot(aView({ at: now(), runners: [busyRunner('j')] })));
    const answers = await Promise.all(Array.from({ length: 20 }, () => read()));
    for (const { status, text } of answers) assert.equal(status, 200, text);
    const [{ json, headers }] = answers as [(typeof answers)[0]];
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.deepEqual([json['stale'], json['age-ms'] < 5_000, json['leader'].epoch], [false, true, 7]);
    assert.equal(json['runners'][0].job, 'j');
    assert.ok(asked() <= 2, `${asked()} requests to the leader`);
    const first = asked();
    await until('the API requests a new snapshot', async () => {
      await read();
      return asked() > first;
    });
  });

  it('after the loss of the leader: returns the last snapshot with its age, stale after 10 s', async () => {
    let at = now() - 8_000;
    const leader = await lead(() => buildSnapshot(aView({ at })));
    const recent = await read();
    assert.deepEqual([recent.json['stale'], recent.json['age-ms'] >= 8_000], [false, true]);
    at = now() - 12_000;
    await read();
    leader.stop();
    await m.bus.flush();
    const old = await read();
    assert.deepEqual([old.status, old.json['stale'], old.json['age-ms'] >= 12_000], [200, true, true]);
  });

  it('is limited to administrators with read:admin', async () => {
    await lead(() => buildSnapshot(aView({ at: now() })));
    const narrow = await m.call('POST', 'auth/api-token', {
      token: m.root.token,
      body: { name: 'narrow', permissions: ['read:media', 'read:statistics'] },
    });
    const admin = await m.person('second', { role: 'admin' });
    const user = await m.person('user');
    for (const [token, status] of [
      [admin.token, 200],
      [user.token, 403],
      [(await m.person('below', { parent: user })).token, 403],
      [narrow.json['token'], 403],
      ['nonsense', 401],
    ] as const)
      assert.equal((await read(token)).status, status);
    assert.equal((await m.call('POST', 'cluster', { token: m.root.token })).status, 405);
    assert.equal((await m.call('GET', 'cluster?verbose=true', { token: m.root.token })).status, 400);
  });
});

describe('GET user: part of the address', function () {
  this.timeout(60_000);
  let m: Management;
  before(async () => {
    m = await startManagement();
  });
  after(() => m.stop());

  it('finds users by part of their address, case-insensitively and without wildcards', async () => {
    const boss = await m.person('boss');
    await m.person('Anna_one', { parent: boss });
    await m.person('annabel', { parent: boss });
    const stranger = await m.person('hannah');
    const found = async (token: string, email: string) => {
      const { json, status } = await m.call('GET', `user?email=${encodeURIComponent(email)}&sort[field]=email`, {
        token,
      });
      assert.equal(status, 200);
      return (json['users'] as { email: string }[]).map((user) => user.email);
    };
    assert.deepEqual(await found(m.root.token, 'ANNA'), [
      'Anna_one@example.org',
      'annabel@example.org',
      'hannah@example.org',
    ]);
    assert.deepEqual(await found(boss.token, 'anna'), ['Anna_one@example.org', 'annabel@example.org']);
    assert.deepEqual(await found(stranger.token, 'anna'), []);
    for (const none of ['%', 'anna%', "' or true --", '\\'])
      assert.deepEqual(await found(m.root.token, none), [], none);
    assert.deepEqual(await found(m.root.token, 'a_o'), ['Anna_one@example.org']);
    assert.equal((await found(m.root.token, '')).length, 5);
    assert.equal((await m.call('GET', 'user?email=%00', { token: m.root.token })).status, 400);
  });
});
