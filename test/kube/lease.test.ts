import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { CONFIG_MAPS, LEASES, type ConfigMap, type KubeClient } from '../../src/platform/kube/client.ts';
import { kubeClient } from './kubeconfig.ts';
import { startElection, type Election, type LeaseOptions } from '../../src/platform/kube/lease.ts';
import { termsOf } from '../../src/platform/kube/lease_record.ts';
import { startReflector } from '../../src/platform/kube/reflector.ts';
import { testApiServer, type TestApiServer } from './apiserver.ts';
import { until } from '../until.ts';
import { PATIENCE } from '../patience.ts';
import { pause } from '../../src/base/retry.ts';
import { startRelay } from './relay.ts';

interface Line {
  what: string;
  at: number;
  epoch?: number;
  why?: string;
}
interface Contender {
  name: string;
  child: ChildProcess;
  lines: Line[];
  ended: Promise<void>;
  leads(): boolean;
  wroteSince(at: number): Line | undefined;
}

const now = () => Number(process.hrtime.bigint() / 1000n) / 1000;

describe('leader election', function () {
  this.timeout(60_000);
  let server: TestApiServer;
  let namespace: string;
  let client: KubeClient;
  const contenders: Contender[] = [];
  const cleanup: (() => Promise<unknown>)[] = [];

  before(async () => {
    server = await testApiServer({ own: true });
  });
  beforeEach(async () => {
    namespace = await server.namespace('lease');
    client = await kubeClient({ kubeconfig: server.kubeconfig, namespace });
    await client.create(CONFIG_MAPS, { metadata: { name: 'admissions' } });
  });
  afterEach(async () => {
    for (const { child } of contenders) child.kill('SIGKILL');
    await Promise.all(contenders.splice(0).map(({ ended }) => ended));
    for (const end of cleanup.splice(0).toReversed()) await end();
    await client.close();
  });

  function contend(name: string, durationMs = 6000, breathMs = 20): Contender {
    const child = spawn(
      process.execPath,
      [
        new URL('contender.ts', import.meta.url).pathname,
        server.kubeconfig,
        namespace,
        name,
        String(durationMs),
        String(breathMs),
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const lines: Line[] = [];
    createInterface({ input: child.stdout! }).on('line', (line) => lines.push(JSON.parse(line) as Line));
    let errors = '';
    child.stderr!.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    const contender: Contender = {
      name,
      child,
      lines,
      ended: new Promise((resolve) => {
        child.once('exit', (code) => {
          if (code !== 0 && code !== null) console.error(errors);
          resolve();
        });
      }),
      leads: () => lines.findLast(({ what }) => what === 'leads' || what === 'lost')?.what === 'leads',
      wroteSince: (at) => lines.find((line) => line.what === 'wrote' && line.at > at),
    };
    contenders.push(contender);
    return contender;
  }

  async function electAmong(
    names: string[],
    durationMs?: number,
    breathMs?: number,
  ): Promise<{ leader: Contender; others: Contender[] }> {
    const all = names.map((name) => contend(name, durationMs, breathMs));
    const leader = await until('one leads and writes', () =>
      all.find((one) => one.leads() && one.wroteSince(0) !== undefined),
    );
    await until('all have started', () => all.every(({ lines }) => lines.length > 0));
    return { leader, others: all.filter((one) => one !== leader) };
  }

  /** The epochs of all writes, in the order in which they landed. */
  async function watchWrites(): Promise<{ epochs: number[] }> {
    const epochs: number[] = [];
    const note = (map: ConfigMap) => {
      if (map.data?.['epoch'] !== undefined) epochs.push(Number(map.data['epoch']));
    };
    const cache = startReflector<ConfigMap>({
      client,
      type: CONFIG_MAPS,
      fieldSelector: 'metadata.name=admissions',
      handlers: { add: note, update: note },
    });
    await cache.synced;
    cleanup.push(() => cache.stop());
    return { epochs };
  }

  const inOrder = (epochs: number[]) => epochs.every((epoch, index) => index === 0 || epoch >= epochs[index - 1]!);
  const nextWriter = (others: Contender[], since: number) =>
    until(
      'another one writes',
      () => others.map((one) => one.wroteSince(since)).find((line) => line !== undefined),
      15_000,
    );

  for (const names of [
    ['a', 'b'],
    ['a', 'b', 'c'],
  ]) {
    it(`${names.length} contenders, leader killed -9: another writes within 7 s, with a higher epoch`, async () => {
      const { epochs } = await watchWrites();
      const { leader, others } = await electAmong(names);
      const killedAt = now();
      leader.child.kill('SIGKILL');
      const first = await nextWriter(others, killedAt);
      console.log(`      took ${Math.round(first.at - killedAt)} ms`);
      assert.ok(first.at - killedAt <= 7000, `${first.at - killedAt} ms`);
      assert.ok(first.epoch! > leader.lines.find(({ what }) => what === 'leads')!.epoch!);
      assert.equal(others.filter((one) => one.leads()).length, 1);
      // The writer reports the epoch itself. Our watch of its writes may lag a moment.
      await until('the new epoch is seen', () => new Set(epochs).size === 2);
      assert.ok(inOrder(epochs), epochs.join());
    });
  }

  it('leader terminated: another one writes within 1 s', async () => {
    const { epochs } = await watchWrites();
    const { leader, others } = await electAmong(['a', 'b', 'c']);
    const toldAt = now();
    leader.child.kill('SIGTERM');
    const first = await nextWriter(others, toldAt);
    console.log(`      took ${Math.round(first.at - toldAt)} ms`);
    assert.ok(first.at - toldAt <= 1000, `${first.at - toldAt} ms`);
    await leader.ended;
    assert.equal(leader.child.exitCode, 0);
    assert.equal(leader.lines.find(({ what }) => what === 'lost')?.why, 'released');
    assert.ok(inOrder(epochs), epochs.join());
  });

  it('a leader paused for longer than its lease notices the loss when it resumes, before it writes', async () => {
    const { epochs } = await watchWrites();
    const breathMs = 200;
    const { leader, others } = await electAmong(['a', 'b'], 1800, breathMs);
    // Not between its check of the lease and the write. That write would be sent on resuming, and only the API server
    // can refuse it (fence.test.ts).
    const stoppedAt = await until('it is stopped between two writes', () => {
      const last = leader.lines.at(-1);
      if (last?.what !== 'wrote' || now() - last.at > breathMs / 2) return false;
      leader.child.kill('SIGSTOP');
      if (now() - last.at < breathMs) return now();
      leader.child.kill('SIGCONT');
      return false;
    });
    const first = await nextWriter(others, stoppedAt);
    const wroteBefore = leader.lines.filter(({ what }) => what === 'wrote').length;
    leader.child.kill('SIGCONT');
    await until('it knows', () => leader.lines.some(({ what }) => what === 'lost'));
    const lostAt = now();
    await until('the new leader goes on', () => others[0]!.wroteSince(lostAt));
    assert.equal(leader.lines.filter(({ what }) => what === 'wrote').length, wroteBefore);
    assert.ok(epochs.includes(first.epoch!) && inOrder(epochs), epochs.join());
  });

  it('each of many changes of the leader has its own epoch', async () => {
    const { epochs } = await watchWrites();
    const led: number[] = [];
    let { leader } = await electAmong(['a0', 'b0']);
    for (let n = 1; n <= 3; n++) {
      led.push(leader.lines.findLast(({ what }) => what === 'leads')!.epoch!);
      const since = now();
      leader.child.kill('SIGTERM');
      await leader.ended;
      contend(`a${n}`);
      leader = await until('the next leads', () =>
        contenders.find(
          (one) => one !== leader && one.child.exitCode === null && one.leads() && one.wroteSince(since) !== undefined,
        ),
      );
    }
    assert.deepEqual(led, [1, 2, 3]);
    assert.ok(inOrder(epochs), epochs.join());
    const terms = termsOf(await client.get(LEASES, 'leader'));
    assert.deepEqual(
      terms.map(({ pod, epoch }) => [pod, epoch]),
      contenders
        .flatMap(({ name, lines }) =>
          lines.flatMap((line) => (line.what === 'leads' ? [[name, line.epoch!] as const] : [])),
        )
        .toSorted(([, a], [, b]) => b - a),
    );
  });

  describe('in one process', () => {
    async function elect(options: Partial<LeaseOptions> = {}): Promise<{ election: Election; told: string[] }> {
      const told: string[] = [];
      const election = startElection({
        client,
        name: 'leader',
        holder: 'me',
        onLead: ({ epoch }) => {
          told.push(`lead ${epoch}`);
        },
        onLost: (why) => {
          told.push(`lost ${why}`);
        },
        ...options,
      });
      cleanup.push(() => election.stop());
      await until('it leads', () => election.leading() !== undefined);
      return { election, told };
    }

    it('renews its lease, and knows its age', async () => {
      const { election, told } = await elect({ durationMs: 4000, renewMs: 300, marginMs: 200 });
      const renewals = new Set<string>();
      await until('five renewals', async () => {
        assert.ok(election.stillLeading(200) && election.ageMs() < 3800);
        renewals.add((await client.get(LEASES, 'leader')).spec!.renewTime!);
        return renewals.size > 5;
      });
      assert.equal(election.stillLeading(4000), false, 'no lease lasts longer than all of its time');
      assert.deepEqual(told, ['lead 1']);
    });

    it('loses the lease before it expires if renewals fail, and wins it again with a new epoch', async () => {
      const relay = await startRelay(server.host, server.port);
      cleanup.push(() => relay.close());
      const behind = await kubeClient({ kubeconfig: server.kubeconfigAt(relay.port), namespace });
      cleanup.push(() => behind.close());
      const { election, told } = await elect({ client: behind, durationMs: 2000, renewMs: 400, marginMs: 500 });
      relay.freeze(true);
      let last = 0;
      await until('it is lost', () => {
        if (election.leading() !== undefined) last = election.ageMs();
        return told.includes('lost lapsed');
      });
      assert.ok(last < 2000, `still leading at an age of ${last} ms`);
      assert.deepEqual([election.stillLeading(0), election.ageMs()], [false, Infinity]);
      relay.thaw();
      relay.cut();
      await until('it leads again', () => election.leading() !== undefined);
      assert.deepEqual(told.slice(0, 2), ['lead 1', 'lost lapsed']);
      // An attempt during the cut may have counted.
      assert.ok(election.leading()! > 1);
    });

    it('does not lead a second time before the work of the first term has ended', async () => {
      const gate = Promise.withResolvers<void>();
      const { election, told } = await elect({ onLost: () => gate.promise });
      await client.mergePatch(LEASES, 'leader', {
        spec: { holderIdentity: 'somebody', leaseTransitions: 7, leaseDurationSeconds: 1 },
      });
      await until('it is lost', () => election.leading() === undefined);
      await client.mergePatch(LEASES, 'leader', { spec: { holderIdentity: null } });
      // It saw the release. A contender that starts later leads all the same.
      const later = await elect();
      assert.deepEqual([election.leading(), later.told, told], [undefined, ['lead 8'], ['lead 1']]);
      gate.resolve();
      await later.election.stop();
      await until('it leads again', () => election.leading() === 9);
      assert.deepEqual(told, ['lead 1', 'lead 9']);
    });

    it('continues from the highest epoch if the Lease is deleted', async () => {
      const { election, told } = await elect({ epochFloor: () => 41 });
      assert.equal(election.leading(), 42);
      await client.delete(LEASES, 'leader');
      await until('it leads again', () => election.leading() === 43);
      assert.deepEqual(told, ['lead 42', 'lost taken', 'lead 43']);
    });

    it('waits before it creates a deleted Lease anew', async () => {
      const quietMs = 1_500;
      const { election } = await elect({ quietMs });
      const began = performance.now();
      await client.delete(LEASES, 'leader');
      await until('it is lost', () => election.leading() === undefined);
      await until('it leads again', () => election.leading());
      assert.ok(performance.now() - began >= quietMs - 50, 'too early');
    });

    it('waits for no Lease that it never saw', async () => {
      const began = performance.now();
      const { election } = await elect({ quietMs: 60_000 });
      assert.equal(election.leading(), 1);
      assert.ok(performance.now() - began < 10_000);
    });

    it('continues if the Lease is labelled', async () => {
      const { election, told } = await elect({ durationMs: 4000, renewMs: 300, marginMs: 200 });
      for (let n = 0; n < 20; n++) {
        await client.mergePatch(LEASES, 'leader', { metadata: { labels: { n: String(n) } } });
        const { renewTime } = (await client.get(LEASES, 'leader')).spec!;
        if (n % 5 === 0)
          await until('a renewal', async () => (await client.get(LEASES, 'leader')).spec!.renewTime !== renewTime);
      }
      assert.ok(election.stillLeading(200));
      assert.deepEqual(told, ['lead 1']);
    });

    it('a candidate that is slow to learn the epoch takes no lease that another one has taken meanwhile', async () => {
      const times = { durationMs: 6_000, renewMs: 1_000 };
      const first = await elect(times);
      const floor = Promise.withResolvers<number>();
      const asked = Promise.withResolvers<void>();
      const slow = startElection({
        client,
        name: 'leader',
        holder: 'slow',
        ...times,
        epochFloor: () => {
          asked.resolve();
          return floor.promise;
        },
        onLead: () => {},
        onLost: () => {},
      });
      cleanup.push(() => slow.stop());
      await until('it sees the holder', () => slow.seen()?.holder === first.election.identity);
      await first.election.stop();
      await asked.promise;
      const quick = await elect(times);
      // Between two renewals: one would make the write of the slow one a conflict.
      await until('the slow one has seen the latest renewal of the new holder', () => {
        const ageMs = quick.election.ageMs();
        return slow.seen()?.holder === quick.election.identity && ageMs > 300 && ageMs < 600;
      });
      floor.resolve(0);
      const renewals = new Set<string>();
      await until('two renewals', async () => {
        const { spec } = await client.get(LEASES, 'leader');
        assert.deepEqual([spec?.holderIdentity, quick.told], [quick.election.identity, ['lead 2']]);
        renewals.add(spec!.renewTime!);
        return renewals.size > 2;
      });
      assert.equal(slow.leading(), undefined);
    });

    // Delays of a LIST of pools. Each holder releases, the other two want it.
    it('hundreds of releases with slow and unequal candidates: none takes it from a living holder', async function () {
      this.timeout(PATIENCE * 300_000);
      const RELEASES = 200;
      const DELAYS = [5, 30, 105];
      const lost: string[] = [];
      const epochs: number[] = [];
      const standing: Election[] = [];
      const stand = (delayMs: number): Election => {
        const election: Election = startElection({
          client,
          name: 'leader',
          holder: `after-${delayMs}`,
          epochFloor: async () => {
            await pause(delayMs * Math.random());
            return 0;
          },
          onLead: ({ epoch }) => {
            epochs.push(epoch);
            const others = standing.filter((one) => one !== election && one.leading() !== undefined);
            if (others.length > 0) lost.push(`elected for ${epoch} while another one leads`);
          },
          onLost: (why) => {
            if (why !== 'released') lost.push(`${why} in ${epochs.at(-1)}`);
          },
        });
        standing.push(election);
        return election;
      };
      const delays = new Map(DELAYS.map((delayMs) => [stand(delayMs), delayMs]));
      cleanup.push(() => Promise.all(standing.map((election) => election.stop())));
      for (let n = 0; n < RELEASES; n++) {
        const leader = await until('one leads', () => standing.find((one) => one.leading() !== undefined));
        const delayMs = delays.get(leader)!;
        await leader.stop();
        standing.splice(standing.indexOf(leader), 1);
        delays.set(stand(delayMs), delayMs);
      }
      assert.deepEqual(lost, []);
      assert.ok(
        epochs.every((epoch, index) => index === 0 || epoch > epochs[index - 1]!),
        epochs.join(),
      );
    });

    it('releases the lease only after the work has stopped', async () => {
      const gate = Promise.withResolvers<void>();
      const { election } = await elect({ onLost: () => gate.promise });
      const stopping = election.stop();
      assert.equal(election.stillLeading(0), false, 'no more writes from here');
      const held = await client.get(LEASES, 'leader');
      assert.equal(held.spec?.holderIdentity, election.identity);
      gate.resolve();
      await stopping;
      assert.equal((await client.get(LEASES, 'leader')).spec?.holderIdentity, undefined);
    });

    it('does not release the lease if the work does not stop in time', async () => {
      const { election } = await elect({
        durationMs: 1000,
        renewMs: 300,
        marginMs: 200,
        onLost: () => new Promise(() => {}),
      });
      await election.stop();
      assert.equal((await client.get(LEASES, 'leader')).spec?.holderIdentity, election.identity);
    });
  });
});
