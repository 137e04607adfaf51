/** A pool without user namespaces tries them again after half an hour, with one runner. */
import assert from 'node:assert/strict';
import { pino } from 'pino';
import type { PoolsState, PoolState } from '../../src/service/controller/pools/state.ts';
import { Runners } from '../../src/service/controller/pools/runners.ts';
import { noUserNamespace, wantsUserNamespace } from '../../src/service/controller/pools/pods.ts';
import { facts } from './runner_fixture.ts';

const HALF_AN_HOUR_MS = 30 * 60_000;

describe('user namespaces of a pool', () => {
  let runners: Runners;
  let recorded: number;
  let pools: PoolsState;
  let state: PoolState;
  beforeEach(() => {
    runners = new Runners();
    recorded = 0;
    const events = { record: () => recorded++ };
    pools = { deps: { runners, events, log: pino({ level: 'silent' }) } } as unknown as PoolsState;
    state = { pool: { metadata: { name: 'short' }, spec: {} }, without: undefined } as unknown as PoolState;
  });
  const startingRunner = (): void => void runners.pod(facts('u1', { userNamespace: true }), performance.now());

  it('are not requested for half an hour after a node reported that it has none', () => {
    assert.equal(wantsUserNamespace(pools, state), true);
    noUserNamespace(pools, state, 'does not support user namespaces');
    assert.equal(wantsUserNamespace(pools, state), false);
    const left = (state.without?.until ?? 0) - performance.now();
    assert.ok(left > HALF_AN_HOUR_MS - 5_000 && left <= HALF_AN_HOUR_MS, `${left} ms`);
  });

  it('are then requested by one runner, and by no other beside it', () => {
    state.without = { until: performance.now() - 1, message: 'does not support user namespaces' };
    assert.equal(wantsUserNamespace(pools, state), true);
    startingRunner();
    assert.equal(wantsUserNamespace(pools, state), false);
  });

  it('are not requested for another half hour if that runner fails without a second Event', () => {
    noUserNamespace(pools, state, 'does not support user namespaces');
    state.without = { until: performance.now() - 1, message: 'does not support user namespaces' };
    noUserNamespace(pools, state, 'does not support user namespaces');
    assert.equal(wantsUserNamespace(pools, state), false);
    assert.ok((state.without?.until ?? 0) - performance.now() > HALF_AN_HOUR_MS - 5_000);
    assert.equal(recorded, 1);
  });

  it('are always requested where the pool requires them', () => {
    state.without = { until: performance.now() + HALF_AN_HOUR_MS, message: 'does not support user namespaces' };
    state.pool.spec.userNamespaces = 'Required';
    assert.equal(wantsUserNamespace(pools, state), true);
  });
});
