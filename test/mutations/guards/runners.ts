import { without, withoutMethod, type Guard } from '../guard.ts';

const share = () => import('../../../src/service/controller/pools/share.ts');
const runnersOf = () => import('../../../src/service/controller/pools/runners.ts');
const SHARE = 'test/controller/share.test.ts';

export const runners: readonly Guard[] = [
  without('an account leaves room for the others in a pool', SHARE, share, 'mayTake', () => () => true),
  without(
    'a share is at most half of the pool',
    SHARE,
    share,
    'shareOf',
    () =>
      ({ maxPods }) =>
        maxPods,
  ),
  without(
    'a source with credentials gets a pod of its own',
    'test/controller/pool.test.ts',
    share,
    'tenantOf',
    (original) => (scope, job) => original(scope, { ...job, credentials: false }),
  ),
  without(
    'a pod for one job runs no second one',
    'test/controller/pool.test.ts',
    share,
    'isForOneJob',
    () => () => false,
  ),
  withoutMethod(
    'a runner is bound to the tenant of its first job',
    'test/controller/runners.test.ts',
    runnersOf,
    'Runners',
    'bind',
    () => () => undefined,
  ),
  without(
    'a pool never has more pods than its limit',
    'test/controller/pool.test.ts',
    () => import('../../../src/service/controller/pools/plan.ts'),
    'planPool',
    (original) => (view) => original({ ...view, spec: { ...view.spec, maxPods: 1000 } }),
  ),
  without(
    'a pool that requires a wall takes no runner without it',
    'test/controller/isolation.test.ts',
    () => import('../../../src/service/controller/pools/isolation.ts'),
    'lackedWalls',
    () => () => [],
  ),
  without(
    'a tool is offered only after its proof',
    'test/controller/tool_proof.test.ts',
    () => import('../../../src/service/controller/catalog/verdict.ts'),
    'judgeProof',
    (original) => (pod, log, now, since) => {
      const verdict = original(pod, log, now, since);
      return verdict.state === 'refused' ? { state: 'pending' } : verdict;
    },
  ),
  without(
    'images of tools come from the listed registries',
    'test/controller/tool_proof.test.ts',
    () => import('../../../src/service/controller/catalog/prove.ts'),
    'registryAllowed',
    () => () => true,
  ),
  without(
    'no container of a runner keeps a capability',
    'test/controller/runner_pod.test.ts',
    () => import('../../../src/service/controller/pools/pod.ts'),
    'runnerPod',
    (original) => (settings, pod) => {
      const made = original(settings, pod);
      for (const { securityContext } of made.spec!.containers) delete securityContext?.capabilities;
      return made;
    },
  ),
  without(
    'a result is recorded once',
    'test/controller/record_end.test.ts',
    () => import('../../../src/service/controller/collect/record_end.ts'),
    'recordEnd',
    () => (store, end) => store.closeRequest(end).then((recorded) => ({ ...recorded, first: true })) as never,
  ),
];
