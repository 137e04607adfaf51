/** Faults, and the alerts that each must raise if it is held, and must not if it is short. */
import { PODS, PROBE_TOOLS } from '../../../src/platform/kube/client.ts';
import type { ProbeTool } from '../../../src/platform/kube/probe_tool.ts';
import { NAMESPACE, RUNNERS, eventually, type Cluster } from '../../cluster/fixture.ts';
import { leaderKilled, natsWiped, partStopped, replicasReady, type StoppedPart } from '../injections.ts';
import { expireCertificate, forgetRenewal, isRenewed, renewCertificate } from '../expired_certificate.ts';
import { moment } from '../load.ts';
import { onSmallDisk, type SmallDisk } from '../small_disk.ts';

export interface Row {
  name: string;
  /** What is done. */
  fault: string;
  /** The alert that must fire if the fault is held. */
  alert: string;
  /** Further alerts that the fault may raise: its consequences. */
  also: readonly string[];
  /** Windows and `for` are multiplied by it. A failover takes 7 s whatever the factor, so rows with one need longer. */
  factor: number;
  held: (c: Cluster) => Promise<void>;
  /** The same for less than the alert's window. */
  short: (c: Cluster) => Promise<void>;
  shortFault: string;
  /** Done before both, until the returned function is called. */
  prepare?: (c: Cluster) => Promise<() => Promise<void>>;
}

const SECONDS = 1 / 60;
/** A minute becomes 10 s: longer than a failover and than the time in which clients notice a dead server. */
const TENS = 1 / 6;

/** What a part that is away does to requests. */
const REQUESTS = [
  'ProbeyardAnswersFailFast',
  'ProbeyardAnswersFail',
  'ProbeyardJobsWaitFast',
  'ProbeyardJobsWait',
  'ProbeyardQueueStuck',
  'ProbeyardAttemptsLost',
  'ProbeyardJobsLost',
  'ProbeyardLeaderSaturated',
] as const;

/** Shortened by 60, its window is two seconds: on a busy node queries wait that long. */
const BUSY = ['ProbeyardPostgresPoolUsedUp'] as const;

const stopped =
  (part: StoppedPart, seconds: number) =>
  (c: Cluster): Promise<void> =>
    partStopped(c, part, seconds * 1_000);

/** No runner pod may be created: the namespace's quota is used up. */
async function noPods(c: Cluster, seconds: number): Promise<void> {
  await c.kubectl('-n', RUNNERS, 'create', 'quota', 'alerts-test', '--hard=pods=0');
  try {
    const { items } = await c.kube.listAll(PODS, { namespace: RUNNERS });
    for (const { metadata } of items) await c.kubectl('-n', RUNNERS, 'delete', 'pod', metadata.name, '--wait=false');
    await moment(seconds * 1_000);
  } finally {
    await c.kubectl('-n', RUNNERS, 'delete', 'quota', 'alerts-test', '--ignore-not-found');
  }
}

/** A version of a tool whose image exists nowhere. */
async function brokenTool(c: Cluster, seconds: number): Promise<void> {
  const [like] = JSON.parse(await c.kubectl('-n', NAMESPACE, 'get', 'probetools', '-o', 'json')).items as {
    spec: { tool: string; image: string; command: string[] };
  }[];
  const image = `${like!.spec.image.replace(/[:@][^/]*$/, '')}:absent`;
  const tool = {
    apiVersion: 'probeyard.dev/v1alpha1',
    kind: 'ProbeTool',
    metadata: { name: 'alerts-test', namespace: NAMESPACE },
    spec: { tool: like!.spec.tool, version: '0.0.1', image, command: like!.spec.command },
  };
  await c.kube.create(PROBE_TOOLS, tool as ProbeTool);
  try {
    await moment(seconds * 1_000);
  } finally {
    await c.kubectl('-n', NAMESPACE, 'delete', 'probetool', 'alerts-test', '--ignore-not-found');
  }
}

/** Webhooks of the installation's own token, to a port where nobody listens. */
async function webhooksRefused(c: Cluster, count: number): Promise<void> {
  const origin = await c.origin();
  await Promise.all(
    Array.from({ length: count }, () =>
      c.probe({ url: `${origin.url}/tiny.mp4`, webhook_url: `http://${c.hostIp}:9/` }),
    ),
  );
  await eventually(
    'each was tried once',
    120,
    async () =>
      Number(
        await c.sql(
          "select count(*) from webhook_outbox where state = 'pending' and jsonb_array_length(attempts) >= 1 " +
            "and created_at > now() - interval '2 minutes'",
        ),
      ) >= count,
  );
}

/** The certificate is looked at once a minute. */
async function certificateExpired(c: Cluster): Promise<void> {
  await expireCertificate(c);
  await moment(240_000);
  await renewCertificate(c);
  await forgetRenewal(c);
  await natsWiped(c);
  await eventually('NATS presents the renewed certificate', 300, () => isRenewed(c));
  await moment(90_000);
}

/** The leader tries it once a minute. */
async function fenceOnlyWarns(c: Cluster, seconds: number): Promise<void> {
  const act = (action: 'Deny' | 'Warn') =>
    c.kubectl(
      'patch',
      'validatingadmissionpolicybinding/probeyard-fence',
      '--type=merge',
      '--patch',
      JSON.stringify({ spec: { validationActions: [action] } }),
    );
  try {
    await act('Warn');
    await moment(seconds * 1_000);
  } finally {
    await act('Deny');
  }
}

