/** For every alert: series that make it fire, and series that come close. One value a minute. */
export interface Series {
  series: string;
  values: string;
}

export interface AlertCase {
  /** When the alerts are looked at. */
  at: string;
  fires: Series[];
  /** Labels of the firing alert beside its severity. */
  labels?: Record<string, string>;
  /** What is close, and does not fire. */
  calm: Record<string, Series[]>;
}

const pod = (role: 'api' | 'controller', index: number): string =>
  `namespace="probeyard",pod="probeyard-${role}-${index}"`;
const series =
  (role: 'api' | 'controller') =>
  (metric: string, values: string, labels = '', index = 0): Series => ({
    series: `${metric}{${pod(role, index)}${labels === '' ? '' : `,${labels}`}}`,
    values,
  });
const api = series('api');
const controller = series('controller');

const LONG = 500;
const requests = (good: string, bad: string): Series[] => [
  api('probeyard_api_requests_total', good, 'route="/v1/probe/file",status="2xx"'),
  api('probeyard_api_requests_total', bad, 'route="/v1/probe/file",status="5xx"'),
  // Refused readiness is no failed answer.
  api('probeyard_api_requests_total', `0+600x${LONG}`, 'route="/readyz",status="5xx"'),
];
const backups = (success: string, failure: string): Series[] => [
  controller('probeyard_backup_last_success_timestamp_seconds', success),
  controller('probeyard_backup_last_failure_timestamp_seconds', failure),
];
const jobs = (admitted: string, waited: string, reason = 'NoRunner'): Series[] => [
  controller('probeyard_jobs_admitted_total', admitted, 'pool="short"'),
  controller('probeyard_jobs_waited_total', waited, `reason="${reason}"`),
];
const queue = (oldest: string, admitted: string): Series[] => [
  controller('probeyard_queue_oldest_seconds', oldest, 'pool="short"'),
  controller('probeyard_jobs_admitted_total', admitted, 'pool="short"'),
];
const loop = (busy: string, leads: string): Series[] => [
  controller('probeyard_event_loop_busy_seconds_total', busy),
  controller('probeyard_leading', leads),
];
const attempts = (delivered: string, pending: string): Series[] => [
  api('probeyard_webhook_attempts_total', delivered, 'outcome="delivered"'),
  api('probeyard_webhook_attempts_total', pending, 'outcome="pending"'),
];
const isolation = (up: string, busy: string): Series[] => [
  controller('probeyard_pool_isolation', up, 'pool="short",wall="UserNamespace"'),
  controller('probeyard_runner_pods', busy, 'pool="short",state="busy"'),
];
const full = (busy: string): Series[] => [
  controller('probeyard_runner_pods', busy, 'pool="short",state="busy"'),
  controller('probeyard_pool_max_pods', '20x60', 'pool="short"'),
];
const objects = (finished: string): Series[] => [
  controller('probeyard_job_objects', finished, 'state="finished"'),
  controller('probeyard_job_objects_limit', '5000x60'),
];
const stream = (bytes: string): Series[] => [
  controller('probeyard_stream_bytes', bytes, 'stream="chunks"'),
  controller('probeyard_stream_limit_bytes', '1000x60', 'stream="chunks"'),
];
const volume = (available: string): Series[] =>
  ['available', 'capacity'].map((what) => ({
    series:
      `kubelet_volume_stats_${what}_bytes{namespace="probeyard",` +
      'persistentvolumeclaim="data-probeyard-postgres-0"}',
    values: what === 'capacity' ? '1000x60' : available,
  }));
const DAY = 86_400;

