import { without, withoutMethod, type Guard } from '../guard.ts';

const ledger = () => import('../../../src/service/controller/leader/ledger.ts');
const orders = () => import('../../../src/service/runner/orders.ts');
const record = () => import('../../../src/platform/kube/lease_record.ts');
const term = () => import('../../../src/service/controller/leader/lease_guard.ts');
const ORDERS = 'test/runner/orders.test.ts';
const TAKEOVER = 'test/controller/takeover.test.ts';

export const admission: readonly Guard[] = [
  withoutMethod(
    'a token runs no more than its limit',
    'test/controller/ledger.test.ts',
    ledger,
    'Ledger',
    'setLimits',
    (original) =>
      function (this: object, token, limits) {
        Reflect.apply(original, this, [token, { ...limits, token: Number.POSITIVE_INFINITY }]);
      },
  ),
  withoutMethod(
    'an account runs no more than its limit',
    'test/controller/ledger_accounts.test.ts',
    ledger,
    'Ledger',
    'setLimits',
    (original) =>
      function (this: object, token, limits) {
        Reflect.apply(original, this, [token, { ...limits, account: Number.POSITIVE_INFINITY }]);
      },
  ),
  withoutMethod(
    'a slot is free again when its job ends',
    'test/controller/ledger.test.ts',
    ledger,
    'Ledger',
    'remove',
    () => () => undefined,
  ),
  withoutMethod(
    'a new leader counts the jobs that run already',
    'test/controller/ledger.test.ts',
    ledger,
    'Ledger',
    'hold',
    () => () => undefined,
  ),
  without(
    'an order of an older term is refused',
    ORDERS,
    orders,
    'onGo',
    (original) => (state, order, now) => original({ ...state, epoch: 0 }, order, now),
  ),
  without(
    'an order that comes twice runs once',
    ORDERS,
    orders,
    'onGo',
    (original) => (state, order, now) => original({ ...state, recent: [], task: undefined }, order, now),
  ),
  without(
    'a runner serves one tenant for its life',
    ORDERS,
    orders,
    'onPrepare',
    (original) => (state, order, now) => original({ ...state, tenant: undefined }, order, now),
  ),
  without(
    'a lease of an older term renews nothing',
    ORDERS,
    orders,
    'onLease',
    (original) => (state, lease, now) => original({ ...state, epoch: 0 }, lease, now),
  ),
  without('a runner whose lease is lost ends its job', ORDERS, orders, 'onLeaseLost', () => (state) => ({
    state,
    answer: { ok: true },
    effects: [],
  })),
  without(
    'a lease is taken only after it has lapsed',
    'test/kube/lease-record.test.ts',
    record,
    'takeableInMs',
    () => () => 0,
  ),
  without(
    'an older sight of a lease changes nothing',
    'test/kube/lease-record.test.ts',
    record,
    'sight',
    () => (_before, seen, now) => ({ record: seen, seenAt: now }),
  ),
  without('nothing is written under a lease that may have lapsed', TAKEOVER, term, 'leaseSafe', () => async () => {}),
  without('a deposed leader acts on no timer', TAKEOVER, term, 'later', () => (_term, job, ms, act) => {
    job.timers.push(setTimeout(act, ms));
  }),
];
