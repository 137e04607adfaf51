/**
 * Every alert, of which the chart's rules, the page of metrics and the tests are made. In expressions, `@api@` and the
 * like stand for the labels of an installation, `<5m>` for a window, and `<=30>` for a number of seconds. The chart
 * puts them in, and multiplies times by `metrics.prometheusRule.timeFactor`. `{{` belongs to Prometheus.
 */
export interface Alert {
  name: `Probeyard${string}`;
  /** `critical`: requests fail or will soon. `warning`: somebody should look during the day. */
  severity: 'critical' | 'warning';
  expr: string;
  /** `0s`: at the first evaluation. */
  for: string;
  summary: string;
}

/** Alerts are one for each installation, where one Prometheus holds several clusters. */
const HERE = 'cluster, namespace';

const answers = (window: string, status = ''): string =>
  `sum by (${HERE}) (rate(probeyard_api_requests_total{@api@, route!~"/healthz|/readyz"${status}}[<${window}>]))`;
const failed = (window: string): string => `${answers(window, ', status="5xx"')} / ${answers(window)}`;
const late = (window: string): string =>
  `sum by (${HERE}) (rate(probeyard_jobs_waited_total{@controller@, ` +
  `reason=~"NoRunner|IsolationMissing|AccountAtShare|Queued"}[<${window}>])) / ` +
  `sum by (${HERE}) (rate(probeyard_jobs_admitted_total{@controller@}[<${window}>]))`;

/**
 * A budget burns at 14.4 times its rate if a month of it lasts two days, and at 6 times if it lasts five. The short
 * window ends the alert soon after the fault.
 */
const burns = (ratio: (window: string) => string, budget: string, rate: number, long: string, short: string): string =>
  `${ratio(long)} > ${rate} * ${budget} and ${ratio(short)} > ${rate} * ${budget}`;

