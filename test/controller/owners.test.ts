import assert from 'node:assert/strict';
import { runnerOwners } from '../../src/service/controller/leader/recover.ts';
import { RUNNER_PROTOCOL } from '../../src/platform/bus/messages.ts';
import { Runners } from '../../src/service/controller/pools/runners.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import type { ReuseScope } from '../../src/platform/kube/probe_pool.ts';
import type { TokenRecord } from '../../src/platform/store/records.ts';
import { facts } from './runner_fixture.ts';

const record = (id: number) => ({ id, rootUserId: id * 10 }) as TokenRecord;
const job = (uid: string | undefined, token: number) =>
  ({
    spec: {},
    status: uid === undefined ? {} : { runner: { pod: 'p', uid }, admittedBy: { token } },
  }) as unknown as ProbeJob;

describe('owners of runner pods', () => {
  for (const [what, noted, scope, expected] of [
    ['pod of an account', job('a', 3), 'account', 'a:30'],
    ['pod of a token', job('a', 3), 'token', 't:3'],
    ['pod shared by everybody', job('a', 3), 'any', 'any'],
    ['pod that ran its one job', job('a', 3), 'job', 'j:a'],
    ['pod of a revoked token', job('a', 9), 'account', 'x:a'],
    ['job that never ran', job(undefined, 3), 'account', undefined],
    ['job of a deleted pod', job('gone', 3), 'account', undefined],
  ] as [string, ProbeJob, ReuseScope, string | undefined][]) {
    it(`${what}: ${expected ?? 'no owner'}`, () => {
      const runners = new Runners();
      runners.pod(facts('a'), 0);
      const owners = runnerOwners(runners);
      owners.note(noted);
      owners.bind(
        (id) => (id === 3 ? record(id) : undefined),
        () => scope,
      );
      runners.heartbeat(
        {
          protocol: RUNNER_PROTOCOL,
          pod: 'p',
          uid: 'a',
          namespace: 'r',
          pool: 'short',
          generation: 'g',
          phase: 'idle',
          epoch: 0,
          jobsDone: 0,
          ageMs: 0,
          idleMs: 0,
        },
        1,
      );
      assert.equal(runners.get('a')?.tenant, expected);
    });
  }

  it('lists each token once, and none of a deleted pod', () => {
    const runners = new Runners();
    for (const uid of ['a', 'b']) runners.pod(facts(uid), 0);
    const owners = runnerOwners(runners);
    for (const one of [job('a', 3), job('a', 3), job('gone', 4), job('b', 5)]) owners.note(one);
    assert.deepEqual(owners.tokens(), [3, 5]);
  });
});
