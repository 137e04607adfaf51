import type { Mutation } from '../mutation.ts';

const LYING = 'test/controller/lying_runners.test.ts';
const KEPT = 'test/controller/finalizers.test.ts';
const WATCH = 'test/faults/watch_frozen.test.ts';

export const lies: readonly Mutation[] = [
  { guard: 'a pod beats for itself alone', file: 'src/bus/claims.ts', from: "subject === SUBJECT.heartbeat(beat['uid'])", to: 'true', test: LYING, grep: 'cannot beat for another pod' },
  { guard: 'a heartbeat has its form', file: 'src/bus/claims.ts', from: "PHASES.includes(beat['phase'])", to: 'true', test: LYING, grep: 'without its form' },
  { guard: 'an answer goes into an inbox', file: 'src/bus/connect.ts', from: 'message.reply?.startsWith(INBOXES)', to: 'message.reply', test: 'test/bus/replies.test.ts', grep: 'into an inbox' },
  { guard: 'a silent name server holds no connection', file: 'src/bus/transport.ts', from: 'new SocketTransport() });', to: "new SocketTransport(), dnsResolveFn: async (name) => (await import('node:dns')).promises.resolve4(name) });", test: 'test/bus/connect.test.ts', grep: 'does not answer' },
  { guard: 'a session whose client is gone is ended', file: 'src/store/connection.ts', from: ', options: KEEPALIVE', to: '', test: 'test/store/restart.test.ts', grep: 'went without a word' },
  { guard: 'what JetStream confirms is no order', file: 'src/bus/claims.ts', from: "isObject(order) && isName(order['job'])", to: "isObject(order) || isName(order['job'])", test: 'test/bus/replies.test.ts', grep: 'is no order' },
  { guard: 'a runner keeps its tenant', file: 'src/controller/runners.ts', from: 'runner.tenant ??= isForOneJob', to: 'runner.tenant = isForOneJob', test: LYING, grep: 'cannot change its tenant' },
  { guard: 'a new leader knows whose a pod is', file: 'src/controller/leader.ts', from: 'owners.bind((token) => this.#tokens.known(token), byHand, (pool) => pools.scopeOf(pool));', to: '', test: LYING, grep: 'to a new leader' },
  { guard: 'a pod loses its own job alone', file: 'src/controller/leader.ts', from: 'if (job?.runner?.uid === task.uid) void', to: 'if (job) void', test: LYING, grep: 'by claiming it' },
  { guard: 'a deleted job is cancelled, whatever keeps it', file: 'src/controller/leader.ts', from: 'else if (isBeingDeleted(job)) void this.#end(known, CANCELLED);', to: '', test: KEPT, grep: 'waiting or running' },
  { guard: 'a finished job is deleted once', file: 'src/controller/retention.ts', from: 'if (isBeingDeleted(job)) return;', to: '', test: KEPT, grep: 'is deleted once' },
  { guard: 'a token of a pod is good on a clock that is a minute off', file: 'src/bus/podtoken.ts', from: 'const SKEW_SECONDS = 90;', to: 'const SKEW_SECONDS = 5;', test: 'test/bus/callout.test.ts', grep: 'that is a minute' },
  { guard: 'a log that could not be read refuses no tool', file: 'src/controller/tool_proof.ts', from: "(log === undefined || pod.status?.phase === 'Succeeded') && age <= PULL_PATIENCE_MS", to: 'false', test: 'test/controller/tool_proof.test.ts' },
  { guard: 'a proof has its time on a clock that is a minute off', file: 'src/controller/tool_proof.ts', from: 'since ?? Date.parse', to: 'Date.parse', test: 'test/controller/tool_proof.test.ts', grep: 'counts patience' },
  { guard: 'a job that the watch has not shown is looked for', file: 'src/controller/term.ts', from: 'late.told(message.job);', to: '', test: WATCH, grep: 'a fifth of all events' },
  { guard: 'a job whose event was lost has its end', file: 'src/controller/sweep.ts', from: 'deps.behind(row.id);', to: '', test: WATCH, grep: 'that nobody told of' },
];
