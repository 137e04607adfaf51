/** One end for each request: losses, deadlines, the one transaction, results that come twice or not at all. design.md 3, 6. */
import type { Mutation } from '../mutation.ts';

const LEADER = 'test/controller/leader.test.ts';
const LOSSES = 'test/controller/losses.test.ts';
const REQUESTS = 'test/store/requests.test.ts';
const RESULTS = 'test/bus/results.test.ts';
const AGENT = 'test/runner/agent.test.ts';
const ORDERS = 'test/runner/orders.test.ts';
const JOB = 'test/controller/job.test.ts';
const CLOSER = 'src/store/migrations/0040_inflated_bytes.sql';
const ROLLUPS = 'src/store/migrations/0030_rollups.sql';
const RETENTION = 'src/store/migrations/0031_retention.sql';

export const ends: readonly Mutation[] = [
  {
    guard: 'a request is closed only while it is open: a second end changes nothing',
    file: CLOSER, from: "and q.state = 'open'\n", to: '\n', test: REQUESTS, grep: 'close',
  },
  {
    guard: 'who closed learns it although the answer was lost',
    file: CLOSER, from: 'coalesce(q.closer = p_closer, false)', to: 'false', test: 'test/store/restart.test.ts', grep: 'an answer lost after the commit',
  },
  {
    guard: 'usage is counted in the transaction that closes',
    file: CLOSER, from: 'requests = u.requests + 1,', to: 'requests = u.requests,', test: REQUESTS, grep: 'rollups equal a recount',
  },
  {
    guard: 'folding moves figures in one transaction: none is counted twice',
    file: ROLLUPS, from: 'delete from usage_minute where ctid = any(array(select ctid from usage_minute where minute < now() - p_rest limit p_most for update skip locked)) returning usage_minute', to: 'select usage_minute from usage_minute where minute < now() - p_rest limit p_most', test: 'test/store/rollups.test.ts', grep: 'over every range and aggregation',
  },
  {
    guard: 'a webhook is promised in the transaction that closes',
    file: CLOSER, from: 'if r.webhook_url is not null then', to: 'if false then', test: REQUESTS, grep: 'puts a webhook into the outbox once',
  },
  {
    guard: 'the open row is there before the job is created',
    file: 'src/store/migrations/0003_requests.sql', from: "on conflict do nothing;\n  outcome := 'opened';", to: "on conflict do nothing;\n  delete from requests where id = p_id;\n  outcome := 'opened';", test: REQUESTS, grep: 'makes an open row',
  },
  {
    guard: 'a call that is sent again opens no second request, and is not counted again',
    file: 'src/store/migrations/0003_requests.sql', from: 'perform 1 from requests where id = p_id and submitted_at = p_submitted_at;', to: 'perform 1 from requests where false;', test: REQUESTS, grep: 'a repeat of the same id',
  },
  {
    guard: 'a key that was used with another body is refused',
    file: 'src/store/migrations/0003_requests.sql', from: "case when seen.body_sha256 = p_body_sha256 then 'repeated' else 'idempotency-conflict' end", to: "'repeated'", test: REQUESTS, grep: 'another body is a conflict',
  },
  {
    guard: 'a result is taken only of the pod and attempt that were assigned',
    file: 'src/controller/collect.ts', from: 'if (!job || isFinished(job.status) || !isAssigned(job, result)) {', to: 'if (!job || isFinished(job.status)) {', test: LOSSES, grep: 'a result of a pod or an attempt',
  },
  {
    guard: 'a result speaks for the pod in its subject alone',
    file: 'src/bus/collect.ts', from: '&& subject === SUBJECT.result(header.podUid)', to: '', test: RESULTS, grep: 'under another pod',
  },
  {
    guard: 'a result that is sent twice in a row is one message',
    file: 'src/bus/results.ts', from: "head.set('Nats-Msg-Id', id);", to: '', test: RESULTS, grep: 'the same result twice',
  },
  {
    guard: 'the stream forgets duplicates before a runner sends again',
    file: 'src/bus/streams.ts', from: 'const DEDUPE_MS = 5_000;', to: 'const DEDUPE_MS = 600_000;', test: AGENT, grep: 'sends a result again until it hears',
  },
  {
    guard: 'a runner sends its result until it hears that it is collected',
    file: 'src/runner/publish.ts', from: 'while (!signal.aborted) {', to: 'for (let once = true; once; once = false) {', test: AGENT, grep: 'sends a result again until it hears',
  },
  {
    guard: 'a result is acknowledged only when it is recorded',
    file: 'src/bus/collect.ts', from: 'message.nak(AGAIN_MS);', to: 'message.ack();', test: RESULTS, grep: 'a handler that fails gets the result again',
  },
  {
    guard: 'a result that is larger than declared is not inflated further',
    file: 'src/bus/packing.ts', from: 'const limit = { maxOutputLength: Math.max(1, declared) };', to: 'const limit = {};', test: RESULTS, grep: 'refuses',
  },
  {
    guard: 'the body of a result is what its header says',
    file: 'src/bus/packing.ts', from: 'if (digest(packed) !== header.sha256)', to: 'if (false)', test: RESULTS, grep: 'refuses',
  },
  {
    guard: 'a body over the limit is refused before it is read whole',
    file: 'src/bus/results.ts', from: 'if (total > Math.min(maxBytes, header.chunks * CHUNK_BYTES)) throw tooLarge();', to: '', test: RESULTS, grep: 'a body over the limit',
  },
  {
    guard: 'a result that cannot be read is an end, not a wait',
    file: 'src/controller/collect.ts', from: 'read = { body: unreadable(job), inflatedBytes: text.length };', to: 'throw error;', test: LOSSES, grep: 'cannot be read',
  },
  {
    guard: 'the body of a result has the form of one',
    file: 'src/controller/collect.ts', from: 'if (validBody(body)) return body;', to: 'return body as ResultBody;', test: LOSSES, grep: 'cannot be read',
  },
  {
    guard: 'an agent that no leader answers ends its job',
    file: 'src/runner/agent.ts', from: "if (state.task?.stage === 'running' && !heartbeats.held()) take(onLeaseLost(state, now));", to: '', test: AGENT, grep: 'drops its job when no leader renews the lease',
  },
  {
    guard: 'a lease of a task counts from the question, not from the answer',
    file: 'src/runner/heartbeat.ts', from: 'renewedAt = Math.max(renewedAt, askedAt);', to: 'renewedAt = performance.now();', test: 'test/runner/heartbeat.test.ts',
  },
  {
    guard: 'an order that comes twice runs once',
    file: 'src/runner/orders.ts', from: "(state.task?.stage === 'running' && same(state.task, order)) || state.recent.includes(key(order))", to: 'false', test: ORDERS,
  },
  {
    guard: 'a runner that goes by itself holds no place',
    file: 'src/controller/pool.ts', from: "for (const runner of live) if (isDraining(runner) && !runner.task) finish(runner, 'drained');", to: '', test: LOSSES, grep: 'goes by itself',
  },
  {
    guard: 'a new leader ends no runner that it has not heard of yet',
    file: 'src/controller/pool.ts', from: " && now - runner.createdAt > HEARD_MS) finish(runner, 'old-generation')", to: ") finish(runner, 'old-generation')", test: 'test/controller/pool.test.ts', grep: 'rolls to a new generation',
  },
  {
    guard: 'a pod without its agent holds no job',
    file: 'src/controller/pod.ts', from: 'name === AGENT && state?.terminated !== undefined', to: 'name !== name', test: LOSSES, grep: 'whose agent has ended',
  },
  {
    guard: 'a runner that is silent for too long is lost',
    file: 'src/controller/runners.ts', from: 'now - runner.seenAt > silenceMs', to: 'false', test: 'test/controller/runners.test.ts', grep: 'names the silent',
  },
  {
    guard: 'a job whose pod went, seen or not, runs on another',
    file: 'src/controller/leader.ts', from: 'if (!runner || now() - job.goneAt > RUNNER_SILENCE_MS) await', to: 'if (now() - job.goneAt > RUNNER_SILENCE_MS) await', test: 'test/controller/takeover.test.ts', grep: 'whose pod went while nobody led',
  },
  {
    guard: 'a job that lost three runners has its end',
    file: 'src/controller/job.ts', from: 'export const MAX_ATTEMPTS = 3;', to: 'export const MAX_ATTEMPTS = 4;', test: LOSSES, grep: 'a pod that is deleted while it works',
  },
  {
    guard: 'a runner that refuses costs no attempt',
    file: 'src/controller/leader.ts', from: "if (said.why !== 'silent') job.refusals += 1;", to: '', test: LOSSES, grep: 'the only runner refuses some times',
  },
  {
    guard: 'before a job runs again the record is asked for its end',
    file: 'src/controller/leader.ts', from: 'if (ended) {\n      await this.#finish(job, recordedEnd(ended));\n      return;\n    }\n    if (attempt', to: 'if (attempt', test: LOSSES, grep: 'was recorded just before its runner was lost',
  },
  {
    guard: 'an end whose notice was lost is found',
    file: 'src/controller/leader.ts', from: 'if (end) await this.#finish(job, recordedEnd(end));\n      else if', to: 'if (!end && false) continue;\n      else if', test: LOSSES, grep: 'a lost notice of the collector',
  },
  {
    guard: 'a job that no runner ends has its end at its deadline',
    file: 'src/controller/leader.ts', from: 'disarm(job);\n      this.#armDeadline(job, store.clock.now());', to: 'disarm(job);', test: LEADER, grep: 'a job that no runner ends in time',
  },
  {
    guard: 'deleting a job cancels it',
    file: 'src/controller/leader.ts', from: 'if (job && job.uid === (object.metadata.uid ?? job.uid)) void this.#deleted(job);', to: 'if (job) return;', test: LOSSES, grep: 'deleted while it runs',
  },
  {
    guard: 'a job of the same name is another job',
    file: 'src/controller/leader.ts', from: 'if (known.uid !== job.metadata.uid) this.#successors.set(job.metadata.name, job);', to: 'if (known.uid !== job.metadata.uid) return;', test: LOSSES, grep: 'a job of the same name',
  },
  {
    guard: 'a row without a job is ended',
    file: 'src/controller/sweep.ts', from: 'await store.openRows(new Date(now - GRACE_MS), BATCH);', to: '[] as OpenRow[];', test: LEADER, grep: 'a row whose job never came',
  },
  {
    guard: 'only what can no longer be created is swept',
    file: 'src/controller/sweep.ts', from: 'row.queueTimeoutMs + GRACE_MS;', to: 'GRACE_MS;', test: JOB, grep: 'only what could not have been created',
  },
  {
    guard: 'finished jobs leave the cluster',
    file: 'src/controller/retention.ts', from: 'now - kept.completedAt > limits.finishedSeconds * 1000', to: 'false', test: JOB, grep: 'go after their time',
  },
  {
    guard: 'of finished jobs only so many stay, in all and of a token',
    file: 'src/controller/retention.ts', from: '&& ofToken <= limits.finishedMaxPerToken', to: '', test: JOB, grep: 'go earlier',
  },
  {
    guard: 'a retry keeps the start: its times count from the first admission',
    file: 'src/controller/conditions.ts', from: 'startedAt: previous?.startedAt ?? now,', to: 'startedAt: now,', test: 'test/controller/conditions.test.ts',
  },
  {
    guard: 'the text of a tool can break no resource',
    file: 'src/controller/conditions.ts', from: 'summary: printable(finish.summary, 1024),', to: 'summary: finish.summary,', test: 'test/controller/conditions.test.ts',
  },
  {
    guard: 'a lost notice is made up for by a look at the record',
    file: 'src/api/waiting.ts', from: 'if (waiters.size > 0) void lookNow();', to: '', test: 'test/api/probe_file.test.ts', grep: 'when the notice is lost',
  },
  {
    guard: 'a create that was done but not answered is one job',
    file: 'src/api/create_job.ts', from: "if (isKubeError(error, 'already-exists')) return;", to: '', test: 'test/api/create_job.test.ts',
  },
  {
    guard: 'a caller who hangs up cancels his request',
    file: 'src/api/follow.ts', from: "ctx.res.once('close', hungUp);", to: '', test: 'test/api/probe_file.test.ts', grep: 'is cancelled when its caller hangs up',
  },
  {
    guard: 'a replica that drains cancels nothing',
    file: 'src/api/follow.ts', from: 'if (mine && !deps.drain.started) {', to: 'if (mine) {', test: 'test/api/failures.test.ts', grep: 'is waited for while its replica drains',
  },
  {
    guard: 'results go when their time has come, not before',
    file: 'src/store/retention.ts', from: "drop_envelopes(now() - make_interval(days => $1)) more", to: "drop_envelopes(now() - make_interval(hours => $1)) more", test: 'test/store/retention.test.ts', grep: 'results after 30 days',
  },
  {
    guard: 'erasing a user erases his sub-users',
    file: RETENTION, from: 'u.parent_id = b.id or u.root_id = b.id', to: 'false', test: 'test/store/retention.test.ts', grep: 'with his sub-users',
  },
  {
    guard: 'what still ran when a user was erased leaves nothing either',
    file: RETENTION, from: "delete from erasures where user_id = p_user and asked_at < now() - interval '1 day';", to: 'delete from erasures where user_id = p_user;', test: 'test/store/retention.test.ts', grep: 'what still ran leaves nothing',
  },
];
