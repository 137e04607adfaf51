/**
 * A process of shards.ts: a replica that stands for the election of some shards, or one that only collects results. It
 * reports its cost and its shards on request.
 */
import { connectBus } from '../../src/platform/bus/connect.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { startCandidate, startController, startReplica } from '../../test/controller/controller_part.ts';
import type { Given } from './controller.ts';
import { isIdle, lending } from './lend.ts';
import { Shard } from './shard.ts';
import { kubeClient } from '../../test/kube/kubeconfig.ts';

export interface ShardGiven extends Given {
  /** One: a replica as it is, without shards. */
  of: number;
  lends: boolean;
}

/** `lead`: at once, whatever becomes of the lease, which a busy machine takes away. `stand`: for election. */
export type Told = { start: ShardGiven } | { lead: number } | { stand: number } | { collect: true } | { cost: true };

export interface ShardCost {
  cpuMs: number;
  /** Of the thread of the event loop alone. */
  threadMs: number;
  given: number;
  shards: { index: number; epoch: number; waiting: number; running: number; idle: number; starved: boolean }[];
}

const shards: Shard[] = [];
const lent: ReturnType<typeof lending>[] = [];
let given: ShardGiven;

const clients = async (name: string) => ({
  kube: await kubeClient({ kubeconfig: given.kubeconfig, namespace: given.namespace }),
  store: await openStore({ url: given.postgresUrl }),
  bus: await connectBus({ url: given.natsUrl, name, inboxPrefix: '_INBOX_controller' }),
});

async function take(index: number, elected: boolean): Promise<void> {
  const { kube, store, bus } = await clients('controller');
  const shard = new Shard(kube, bus, index, given.of);
  const parts = given.of === 1 ? { kube, bus } : { kube: shard.kube, bus: shard.bus };
  const options = { ...given, ...parts, store, collects: false, quiet: true };
  if (elected) {
    const { candidacy } = await startCandidate(options);
    shard.term = () => candidacy.term();
  } else {
    const { term } = await startController(options);
    shard.term = () => term;
  }
  shards.push(shard);
  if (given.lends) lent.push(lending(shard, bus));
}

async function collect(): Promise<void> {
  await startReplica({ ...given, ...(await clients('collector')), quiet: true }, () => undefined);
}

function cost(): ShardCost {
  const { user, system } = process.cpuUsage();
  const thread = process.threadCpuUsage();
  return {
    cpuMs: (user + system) / 1000,
    threadMs: (thread.user + thread.system) / 1000,
    given: lent.reduce((sum, { given: count }) => sum + count(), 0),
    shards: shards.flatMap(({ index, term: termOf }) => {
      const term = termOf();
      // One that is still starting knows no jobs yet.
      if (!term?.leader.ready) return [];
      const { waiting, held: running } = term.leader.ledger;
      const idle = [...term.runners.all()].filter(isIdle).length;
      const wants = term.pools.names().some((pool) => term.leader.demand(pool).length > 0);
      return [{ index, epoch: term.term.epoch, waiting, running, idle, starved: wants && idle === 0 }];
    }),
  };
}

// The process that requested the measurement has exited.
process.once('disconnect', () => process.exit(0));
process.on('message', (told: Told) => {
  if ('cost' in told) return void process.send?.(cost());
  void (async () => {
    if ('start' in told) given = told.start;
    else if ('collect' in told) await collect();
    else if ('lead' in told) await take(told.lead, false);
    else await take(told.stand, true);
    process.send?.('done');
  })();
});
