/**
 * Every dashboard and its panels, of which the chart's Grafana files and their test are made. `@api@` and the like
 * stand for the labels of an installation, as in charts/alerts/table.ts.
 */
export type Unit = 'short' | 's' | 'bytes' | 'percentunit' | 'reqps' | 'ops' | 'none';

export interface Query {
  expr: string;
  /** In Grafana's form: `{{pool}}`. */
  legend: string;
}

export interface Panel {
  title: string;
  /** What a reader should see, or worry about. */
  text: string;
  unit: Unit;
  /** One number instead of lines. */
  single?: true;
  queries: readonly Query[];
}

export interface Dashboard {
  /** The file's name, and the end of its uid. */
  name: string;
  title: string;
  panels: readonly Panel[];
}

const RATE = '[$__rate_interval]';
const ANSWERS = 'route!~"/healthz|/readyz"';

const quantile = (q: number, metric: string, labels: string, by = 'le'): string =>
  `histogram_quantile(${q}, sum by (${by}) (rate(${metric}_bucket{${labels}}${RATE})))`;
const perSecond = (by: string, metric: string, labels: string): string =>
  `sum by (${by}) (rate(${metric}{${labels}}${RATE}))`;

const SERVICE_LEVELS: readonly Panel[] = [
  {
    title: 'Answers without a fault, 30 days',
    text: 'Share of requests that were not answered 5xx. Compare it with serviceLevels.answers.',
    unit: 'percentunit',
    single: true,
    queries: [
      {
        expr:
          `1 - (sum(increase(probeyard_api_requests_total{@api@, ${ANSWERS}, status="5xx"}[30d])) / ` +
          `sum(increase(probeyard_api_requests_total{@api@, ${ANSWERS}}[30d])))`,
        legend: '',
      },
    ],
  },
  {
    title: 'Jobs that started within a second, 30 days',
    text: 'Without those that a limit of their own token or account held. Compare it with serviceLevels.queue.',
    unit: 'percentunit',
    single: true,
    queries: [
      {
        expr:
          '1 - (sum(increase(probeyard_jobs_waited_total{@controller@, reason=~"NoRunner|IsolationMissing|' +
          'AccountAtShare|Queued"}[30d])) / sum(increase(probeyard_jobs_admitted_total{@controller@}[30d])))',
        legend: '',
      },
    ],
  },
  {
    title: 'Requests by status',
    text: '5xx is a fault of the installation; 4xx is one of the caller or the source.',
    unit: 'reqps',
    queries: [{ expr: perSecond('status', 'probeyard_api_requests_total', `@api@, ${ANSWERS}`), legend: '{{status}}' }],
  },
  {
    title: 'Failures by reason',
    text:
      'postgres, nats and kubernetes are dependencies that were away; memory is the budget of results, ' +
      'objects the room in etcd.',
    unit: 'reqps',
    queries: [{ expr: perSecond('reason', 'probeyard_api_failures_total', '@api@'), legend: '{{reason}}' }],
  },
  {
    title: 'Time of an answer',
    text: 'From the request to the last byte, of /v1. It includes the analysis.',
    unit: 's',
    queries: [0.5, 0.95, 0.99].map((q) => ({
      expr: quantile(q, 'probeyard_api_request_seconds', '@api@, route=~"/v1/.+"'),
      legend: `p${q * 100}`,
    })),
  },
  {
    title: 'Alerts that fire',
    text: 'Each has a page in docs/runbooks.',
    unit: 'none',
    queries: [
      { expr: 'sum by (alertname) (ALERTS{alertname=~"Probeyard.+", alertstate="firing"})', legend: '{{alertname}}' },
    ],
  },
];

