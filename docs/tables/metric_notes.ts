/** What the page of metrics says beside the help of each: the values of labels, and when a value is bad. */

/** Every label. Each is bounded: none holds an account, a token, an address or a request. */
export const LABELS: Readonly<Record<string, string>> = {
  by: '`account`, `address` or `replica`',
  certificate: '`nats`, `nats-ca`',
  from: '`cache` or `postgres`',
  job: '`readPolicy`, `judge`, `compare`, `compareFields`, `readList`, `say`, `timeline`, `pictures`, `reportPage`',
  outcome: 'a fixed set for each metric',
  pool: 'names of ProbePools, which the operator chooses',
  rank: '`1` to `20`; `GET cluster` names the accounts in the same order',
  reason: 'a fixed set for each metric: reasons of ends, of waiting, of lost attempts, codes of errors',
  resource: '`probejobs`, `pods`, `probetools`, `probepools`',
  route: 'patterns of the routes, and `other`',
  state: 'a fixed set for each metric',
  code: '[the codes of errors](../sources.md#causes), with `http-NNN` for all statuses and `other` for unknown ones',
  status: '`2xx` to `5xx`',
  step: '`open`, `create`, `answer`',
  stream: '`results` or `chunks`',
  tool: 'the tools that Probeyard knows',
  version: 'versions of the installed ProbeTools, or of Probeyard',
  wall: 'the walls of `runners.isolation.require`',
  why: 'a fixed set: `idle`, `age`, `silent`, `never-ready` …',
};

/** By metric. An alert that watches it is added by itself. */
export const WORRY: Readonly<Record<string, string>> = {
  probeyard_fence_missing:
    'it is 1: `admissionPolicy.enabled` is off, the policy was deleted, or the CRDs are those of an older version; a ' +
    'leader that was paused may then give a token one slot too many',
  probeyard_backup_last_success_timestamp_seconds: 'it is not 0 and older than two turns of `backup.schedule`',
  probeyard_backup_last_failure_timestamp_seconds: 'it is later than the last success',
  probeyard_api_requests_total: 'the share of `5xx` grows; `route` without `/healthz` and `/readyz`',
  probeyard_api_failures_total:
    'it increases at all: `postgres`, `nats` and `kubernetes` are dependencies that were away, `memory` is the ' +
    'budget, `objects` the room in etcd, `tool` a version whose image is being tried',
  probeyard_api_cut_answers_total: 'it grows with the load: callers time out, or a proxy in front closes connections',
  probeyard_api_memory_refused_total: '`replica` increases: raise `api.memoryBudgetBytes` and the memory limit',
  probeyard_api_connections_refused_total: '`replica` increases: raise `api.maxConnections` or add replicas',
  probeyard_api_overload_refused_total:
    '`replica` increases: this replica has too little CPU for its work; `account` alone: one account asks for too much',
  probeyard_api_events_messages_total: '`dropped` or `failed` increases: sources learn of objects by listings alone',
  probeyard_api_events_server_up: 'it stays 0: the log says why, and sources learn of objects by listings alone',
  probeyard_api_slow_sockets_closed_total: 'there are many: callers read slowly, or a proxy does',
  probeyard_jobs_waited_total: '`NoRunner` increases: the pool is too small',
  probeyard_jobs_finished_total: '`RunnerLost` or `InternalError` increases: the installation failed a request',
  probeyard_jobs_retried_total: 'it increases outside of upgrades and drains',
  probeyard_queue_seconds: 'its 95th percentile is above a few seconds',
  probeyard_results_collected_total: '`invalid` or `foreign` increases: a runner of another version, or a hostile one',
  probeyard_leading: 'the sum is 0 for longer than a failover (7 s)',
  probeyard_leader_known: '0 on every replica for longer than a failover (7 s)',
  probeyard_lease_age_seconds: 'above 6 on every replica',
  probeyard_runner_pods: '`starting` stays above 0 while `ready` stays below minReady',
  probeyard_pool_isolation: 'it was 1 and is 0: a node without that wall joined',
  probeyard_runner_pods_ended_total: '`silent`, `never-ready`, `flood` or `isolation` increases',
  probeyard_runner_pod_jobs: 'its mean falls below a few dozen: most of the CPU goes into pods',
  probeyard_cache_lists_total: 'it increases every minute: watches break',
  probeyard_nats_callouts_total: "`refused` increases: something without a runner's token asks for NATS",
  probeyard_queue_oldest_seconds: 'it stays near the queue timeout (60 s)',
  probeyard_job_objects: '`finished` stays above its limit by more than a few hundred',
  probeyard_account_jobs: 'rank 1 holds most of what all hold',
  probeyard_postgres_waiting: 'above 0 for minutes: the pool of connections is used up',
  probeyard_nats_disconnects_total: 'it increases outside of restarts of NATS',
  probeyard_stream_messages: '`results` stays above a few dozen: collectors do not keep up',
  probeyard_webhook_attempts_total: '`pending` and `failed` outweigh `delivered`',
  probeyard_webhooks_in_hand: 'it stays at 32, the most that a replica sends at once',
  probeyard_webhooks_pending: 'it grows for hours',
  probeyard_tool_failures_total:
    '`crashed`, `out-of-memory` or `unavailable` rise, or `dns` and `connect` of all sources at once',
  probeyard_tool_runs_total: 'the share of `failed` of one tool jumps',
  probeyard_spans_total:
    '`refused` or `dropped` increases: the receiver of spans is away or too slow; no request waits for it',
  probeyard_api_memory_waiting: 'above 0 for minutes',
  probeyard_event_loop_busy_seconds_total: 'its rate is near 1 on the leader: no job is admitted faster than it works',
};

export interface Foreign {
  name: string;
  from: string;
  text: string;
}

/** Metrics that rules and dashboards use and others export. */
export const FOREIGN: readonly Foreign[] = [
  { name: 'ALERTS', from: 'Prometheus', text: '1 for each alert that is pending or fires' },
  { name: 'up', from: 'Prometheus', text: '1 if the last scrape of a pod succeeded' },
  { name: 'process_start_time_seconds', from: 'every process', text: 'Unix time of its start' },
  { name: 'process_cpu_seconds_total', from: 'every process', text: 'CPU time used' },
  { name: 'process_resident_memory_bytes', from: 'every process', text: 'Memory used' },
  { name: 'nodejs_eventloop_lag_p99_seconds', from: 'every process', text: 'Delay of the event loop' },
  { name: 'kubelet_volume_stats_available_bytes', from: 'the kubelet', text: 'Free space of a claim' },
  { name: 'kubelet_volume_stats_capacity_bytes', from: 'the kubelet', text: 'Size of a claim' },
];