export const ALERTS: readonly Alert[] = [
  {
    name: 'ProbeyardApiMissing',
    severity: 'critical',
    expr: `max by (${HERE}) (up{@api@}) == 0 or absent(up{@api@})`,
    for: '2m',
    summary: 'No API pod of @name@ answers. Callers get no answers.',
  },
  {
    name: 'ProbeyardControllerMissing',
    severity: 'critical',
    expr: `max by (${HERE}) (up{@controller@}) == 0 or absent(up{@controller@})`,
    for: '2m',
    summary: 'No controller of @name@ answers. Requests wait.',
  },
  {
    name: 'ProbeyardNoLeader',
    severity: 'critical',
    expr: `max by (${HERE}) (probeyard_leader_known{@controller@}) == 0`,
    for: '1m',
    summary: 'No controller of @name@ leads. Requests wait.',
  },
  {
    name: 'ProbeyardRestarts',
    severity: 'warning',
    expr: `max by (${HERE}, pod) (changes(process_start_time_seconds{@both@}[<15m>])) > 2`,
    for: '0s',
    summary: 'Pod {{ $labels.pod }} of @name@ keeps restarting.',
  },
  {
    name: 'ProbeyardAnswersFailFast',
    severity: 'critical',
    expr: burns(failed, '@answerBudget@', 14.4, '1h', '5m'),
    for: '2m',
    summary: 'Requests to @name@ fail, and use up a month of their service level in two days.',
  },
  {
    name: 'ProbeyardAnswersFail',
    severity: 'warning',
    expr: burns(failed, '@answerBudget@', 6, '6h', '30m'),
    for: '15m',
    summary: 'Requests to @name@ fail, and use up a month of their service level in five days.',
  },
  {
    name: 'ProbeyardJobsWaitFast',
    severity: 'critical',
    expr: burns(late, '@queueBudget@', 14.4, '1h', '5m'),
    for: '2m',
    summary: 'Most jobs of @name@ wait for a runner.',
  },
  {
    name: 'ProbeyardJobsWait',
    severity: 'warning',
    expr: burns(late, '@queueBudget@', 6, '6h', '30m'),
    for: '15m',
    summary: 'Many jobs of @name@ wait for a runner.',
  },
  {
    name: 'ProbeyardLeaderSaturated',
    severity: 'warning',
    expr:
      `max by (${HERE}, pod) (rate(probeyard_event_loop_busy_seconds_total{@controller@}[<5m>])) > 0.85 ` +
      `and on (${HERE}, pod) max by (${HERE}, pod) (probeyard_leading{@controller@}) == 1`,
    for: '10m',
    summary: 'The leader of @name@ is busy all the time. Jobs wait for it, however many runners are free.',
  },
  {
    name: 'ProbeyardQueueStuck',
    severity: 'critical',
    expr:
      `max by (${HERE}, pool) (probeyard_queue_oldest_seconds{@controller@}) > <=20> unless on (${HERE}, pool) ` +
      `sum by (${HERE}, pool) (increase(probeyard_jobs_admitted_total{@controller@}[<5m>])) > 0`,
    for: '2m',
    summary: 'Jobs of pool {{ $labels.pool }} of @name@ wait, and none starts.',
  },
  {
    name: 'ProbeyardJobsLost',
    severity: 'warning',
    expr:
      `sum by (${HERE}, reason) (increase(probeyard_jobs_finished_total{@controller@, ` +
      `reason=~"RunnerLost|InternalError"}[<10m>])) > 0`,
    for: '0s',
    summary: '@name@ failed requests by its own fault ({{ $labels.reason }}).',
  },
  {
    name: 'ProbeyardAttemptsLost',
    severity: 'warning',
    expr:
      `sum by (${HERE}, reason) (increase(probeyard_jobs_retried_total{@controller@}[<15m>])) > 5 and on (${HERE}) ` +
      `sum by (${HERE}) (increase(probeyard_jobs_retried_total{@controller@}[<15m>])) > ` +
      `0.05 * sum by (${HERE}) (increase(probeyard_jobs_admitted_total{@controller@}[<15m>]))`,
    for: '0s',
    summary: 'Runners of @name@ lose jobs, which run again ({{ $labels.reason }}).',
  },
  {
    name: 'ProbeyardJobObjectsPileUp',
    severity: 'critical',
    expr:
      `max by (${HERE}) (probeyard_job_objects{@controller@, state="finished"}) > ` +
      `max by (${HERE}) (probeyard_job_objects_limit{@controller@}) + 2500 or ` +
      `sum by (${HERE}) (increase(probeyard_api_failures_total{@api@, reason="objects"}[<5m>])) > 0`,
    for: '5m',
    summary:
      'ProbeJobs of @name@ come faster than finished ones are deleted. They fill etcd, and requests are refused.',
  },
  {
    name: 'ProbeyardPoolNotReady',
    severity: 'warning',
    expr: `max by (${HERE}, pool) (probeyard_pool_ready{@controller@}) == 0`,
    for: '10m',
    summary: 'Pool {{ $labels.pool }} of @name@ has too few runners.',
  },
  {
    name: 'ProbeyardPoolHeldBack',
    severity: 'warning',
    expr: `max by (${HERE}, pool) (probeyard_pool_held_back{@controller@}) == 1`,
    for: '10m',
    summary: 'The cluster accepts no more runner pods of pool {{ $labels.pool }} of @name@.',
  },
  {
    name: 'ProbeyardPoolFull',
    severity: 'warning',
    expr:
      `max by (${HERE}, pool) (probeyard_runner_pods{@controller@, state="busy"}) >= on (${HERE}, pool) ` +
      `max by (${HERE}, pool) (probeyard_pool_max_pods{@controller@}) > 0`,
    for: '15m',
    summary: 'All runners that pool {{ $labels.pool }} of @name@ may have are busy.',
  },
  {
    name: 'ProbeyardIsolationLost',
    severity: 'critical',
    expr:
      `max by (${HERE}, pool, wall) (probeyard_pool_isolation{@controller@}) == 0 and ` +
      `max by (${HERE}, pool, wall) (max_over_time(probeyard_pool_isolation{@controller@}[<1d>])) == 1 ` +
      `and on (${HERE}, pool) sum by (${HERE}, pool) (probeyard_runner_pods{@controller@, state=~"ready|busy"}) > 0`,
    for: '10m',
    summary: 'Runners of pool {{ $labels.pool }} of @name@ run without {{ $labels.wall }}, which they had.',
  },
  {
    name: 'ProbeyardToolNotReady',
    severity: 'warning',
    expr: `max by (${HERE}, tool, version) (probeyard_tool_ready{@controller@}) == 0`,
    for: '30m',
    summary: '{{ $labels.tool }} {{ $labels.version }} of @name@ cannot be used.',
  },
  {
    name: 'ProbeyardWebhooksLate',
    severity: 'warning',
    expr: `max by (${HERE}) (probeyard_webhook_overdue_seconds{@api@}) > <=300>`,
    for: '5m',
    summary: 'Webhooks of @name@ are due, and nobody sends them.',
  },
  {
    name: 'ProbeyardWebhooksFail',
    severity: 'warning',
    expr:
      `sum by (${HERE}) (increase(probeyard_webhook_attempts_total{@api@, outcome=~"pending|failed"}[<30m>])) > ` +
      `0.5 * sum by (${HERE}) (increase(probeyard_webhook_attempts_total{@api@}[<30m>])) and ` +
      `sum by (${HERE}) (increase(probeyard_webhook_attempts_total{@api@}[<30m>])) > 20`,
    for: '0s',
    summary: 'Most webhooks of @name@ are not accepted.',
  },
  {
    name: 'ProbeyardPostgresAway',
    severity: 'critical',
    expr: `max by (${HERE}) (probeyard_postgres_up{@both@}) == 0`,
    for: '1m',
    summary: 'Postgres answers no pod of @name@. New requests fail.',
  },
  {
    name: 'ProbeyardPostgresPoolUsedUp',
    severity: 'warning',
    expr: `max by (${HERE}, pod) (min_over_time(probeyard_postgres_waiting{@both@}[<2m>])) > 0`,
    for: '2m',
    summary: 'Queries of pod {{ $labels.pod }} of @name@ wait for a connection to Postgres.',
  },
  {
    name: 'ProbeyardNatsAway',
    severity: 'critical',
    expr: `max by (${HERE}) (probeyard_nats_connected{@both@}) == 0`,
    for: '1m',
    summary: 'No pod of @name@ is connected to NATS. Requests wait.',
  },
  {
    name: 'ProbeyardResultsPileUp',
    severity: 'warning',
    expr: `max by (${HERE}) (probeyard_stream_messages{@controller@, stream="results"}) > 64`,
    for: '5m',
    summary: 'Results of @name@ wait for a controller that records them.',
  },
  {
    name: 'ProbeyardStreamFull',
    severity: 'critical',
    expr:
      `max by (${HERE}, stream) (probeyard_stream_bytes{@controller@}) / ` +
      `max by (${HERE}, stream) (probeyard_stream_limit_bytes{@controller@}) > 0.8`,
    for: '2m',
    summary: 'The stream {{ $labels.stream }} of @name@ is almost full. A full one refuses results.',
  },
  {
    name: 'ProbeyardStreamReplicaBehind',
    severity: 'warning',
    expr: `max by (${HERE}, stream) (probeyard_stream_lagging_replicas{@controller@}) > 0`,
    for: '5m',
    summary: 'A copy of the stream {{ $labels.stream }} of @name@ is offline or behind.',
  },
  {
    name: 'ProbeyardMemoryBudgetUsedUp',
    severity: 'warning',
    expr: `sum by (${HERE}) (increase(probeyard_api_memory_refused_total{@api@, by="replica"}[<10m>])) > 10`,
    for: '0s',
    summary: 'The API of @name@ refuses to read results, because its memory budget is used up.',
  },
  {
    name: 'ProbeyardCertificateExpiring',
    severity: 'critical',
    expr: `min by (${HERE}, certificate) (probeyard_certificate_expiry_seconds{@controller@}) - time() < 14 * 86400`,
    for: '15m',
    summary: 'The certificate {{ $labels.certificate }} of @name@ expires within 14 days.',
  },
  {
    name: 'ProbeyardFenceMissing',
    severity: 'warning',
    expr: `max by (${HERE}) (probeyard_fence_missing{@controller@}) == 1`,
    for: '15m',
    summary: 'Late admissions of a deposed leader of @name@ are not refused.',
  },
  {
    name: 'ProbeyardBackupMissing',
    severity: 'warning',
    expr:
      `max by (${HERE}) (probeyard_backup_last_failure_timestamp_seconds{@controller@}) > ` +
      `max by (${HERE}) (probeyard_backup_last_success_timestamp_seconds{@controller@}) or ` +
      `time() - (max by (${HERE}) (probeyard_backup_last_success_timestamp_seconds{@controller@}) > 0) > 2 * 86400`,
    for: '15m',
    summary: 'The last backup of @name@ failed, or the newest is older than two days.',
  },
  {
    name: 'ProbeyardVolumeFull',
    severity: 'critical',
    expr:
      `min by (${HERE}, persistentvolumeclaim) (kubelet_volume_stats_available_bytes{@volumes@} / ` +
      'kubelet_volume_stats_capacity_bytes{@volumes@}) < 0.1',
    for: '5m',
    summary: 'The volume {{ $labels.persistentvolumeclaim }} of @name@ is almost full.',
  },
];