const QUEUE: readonly Panel[] = [
  {
    title: 'Unfinished jobs',
    text: 'Waiting jobs that grow while runners are free: look at why they wait.',
    unit: 'short',
    queries: [{ expr: 'sum by (state) (probeyard_jobs{@controller@})', legend: '{{state}}' }],
  },
  {
    title: 'ProbeJobs in etcd',
    text: 'finished stays near its limit. Far above it, they are not deleted as fast as they come.',
    unit: 'short',
    queries: [
      { expr: 'max by (state) (probeyard_job_objects{@controller@})', legend: '{{state}}' },
      { expr: 'max(probeyard_job_objects_limit{@controller@})', legend: 'limit of finished' },
    ],
  },
  {
    title: 'Age of the oldest waiting job',
    text: 'Near the queue timeout (60 s), requests end with 429.',
    unit: 's',
    queries: [{ expr: 'max by (pool) (probeyard_queue_oldest_seconds{@controller@})', legend: '{{pool}}' }],
  },
  {
    title: 'Time in the queue, p95',
    text: 'From submission to admission.',
    unit: 's',
    queries: [{ expr: quantile(0.95, 'probeyard_queue_seconds', '@controller@', 'le, pool'), legend: '{{pool}}' }],
  },
  {
    title: 'Why jobs waited',
    text: 'Jobs that waited for more than a second. TokenAtLimit and AccountAtLimit are limits of the caller.',
    unit: 'ops',
    queries: [{ expr: perSecond('reason', 'probeyard_jobs_waited_total', '@controller@'), legend: '{{reason}}' }],
  },
  {
    title: 'Runners by pool and state',
    text: 'busy equal to maxPods: the pool is full.',
    unit: 'short',
    queries: [
      {
        expr: 'sum by (pool, state) (probeyard_runner_pods{@controller@})',
        legend: '{{pool}} {{state}}',
      },
      { expr: 'max by (pool) (probeyard_pool_max_pods{@controller@})', legend: '{{pool}} maxPods' },
    ],
  },
  {
    title: 'Pools that are ready, or held back',
    text: 'held back: the cluster accepts no further runner pod.',
    unit: 'none',
    queries: [
      { expr: 'max by (pool) (probeyard_pool_ready{@controller@})', legend: '{{pool}} ready' },
      { expr: 'max by (pool) (probeyard_pool_held_back{@controller@})', legend: '{{pool}} held back' },
    ],
  },
  {
    title: 'Leader',
    text: 'The sum is 1. A gap of 7 s is a failover.',
    unit: 'none',
    queries: [
      { expr: 'sum(probeyard_leading{@controller@})', legend: 'replicas that lead' },
      { expr: 'max(probeyard_term_seconds{@controller@})', legend: 'age of the term (s)' },
    ],
  },
];

const TENANTS: readonly Panel[] = [
  {
    title: 'Jobs of the accounts with the most',
    text: 'By rank; GET cluster names the accounts in the same order.',
    unit: 'short',
    queries: [
      { expr: 'sum by (rank) (probeyard_account_jobs{@controller@, state="waiting"})', legend: '{{rank}} waiting' },
      { expr: 'sum by (rank) (probeyard_account_jobs{@controller@, state="running"})', legend: '{{rank}} running' },
    ],
  },
  {
    title: 'Share of the first account',
    text: 'Near 1: one account uses the installation alone.',
    unit: 'percentunit',
    queries: [
      {
        expr:
          'sum(probeyard_account_jobs{@controller@, rank="1", state="running"}) / ' +
          'sum(probeyard_jobs{@controller@, state="running"})',
        legend: 'running',
      },
    ],
  },
  {
    title: 'Jobs against the limit of their account',
    text: 'At 1, further jobs of the account wait.',
    unit: 'percentunit',
    queries: [
      {
        expr:
          'max by (rank) (probeyard_account_jobs{@controller@, state="running"}) / on (rank) ' +
          'max by (rank) (probeyard_account_limit{@controller@})',
        legend: '{{rank}}',
      },
    ],
  },
  {
    title: 'Webhooks',
    text: 'pending is tried again later. One receiver that is away is no fault of the installation.',
    unit: 'ops',
    queries: [{ expr: perSecond('outcome', 'probeyard_webhook_attempts_total', '@api@'), legend: '{{outcome}}' }],
  },
  {
    title: 'Webhooks that wait',
    text: 'overdue above a minute: delivery itself stands still.',
    unit: 's',
    queries: [
      { expr: 'max(probeyard_webhook_oldest_seconds{@api@})', legend: 'oldest' },
      { expr: 'max(probeyard_webhook_overdue_seconds{@api@})', legend: 'overdue' },
    ],
  },
  {
    title: 'Webhooks that are not delivered',
    text: 'Counted up to 10,000.',
    unit: 'short',
    queries: [{ expr: 'max(probeyard_webhooks_pending{@api@})', legend: 'pending' }],
  },
];