/** A row on a small disk that is full for so long. */
function disk(server: 'postgres' | 'nats', held: number, short: number) {
  let made: SmallDisk | undefined;
  const full = (seconds: number) => async (): Promise<void> => made?.full(() => moment(seconds * 1_000));
  return {
    held: full(held),
    short: full(short),
    prepare: async (c: Cluster) => {
      made = await onSmallDisk(c, server);
      return made.remove;
    },
  };
}

export const ROWS: readonly Row[] = [
  {
    name: 'api_stopped',
    fault: 'all API replicas stand still for 40 s',
    alert: 'ProbeyardApiMissing',
    also: [...REQUESTS, 'ProbeyardRestarts'],
    factor: TENS,
    held: stopped('api', 40),
    short: stopped('api', 8),
    shortFault: '8 s',
  },
  {
    name: 'controllers_stopped',
    fault: 'all controllers stand still for 40 s',
    alert: 'ProbeyardControllerMissing',
    also: [...REQUESTS, 'ProbeyardRestarts', 'ProbeyardNoLeader'],
    factor: TENS,
    held: stopped('controller', 40),
    short: stopped('controller', 8),
    shortFault: '8 s',
  },
  {
    name: 'no_leader',
    fault: 'the API server stands still for 30 s, so nobody can hold the lease',
    alert: 'ProbeyardNoLeader',
    also: [...REQUESTS, 'ProbeyardRestarts'],
    factor: TENS,
    held: stopped('api-server', 30),
    short: leaderKilled,
    shortFault: 'the leader is killed',
  },
  {
    name: 'postgres_away',
    fault: 'Postgres stands still for 30 s',
    alert: 'ProbeyardPostgresAway',
    also: [...REQUESTS, 'ProbeyardPostgresPoolUsedUp', 'ProbeyardResultsPileUp', 'ProbeyardWebhooksLate'],
    factor: TENS,
    held: stopped('postgres', 30),
    short: stopped('postgres', 5),
    shortFault: '5 s',
  },
  {
    name: 'nats_away',
    fault: 'NATS stands still for 45 s',
    alert: 'ProbeyardNatsAway',
    also: REQUESTS,
    factor: TENS,
    held: stopped('nats', 45),
    short: stopped('nats', 5),
    shortFault: '5 s',
  },
  {
    name: 'postgres_disk_full',
    fault: 'the disk of Postgres is full for 120 s',
    alert: 'ProbeyardAnswersFailFast',
    also: [...REQUESTS, 'ProbeyardPostgresAway', 'ProbeyardPostgresPoolUsedUp', 'ProbeyardResultsPileUp'],
    factor: TENS,
    shortFault: '5 s',
    ...disk('postgres', 120, 5),
  },
  {
    name: 'jetstream_full',
    fault: 'the disk of JetStream is full for 90 s',
    alert: 'ProbeyardJobsWaitFast',
    also: [...REQUESTS, 'ProbeyardNatsAway', 'ProbeyardRestarts'],
    factor: TENS,
    shortFault: '5 s',
    ...disk('nats', 90, 5),
  },
  {
    name: 'certificate_expired',
    fault: 'the certificate of NATS has expired, and NATS is restarted with it',
    alert: 'ProbeyardCertificateExpiring',
    also: [...REQUESTS, 'ProbeyardNatsAway', 'ProbeyardPoolNotReady'],
    factor: TENS,
    held: certificateExpired,
    short: (c) => natsWiped(c),
    shortFault: 'NATS is restarted',
  },
  {
    name: 'fence_missing',
    fault: 'the binding of the fence only warns for 270 s',
    alert: 'ProbeyardFenceMissing',
    also: [],
    // A short fault may be seen for a minute, until the next look.
    factor: TENS,
    held: (c) => fenceOnlyWarns(c, 270),
    short: (c) => fenceOnlyWarns(c, 5),
    shortFault: '5 s',
  },
  {
    name: 'pool_cannot_start',
    fault: 'a quota refuses runner pods for 60 s, and there are none',
    alert: 'ProbeyardPoolNotReady',
    also: [...REQUESTS, ...BUSY, 'ProbeyardPoolHeldBack', 'ProbeyardToolNotReady'],
    factor: SECONDS,
    held: (c) => noPods(c, 60),
    short: (c) => noPods(c, 1),
    shortFault: '1 s',
  },
  {
    name: 'tool_broken',
    fault: 'a tool version names an image that does not exist, for 60 s',
    alert: 'ProbeyardToolNotReady',
    also: BUSY,
    factor: SECONDS,
    held: (c) => brokenTool(c, 60),
    short: (c) => brokenTool(c, 15),
    shortFault: '15 s',
  },
  {
    name: 'webhook_target_away',
    fault: '30 webhooks to a receiver that does not listen',
    alert: 'ProbeyardWebhooksFail',
    also: BUSY,
    factor: SECONDS,
    held: (c) => webhooksRefused(c, 30),
    short: (c) => webhooksRefused(c, 10),
    shortFault: '10 webhooks',
  },
];

/** Everything is as before. */
export async function healed(c: Cluster): Promise<void> {
  for (const part of ['api', 'controller'] as const) await replicasReady(c, part);
  await eventually('the pools are ready', 180, async () =>
    (JSON.parse(await c.kubectl('-n', NAMESPACE, 'get', 'probepools', '-o', 'json')).items as PoolStatus[]).every(
      ({ status }) => status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
    ),
  );
}

interface PoolStatus {
  status?: { conditions?: { type: string; status: string }[] };
}