export const CASES: Readonly<Record<string, AlertCase>> = {
  ProbeyardApiMissing: {
    at: '20m',
    fires: [api('up', '0x30')],
    calm: {
      'one replica of two answers': [api('up', '0x30'), api('up', '1x30', '', 1)],
      'one scrape failed': [api('up', '1x18 0 1x11')],
    },
  },
  ProbeyardControllerMissing: {
    at: '20m',
    fires: [controller('up', '0x30')],
    calm: { 'one replica of two answers': [controller('up', '0x30'), controller('up', '1x30', '', 1)] },
  },
  ProbeyardNoLeader: {
    at: '20m',
    fires: [controller('probeyard_leader_known', '0x30'), controller('probeyard_leader_known', '0x30', '', 1)],
    calm: {
      'one leads': [controller('probeyard_leader_known', '1x30'), controller('probeyard_leader_known', '1x30', '', 1)],
      'a failover': [
        controller('probeyard_leader_known', '1x18 0 1x11'),
        controller('probeyard_leader_known', '1x18 0 1x11', '', 1),
      ],
      'the leader is not scraped': [controller('probeyard_leader_known', '1x30', '', 1)],
    },
  },
  ProbeyardRestarts: {
    at: '30m',
    fires: [controller('process_start_time_seconds', '100x15 200x4 300x4 400x20')],
    labels: { pod: 'probeyard-controller-0' },
    calm: { 'an upgrade': [controller('process_start_time_seconds', '100x20 200x30')] },
  },
  ProbeyardAnswersFailFast: {
    at: '200m',
    fires: requests(`0+98x${LONG}`, `0+2x${LONG}`),
    calm: {
      'one answer of a hundred': requests(`0+99x${LONG}`, `0+1x${LONG}`),
      'a fault that has ended': requests(`0+98x${LONG}`, `0+60x180 10800x${LONG}`),
      'no request at all': requests(`0x${LONG}`, `0x${LONG}`),
    },
  },
  ProbeyardAnswersFail: {
    at: '480m',
    fires: requests(`0+99x${LONG}`, `0+1x${LONG}`),
    calm: { 'four of a thousand': requests(`0+996x${LONG}`, `0+4x${LONG}`) },
  },
  ProbeyardJobsWaitFast: {
    at: '200m',
    fires: jobs(`0+10x${LONG}`, `0+9x${LONG}`),
    calm: {
      'their own limit holds them': jobs(`0+10x${LONG}`, `0+9x${LONG}`, 'TokenAtLimit'),
      'half of them wait': jobs(`0+10x${LONG}`, `0+5x${LONG}`),
    },
  },
  ProbeyardJobsWait: {
    at: '480m',
    fires: jobs(`0+10x${LONG}`, `0+4x${LONG}`),
    calm: { 'a fifth of them wait': jobs(`0+10x${LONG}`, `0+2x${LONG}`) },
  },
  ProbeyardLeaderSaturated: {
    at: '40m',
    fires: loop('0+58x60', '1x60'),
    labels: { pod: 'probeyard-controller-0' },
    calm: {
      'a standby that is busy': loop('0+58x60', '0x60'),
      'a leader with time left': loop('0+45x60', '1x60'),
      'a busy minute': loop('0x28 60 60x31', '1x60'),
    },
  },
  ProbeyardQueueStuck: {
    at: '30m',
    fires: queue('0+30x60', '100x60'),
    labels: { pool: 'short' },
    calm: {
      'a long queue that moves': queue('45x60', '0+50x60'),
      'no queue': queue('0x60', '100x60'),
    },
  },
  ProbeyardJobsLost: {
    at: '30m',
    fires: [controller('probeyard_jobs_finished_total', '0x25 1x20', 'pool="short",reason="RunnerLost"')],
    labels: { reason: 'RunnerLost' },
    calm: {
      'an old loss': [controller('probeyard_jobs_finished_total', '3x60', 'pool="short",reason="RunnerLost"')],
      'a source that is not found': [
        controller('probeyard_jobs_finished_total', '0+9x60', 'pool="short",reason="ToolFailed"'),
      ],
    },
  },
  ProbeyardAttemptsLost: {
    at: '30m',
    fires: [
      controller('probeyard_jobs_retried_total', '0+1x60', 'pool="short",reason="silent"'),
      ...jobs('0+10x60', '0x60'),
    ],
    labels: { reason: 'silent' },
    calm: {
      'few of many': [
        controller('probeyard_jobs_retried_total', '0+1x60', 'pool="short",reason="silent"'),
        ...jobs('0+100x60', '0x60'),
      ],
      'two in an idle hour': [
        controller('probeyard_jobs_retried_total', '0x20 2x40', 'pool="short",reason="pod-gone"'),
        ...jobs('0x20 2x40', '0x60'),
      ],
    },
  },
  ProbeyardJobObjectsPileUp: {
    at: '30m',
    fires: objects('0+1000x60'),
    calm: {
      'as many finished ones as may stay': objects('5500x60'),
      'many for a short time': objects('5000x24 9000x3 5000x30'),
      'requests that fail for another reason': [
        api('probeyard_api_failures_total', '0+50x60', 'reason="memory"'),
        ...objects('5000x60'),
      ],
    },
  },
  ProbeyardPoolNotReady: {
    at: '30m',
    fires: [controller('probeyard_pool_ready', '0x60', 'pool="short"')],
    labels: { pool: 'short' },
    calm: { 'a pool that fills for five minutes': [controller('probeyard_pool_ready', '1x25 0x5', 'pool="short"')] },
  },
  ProbeyardPoolHeldBack: {
    at: '30m',
    fires: [controller('probeyard_pool_held_back', '1x60', 'pool="short"')],
    labels: { pool: 'short' },
    calm: { 'a node that comes': [controller('probeyard_pool_held_back', '0x25 1x5', 'pool="short"')] },
  },
  ProbeyardPoolFull: {
    at: '30m',
    fires: full('20x60'),
    labels: { pool: 'short' },
    calm: { 'one is free': full('19x60'), 'a burst': full('5x20 20x10') },
  },
  ProbeyardIsolationLost: {
    at: '120m',
    fires: isolation('1x60 0x100', '2x160'),
    labels: { pool: 'short', wall: 'UserNamespace' },
    calm: {
      'nodes that never had it': isolation('0x160', '2x160'),
      'a pool without runners': isolation('1x60 0x100', '0x160'),
    },
  },
  ProbeyardToolNotReady: {
    at: '60m',
    fires: [controller('probeyard_tool_ready', '0x90', 'tool="ffprobe",version="9.0",state="refused"')],
    labels: { tool: 'ffprobe', version: '9.0' },
    calm: {
      'a proof under way': [
        controller('probeyard_tool_ready', '0x5 _x90', 'tool="ffprobe",version="9.0",state="proving"'),
        controller('probeyard_tool_ready', '_x5 1x90', 'tool="ffprobe",version="9.0",state="ready"'),
      ],
    },
  },
  ProbeyardWebhooksLate: {
    at: '30m',
    fires: [api('probeyard_webhook_overdue_seconds', '0+60x60')],
    calm: { 'a few seconds late': [api('probeyard_webhook_overdue_seconds', '45x60')] },
  },
  ProbeyardWebhooksFail: {
    at: '60m',
    fires: attempts('0+1x90', '0+3x90'),
    calm: { 'few fail': attempts('0+3x90', '0+1x90'), 'a handful of attempts': attempts('0x90', '0x40 5x50') },
  },
  ProbeyardPostgresAway: {
    at: '20m',
    fires: [api('probeyard_postgres_up', '0x30'), controller('probeyard_postgres_up', '0x30')],
    calm: {
      'one pod cannot reach it': [api('probeyard_postgres_up', '0x30'), controller('probeyard_postgres_up', '1x30')],
      'a restart': [api('probeyard_postgres_up', '1x19 0 1x10')],
    },
  },
  ProbeyardPostgresPoolUsedUp: {
    at: '30m',
    fires: [api('probeyard_postgres_waiting', '7x60')],
    labels: { pod: 'probeyard-api-0' },
    calm: { 'now and then': [api('probeyard_postgres_waiting', `${'7 0 '.repeat(30)}0`)] },
  },
  ProbeyardNatsAway: {
    at: '20m',
    fires: [api('probeyard_nats_connected', '0x30'), controller('probeyard_nats_connected', '0x30')],
    calm: {
      'one pod is cut off': [api('probeyard_nats_connected', '0x30'), controller('probeyard_nats_connected', '1x30')],
    },
  },
  ProbeyardResultsPileUp: {
    at: '30m',
    fires: [controller('probeyard_stream_messages', '100x60', 'stream="results"')],
    calm: {
      'a burst': [controller('probeyard_stream_messages', '0x27 200x3', 'stream="results"')],
      chunks: [controller('probeyard_stream_messages', '900x60', 'stream="chunks"')],
    },
  },
  ProbeyardStreamFull: {
    at: '30m',
    fires: stream('900x60'),
    labels: { stream: 'chunks' },
    calm: { 'half full': stream('500x60') },
  },
  ProbeyardStreamReplicaBehind: {
    at: '30m',
    fires: [controller('probeyard_stream_lagging_replicas', '1x60', 'stream="results"')],
    labels: { stream: 'results' },
    calm: {
      'a server that restarts': [controller('probeyard_stream_lagging_replicas', '0x27 1x3', 'stream="results"')],
    },
  },
  ProbeyardMemoryBudgetUsedUp: {
    at: '30m',
    fires: [api('probeyard_api_memory_refused_total', '0+5x60', 'by="replica"')],
    calm: { 'one account': [api('probeyard_api_memory_refused_total', '0+50x60', 'by="account"')] },
  },
  ProbeyardCertificateExpiring: {
    at: '30m',
    fires: [controller('probeyard_certificate_expiry_seconds', `${13 * DAY}x60`, 'certificate="nats"')],
    labels: { certificate: 'nats' },
    calm: {
      'fifteen days left': [controller('probeyard_certificate_expiry_seconds', `${15 * DAY}x60`, 'certificate="nats"')],
    },
  },
  ProbeyardFenceMissing: {
    at: '30m',
    fires: [controller('probeyard_fence_missing', '1x60')],
    calm: {
      'a policy that is installed again': [controller('probeyard_fence_missing', '0x5 1x5 0x60')],
      'no job to try it on': [controller('probeyard_fence_missing', '_x60')],
    },
  },
  ProbeyardBackupMissing: {
    at: '30m',
    fires: backups('1000x60', '1500x60'),
    calm: {
      'the next one succeeded': backups('1600x60', '1500x60'),
      'backups are off': backups('0x60', '0x60'),
    },
  },
  ProbeyardVolumeFull: {
    at: '30m',
    fires: volume('50x60'),
    labels: { persistentvolumeclaim: 'data-probeyard-postgres-0' },
    calm: { 'a fifth is free': volume('200x60') },
  },
};