const SERVERS: readonly Panel[] = [
  {
    title: 'Postgres and NATS answer',
    text: 'By pod. 0 on one pod: its network; 0 on all: the server.',
    unit: 'none',
    queries: [
      { expr: 'min by (pod) (probeyard_postgres_up{@both@})', legend: '{{pod}} postgres' },
      { expr: 'min by (pod) (probeyard_nats_connected{@both@})', legend: '{{pod}} nats' },
    ],
  },
  {
    title: 'Connections to Postgres',
    text: 'waiting above 0 for minutes: the pool of the pod is used up, or the database is slow.',
    unit: 'short',
    queries: [
      { expr: 'max by (pod) (probeyard_postgres_connections{@both@, state="used"})', legend: '{{pod}} used' },
      { expr: 'max by (pod) (probeyard_postgres_waiting{@both@})', legend: '{{pod}} waiting' },
    ],
  },
  {
    title: 'Size of the database',
    text: 'Results are kept for retention.resultDays.',
    unit: 'bytes',
    queries: [{ expr: 'max(probeyard_postgres_database_bytes{@controller@})', legend: 'database' }],
  },
  {
    title: 'Free share of the volumes',
    text: 'From the kubelet. Below 0.1 an alert fires.',
    unit: 'percentunit',
    queries: [
      {
        expr:
          'min by (persistentvolumeclaim) (kubelet_volume_stats_available_bytes{@volumes@} / ' +
          'kubelet_volume_stats_capacity_bytes{@volumes@})',
        legend: '{{persistentvolumeclaim}}',
      },
    ],
  },
  {
    title: 'Messages in the streams',
    text: 'results stays near 0: it is what no controller has recorded yet.',
    unit: 'short',
    queries: [{ expr: 'max by (stream) (probeyard_stream_messages{@controller@})', legend: '{{stream}}' }],
  },
  {
    title: 'How full the streams are',
    text: 'A full stream refuses results.',
    unit: 'percentunit',
    queries: [
      {
        expr:
          'max by (stream) (probeyard_stream_bytes{@controller@}) / ' +
          'max by (stream) (probeyard_stream_limit_bytes{@controller@})',
        legend: '{{stream}}',
      },
    ],
  },
  {
    title: 'Copies of the streams that lag',
    text: 'With one copy it is always 0.',
    unit: 'short',
    queries: [{ expr: 'max by (stream) (probeyard_stream_lagging_replicas{@controller@})', legend: '{{stream}}' }],
  },
  {
    title: 'Certificates: time left',
    text: 'Below 14 days an alert fires.',
    unit: 's',
    queries: [
      {
        expr: 'min by (certificate) (probeyard_certificate_expiry_seconds{@controller@}) - time()',
        legend: '{{certificate}}',
      },
    ],
  },
];

