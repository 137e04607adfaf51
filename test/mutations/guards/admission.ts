/** Who runs: the leader's epoch and lease, the slots of a token, turns, runners. design.md 3. */
import type { Mutation } from '../mutation.ts';

const LEADER = 'test/controller/leader.test.ts';
const TAKEOVER = 'test/controller/takeover.test.ts';
const LOSSES = 'test/controller/losses.test.ts';
const LEDGER = 'test/controller/ledger.test.ts';
const ACCOUNTS = 'test/controller/ledger_accounts.test.ts';
const ORDERS = 'test/runner/orders.test.ts';
const LEASE = 'test/kube/lease.test.ts';
const RUNNERS = 'test/controller/runners.test.ts';
const POOL = 'test/controller/pool.test.ts';

export const admission: readonly Mutation[] = [
  {
    guard: 'no token holds more slots than its limit',
    file: 'src/controller/ledger.ts', from: '|| token.held >= token.limit) {', to: ') {', test: LEDGER,
  },
  {
    guard: 'turns between tokens are fair: whose job was taken goes to the end',
    file: 'src/controller/ledger.ts', from: 'tokens.delete(id);\n      if (queue.size > 0) tokens.add(id);', to: 'if (queue.size === 0) tokens.delete(id);', test: ACCOUNTS, grep: 'between the tokens of an account',
  },
  {
    guard: 'turns between accounts are fair: whose job was taken goes to the end',
    file: 'src/controller/ledger.ts', from: 'if (turn.delete(id)) turn.add(id);', to: '', test: LEDGER, grep: 'takes turns between tokens',
  },
  {
    guard: 'no account holds more slots than its limit',
    file: 'src/controller/ledger.ts', from: 'if (!account || account.held >= account.limit) {', to: 'if (!account) {', test: ACCOUNTS, grep: 'no account holds more',
  },
  {
    guard: 'a slot that is given back is free once, not twice',
    file: 'src/controller/ledger.ts', from: 'if (!holder) return;\n    this.#holders.delete(key);', to: 'if (!holder) return;', test: LEDGER,
  },
  {
    guard: 'a job that is known already is not queued a second time',
    file: 'src/controller/ledger.ts', from: 'if (this.#waiting.has(entry.key) || this.#holders.has(entry.key)) return;', to: '', test: LEDGER,
  },
  {
    guard: 'a new leader counts what it finds running',
    file: 'src/controller/leader.ts', from: 'this.#holdSlot(job);', to: '', test: TAKEOVER, grep: 'Postgres away while the next leader takes in',
  },
  {
    guard: 'a new leader finishes what has its end in the record already',
    file: 'src/controller/leader.ts', from: 'if (job) void this.#finish(job, recordedEnd(ended));', to: '', test: TAKEOVER, grep: 'what was recorded while nobody led',
  },
  {
    guard: 'the slot is free only when the status says so',
    file: 'src/controller/leader.ts', from: "if (this.#ledger.isWaiting(job.key)) this.#ledger.remove(job.key);", to: 'this.#ledger.remove(job.key);', test: LOSSES, grep: 'while its end is being written',
  },
  {
    guard: 'a lowered limit holds from the next admission on',
    file: 'src/controller/leader.ts', from: 'if (record && !this.#isIdle(id)) this.#ledger.setLimits(id, slotsOf(record));', to: '', test: LEADER, grep: 'a limit that is lowered',
  },
  {
    guard: 'no admission is written with too little of the lease left',
    file: 'src/controller/admission_write.ts', from: 'await leaseSafe(term, LEASE_MARGIN_MS);', to: '', test: TAKEOVER, grep: 'a renewal that is late',
  },
  {
    guard: 'a leader whose lease has passed lets none of its timers act',
    file: 'src/controller/job_timers.ts', from: 'if (term.stillLeading(0)) act();\n    else', to: 'act();\n    if (false)', test: TAKEOVER, grep: 'deposed without knowing',
  },
  {
    guard: 'an admission carries the version that was seen: a write that was overtaken fails',
    file: 'src/controller/admission_write.ts', from: 'namespace: job.namespace, resourceVersion: job.resourceVersion, serverTimeoutMs: WRITE_MS', to: 'namespace: job.namespace, serverTimeoutMs: WRITE_MS', test: TAKEOVER, grep: 'overtaken',
  },
  {
    guard: 'a write that the server gave up does not land later',
    file: 'src/kube/call.ts', from: 'timeout: call.serverTimeoutMs === undefined ? undefined : `${Math.round(call.serverTimeoutMs)}ms`', to: 'timeout: undefined', test: 'test/kube/client.test.ts', grep: 'a write that the server gave up',
  },
  {
    guard: 'a runner obeys no order of an older term',
    file: 'src/runner/orders.ts', from: "if (order.epoch < state.epoch) return 'epoch';", to: '', test: ORDERS,
  },
  {
    guard: 'the answer of an older leader renews no task',
    file: 'src/runner/orders.ts', from: 'if (lease.epoch < before.epoch) return', to: 'if (false) return', test: ORDERS,
  },
  {
    guard: 'the epoch is higher with each taking of the lease',
    file: 'src/kube/lease.ts', from: 'options.epochFloor?.() ?? 0) + 1;', to: 'options.epochFloor?.() ?? 0);', test: LEASE, grep: 'has each epoch once',
  },
  {
    guard: 'where somebody deletes the Lease, epochs count on',
    file: 'src/kube/lease.ts', from: 'Math.max(highest, options.epochFloor?.() ?? 0)', to: '(sighting?.record.epoch ?? 0)', test: LEASE, grep: 'counts on from the highest epoch',
  },
  {
    guard: 'a lease is not taken before the holder\'s whole time has passed',
    file: 'src/kube/lease-record.ts', from: 'return Math.max(0, seenAt + Math.max(durationMs, record.durationMs) - now);', to: 'return 0;', test: 'test/kube/lease-record.test.ts',
  },
  {
    guard: 'leading ends before the lease can lapse',
    file: 'src/kube/lease.ts', from: 'lead !== undefined && ageMs() + margin < durationMs', to: 'lead !== undefined', test: LEASE, grep: 'is lost before it lapses',
  },
  {
    guard: 'whoever wakes after a long pause finds itself not leader before it writes',
    file: 'src/kube/lease.ts', from: 'lead !== undefined && ageMs() + margin < durationMs', to: 'lead !== undefined', test: LEASE, grep: 'stopped in mid-breath',
  },
  {
    guard: 'an admission of a term that is over is refused by the API server itself',
    file: 'charts/probeyard/templates/fence.yaml', from: '|| object.status.admittedBy.epoch >= params.spec.leaseTransitions', to: '|| true', test: 'test/controller/fence.test.ts',
  },
  {
    guard: 'the workers of one term end before the next begins',
    file: 'src/kube/lease.ts', from: 'await losing;\n    const epoch', to: 'const epoch', test: LEASE, grep: 'leads no second time before',
  },
  {
    guard: 'a lease whose workers did not stop is not released',
    file: 'src/kube/lease.ts', from: 'if (stopped) await release()', to: 'await release()', test: LEASE, grep: 'is not released at all',
  },
  {
    guard: 'a runner that is bound to a tenant gets no other\'s job',
    file: 'src/controller/runners.ts', from: "const untouched = free.get('');", to: 'const untouched = [...free.values()][0];', test: RUNNERS, grep: 'never gives one bound to another',
  },
  {
    guard: 'an account leaves room for the untouched runners of others',
    file: 'src/controller/share.ts', from: 'if (size.maxPods - (bound + 1) < reserveOf(size)) return false;', to: '', test: 'test/controller/share.test.ts',
  },
  {
    guard: 'an account at its share lets one with fewer runners go first',
    file: 'src/controller/share.ts', from: 'held < shareOf(size) || fewestOfOthers === undefined || fewestOfOthers >= held', to: 'true', test: 'test/controller/share.test.ts',
  },
  {
    guard: 'the runner itself refuses another tenant',
    file: 'src/runner/orders.ts', from: "if (state.tenant !== undefined && state.tenant !== order.tenant) return 'tenant';", to: '', test: ORDERS,
  },
  {
    guard: 'a source with credentials gets a pod of its own',
    file: 'src/controller/tenant.ts', from: 'if (job.credentials) return `x:${job.id}`;', to: '', test: POOL,
  },
  {
    guard: 'a pod of its own is used once',
    file: 'src/controller/tenant.ts', from: '/^[xj]:/', to: '/^[j]:/', test: POOL,
  },
  {
    guard: 'a pool never plans more pods than its maximum',
    file: 'src/controller/pool.ts', from: 'Math.min(want - have, room, startingMost - startingNow)', to: 'Math.min(want - have, startingMost - startingNow)', test: POOL,
  },
  {
    guard: 'pods that the watch has not shown yet are counted',
    file: 'src/controller/pool.ts', from: ' < START_HOPE_MS).length + unseen;', to: ' < START_HOPE_MS).length;', test: POOL,
  },
  {
    guard: 'a tool is not degraded for one pull that failed',
    file: 'src/controller/stuck_tools.ts', from: 'at - since >= STUCK_PATIENCE_MS', to: 'true', test: 'test/controller/stuck_tools.test.ts', grep: 'within the patience',
  },
  {
    guard: 'a tool is not degraded for the trouble of one node',
    file: 'src/controller/stuck_tools.ts', from: ' && !cameUpElsewhere(runner, since)', to: '', test: 'test/controller/stuck_tools.test.ts', grep: 'came up meanwhile',
  },
  {
    guard: 'the proof of a refused tool that is made again is waited for',
    file: 'src/controller/tools.ts', from: 'settled && !deps.again.has(name)', to: 'settled', test: 'test/controller/stuck_tools.test.ts', grep: 'refused, it is proven again',
  },
  {
    guard: 'a busy account lends a runner only to a tenant that has waited',
    file: 'src/controller/pool.ts', from: 'const lends = waitMs >= FAIR_WAIT_MS;', to: 'const lends = true;', test: POOL,
  },
  {
    guard: 'nobody waits for a pod that should have been up long ago',
    file: 'src/controller/pool.ts', from: ' && now - createdAt < START_HOPE_MS)', to: ')', test: POOL,
  },
  {
    guard: 'a heartbeat that was under way when the job was given does not free the runner',
    file: 'src/controller/runners.ts', from: 'runner.task !== undefined && beat.jobsDone > runner.task.doneBefore', to: 'runner.task !== undefined', test: RUNNERS,
  },
  {
    guard: 'a heartbeat of a pod that nobody made counts for nothing',
    file: 'src/controller/runners.ts', from: 'if (!runner) return { freed: false };', to: 'if (!runner) return { freed: true };', test: RUNNERS,
  },
  {
    guard: 'only so many may wait in the whole installation',
    file: 'src/controller/leader.ts', from: 'this.#ledger.waiting >= this.#deps.maxQueued', to: 'false', test: LEADER, grep: 'refuses more than may wait in all',
  },
  {
    guard: 'a request waits no longer than its time in the queue',
    file: 'src/controller/leader.ts', from: 'this.#ledger.enqueue(job, slotsOf(token));\n    this.#armQueue(job);', to: 'this.#ledger.enqueue(job, slotsOf(token));', test: LEADER, grep: 'says in time why',
  },
];
