/** Requests are refused while the cluster holds too many ProbeJobs. */
import assert from 'node:assert/strict';
import { ApiError } from '../../../src/service/api/errors.ts';
import { makeObjectRoom, refusedShare, usualObjects } from '../../../src/service/api/probe/room.ts';
import { PROBE_JOBS, type KubeClient } from '../../../src/platform/kube/client.ts';
import { kubeClient } from '../../kube/kubeconfig.ts';
import { makeLog } from '../../../src/base/log.ts';
import { created } from '../../controller/ended_job.ts';
import { testApiServer } from '../../kube/apiserver.ts';
import { until } from '../../until.ts';

const log = makeLog('api', { podName: 'test', logLevel: 'silent' });

describe('the share of requests that is refused for too many ProbeJobs', () => {
  const usual = usualObjects({ maxQueued: 10_000, finishedMax: 5_000 });
  for (const [objects, share] of [
    [0, 0],
    [17_000, 0],
    [17_850, 0.1],
    [21_250, 0.5],
    [25_500, 1],
    [1_000_000, 1],
  ] as const)
    it(`is ${share} for ${objects} with the default values`, () => assert.equal(refusedShare(objects, usual), share));
});

describe('requests while the cluster holds too many ProbeJobs', function () {
  this.timeout(60_000);
  let kube: KubeClient;
  let namespace: string;
  beforeEach(async () => {
    const server = await testApiServer({ own: true });
    namespace = await server.namespace('room');
    kube = await kubeClient({ kubeconfig: server.kubeconfig, namespace });
  });
  afterEach(() => kube.close());

  const make = (from: number, to: number) =>
    Promise.all(
      Array.from({ length: to - from }, (_, index) => kube.create(PROBE_JOBS, created(`job-${from + index}`))),
    );

  it('are refused in proportion, told when to come again, and accepted again afterwards', async () => {
    let clock = 0;
    let counts = 0;
    const counted: Pick<KubeClient, 'list'> = {
      list: async (...given) => {
        const page = await kube.list(...given);
        counts += 1;
        return page;
      },
    };
    const room = makeObjectRoom({ kube: counted, log, namespace }, 10, () => clock);
    const refusal = (): ApiError | undefined => {
      try {
        room.check();
        return undefined;
      } catch (error) {
        assert.ok(error instanceof ApiError);
        return error;
      }
    };
    /** How many of ten requests are refused, by a count that is new. */
    const refused = async (): Promise<number> => {
      const before = counts;
      clock += 6_000;
      refusal();
      await until('the objects are counted', () => counts > before);
      await until('the count is used', () => Promise.resolve(true));
      return Array.from({ length: 10 }, refusal).filter((error) => error !== undefined).length;
    };
    await make(0, 10);
    assert.equal(await refused(), 0);
    await make(10, 12);
    assert.equal(await refused(), 4);
    await make(12, 20);
    assert.equal(await refused(), 10);
    const error = refusal();
    assert.deepEqual([error?.status, error?.headers['Retry-After'], error?.reason], [503, '10', 'objects']);
    for (let index = 9; index < 20; index++) await kube.delete(PROBE_JOBS, `job-${index}`);
    assert.equal(await refused(), 0);
  });

  it('are accepted while nothing could be counted for half a minute', async () => {
    let clock = 0;
    let counts = 0;
    await make(0, 20);
    const failing: Pick<KubeClient, 'list'> = {
      list: async (...given) => {
        counts += 1;
        if (counts > 1) throw new Error('away');
        return kube.list(...given);
      },
    };
    const room = makeObjectRoom({ kube: failing, log, namespace }, 10, () => clock);
    room.check();
    await until('all are refused', () => {
      try {
        room.check();
        return false;
      } catch {
        return true;
      }
    });
    clock += 29_000;
    assert.throws(() => room.check());
    clock += 2_000;
    room.check();
  });
});