const RUNNERS: readonly Panel[] = [
  {
    title: 'Runs of tools',
    text: 'failed includes sources that cannot be read.',
    unit: 'ops',
    queries: [
      { expr: perSecond('tool, outcome', 'probeyard_tool_runs_total', '@controller@'), legend: '{{tool}} {{outcome}}' },
    ],
  },
  {
    title: 'Time of a tool, p95',
    text: 'It includes reading the source.',
    unit: 's',
    queries: [{ expr: quantile(0.95, 'probeyard_tool_seconds', '@controller@', 'le, tool'), legend: '{{tool}}' }],
  },
  {
    title: 'Versions that cannot be used',
    text: 'kubectl describe probetool says why.',
    unit: 'none',
    queries: [
      {
        expr: 'count by (tool, state) (max by (tool, version, state) (probeyard_tool_ready{@controller@}))',
        legend: '{{tool}} {{state}}',
      },
    ],
  },
  {
    title: 'Jobs by end',
    text: 'RunnerLost and InternalError are faults of the installation.',
    unit: 'ops',
    queries: [{ expr: perSecond('reason', 'probeyard_jobs_finished_total', '@controller@'), legend: '{{reason}}' }],
  },
  {
    title: 'Attempts that were lost',
    text: 'They run again on another runner.',
    unit: 'ops',
    queries: [{ expr: perSecond('reason', 'probeyard_jobs_retried_total', '@controller@'), legend: '{{reason}}' }],
  },
  {
    title: 'Runner pods created, renewed and ended',
    text:
      'renewed: another life in the same pod. silent, never-ready, flood and isolation are failures; ' +
      'the others are work done.',
    unit: 'ops',
    queries: [
      { expr: perSecond('pool', 'probeyard_runner_pods_created_total', '@controller@'), legend: '{{pool}} created' },
      {
        expr: perSecond('pool, outcome', 'probeyard_runner_renewals_total', '@controller@'),
        legend: '{{pool}} {{outcome}}',
      },
      { expr: perSecond('pool, why', 'probeyard_runner_pods_ended_total', '@controller@'), legend: '{{pool}} {{why}}' },
    ],
  },
  {
    title: 'Jobs per runner pod',
    text: 'Mean of the pods that ended. A pod costs about a second of CPU, whatever it did.',
    unit: 'short',
    queries: [
      {
        expr:
          `${perSecond('pool', 'probeyard_runner_pod_jobs_sum', '@controller@')} / ` +
          perSecond('pool', 'probeyard_runner_pod_jobs_count', '@controller@'),
        legend: '{{pool}}',
      },
    ],
  },
  {
    title: 'Walls of the pools',
    text: '1 where every runner reports the wall.',
    unit: 'none',
    queries: [{ expr: 'max by (pool, wall) (probeyard_pool_isolation{@controller@})', legend: '{{pool}} {{wall}}' }],
  },
  {
    title: 'Memory of API and controllers',
    text: 'results: what an API pod has charged to its memory budget.',
    unit: 'bytes',
    queries: [
      { expr: 'max by (pod) (process_resident_memory_bytes{@both@})', legend: '{{pod}}' },
      { expr: 'max by (pod) (probeyard_api_memory_used_bytes{@api@})', legend: '{{pod}} results' },
    ],
  },
  {
    title: 'Busy share of the event loop',
    text: 'Near 1 on the leader: jobs wait for it, however many runners are free.',
    unit: 'percentunit',
    queries: [{ expr: perSecond('pod', 'probeyard_event_loop_busy_seconds_total', '@both@'), legend: '{{pod}}' }],
  },
  {
    title: 'Event loop delay, p99',
    text: 'Above 0.1 s the pod has too little CPU.',
    unit: 's',
    queries: [{ expr: 'max by (pod) (nodejs_eventloop_lag_p99_seconds{@both@})', legend: '{{pod}}' }],
  },
];

export const DASHBOARDS: readonly Dashboard[] = [
  { name: 'service-levels', title: 'Probeyard: service levels', panels: SERVICE_LEVELS },
  { name: 'queue', title: 'Probeyard: queue and pools', panels: QUEUE },
  { name: 'tenants', title: 'Probeyard: tenants', panels: TENANTS },
  { name: 'servers', title: 'Probeyard: NATS and Postgres', panels: SERVERS },
  { name: 'runners', title: 'Probeyard: runners and tools', panels: RUNNERS },
];
