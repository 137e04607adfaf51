/**
 * The pages of the site, in their order, each with a description. Pages for readers of the repository alone (decisions,
 * reports of measurements) are not here.
 */
import { join } from 'node:path';

export const DOCS = join(import.meta.dirname, '..');

export const INTRODUCTION =
  'Probeyard analyses media files and streams on a Kubernetes cluster: it runs ffprobe, mediainfo, an HLS validator ' +
  'and a C2PA check at the versions that a request names, and returns their results over HTTP.';

export interface Page {
  /** Below docs/. */
  file: string;
  /** Below `/docs/`. */
  address: string;
  /** One sentence for the first page, `/llms.txt`, the search, and search engines. */
  description: string;
}

interface Section {
  title: string;
  /** Whether its pages are in `/llms-full.txt`: those about using an installation, without the API reference. */
  forCallers: boolean;
  pages: readonly Page[];
}

const ADDRESSES: Readonly<Record<string, string>> = {
  'api.md': 'api-by-example',
  'reference/README.md': 'api',
  'runbooks/README.md': 'runbooks/overview',
};
const addressOf = (file: string): string =>
  ADDRESSES[file] ?? file.replace(/\.md$/, '').replace(/^reference\//, 'api/');

/** Descriptions by file. */
type Described = Readonly<Record<string, string>>;

const pagesOf = (described: Described): Page[] =>
  Object.entries(described).map(([file, description]) => ({
    file,
    address: addressOf(file),
    description,
  }));
const callers = (title: string, described: Described): Section => ({
  title,
  forCallers: true,
  pages: pagesOf(described),
});
const others = (title: string, described: Described): Section => ({
  title,
  forCallers: false,
  pages: pagesOf(described),
});

export const SECTIONS: readonly Section[] = [
  callers('Start', {
    'quickstart.md': 'From a token to the first result, in five steps.',
    'faq.md': 'Short answers: what is read and stored, which version to use, what is billed, and what is not there.',
    'glossary.md': 'The words of this documentation: request, job, runner, pool, tenant, account, token, result.',
  }),
  callers('Guides', {
    'guides/report-types.md':
      'Which checks one request can run, which of them answers your question, and what each costs.',
    'guides/sources.md': 'Sign an address at S3, Google Cloud, Azure or R2, and read a server with a login.',
    'guides/streaming.md': 'Probe HLS, DASH, RTMP, RTSP and SRT: which tool reads which, and how long it takes.',
    'guides/reliable-ffprobe.md':
      'ffprobe without hangs, zombies, leaks and orphans: what ends it, and how long a call may take.',
    'guides/hls.md': 'Validate HLS by its playlists or with segments, understand a finding, and do so in CI.',
    'guides/webhooks.md': 'Get results without waiting, and verify the signature in Node, Python, Go and PHP.',
    'guides/hand-on.md': 'Hand a result on as one HTML file that prints, or by a link that ends and needs no account.',
    'guides/errors.md': 'Which statuses to retry, a client that retries without running twice, and all limits.',
    'guides/ci.md': 'Judge media in GitHub Actions, GitLab and Jenkins, with JUnit and SARIF reports.',
    'guides/batch-objects.md':
      'Batches as objects of Kubernetes: kubectl, queues of Kueue, and other clusters by MultiKueue.',
    'guides/argo-workflows.md': 'A WorkflowTemplate that runs a batch, waits for it and judges its failed items.',
    'guides/airflow.md':
      'DAGs of Airflow that run a batch, wait for it without a worker, and save its items as Parquet.',
    'guides/clients.md': 'Generate a typed client from OpenAPI for TypeScript, Python and other languages.',
    'guides/symptoms.md': 'What to look at when a call is refused, slow or wrong: 400, 401, 403, 404, 429, webhooks.',
  }),
  callers('Migrate', {
    'guides/from-ffprobe.md': 'Keep the command line and the parser of ffprobe: its flags in a shell and over HTTP.',
    'guides/from-mediainfo.md': 'Replace mediainfo and its wrappers for Python, Node, PHP and Go by one HTTP call.',
    'guides/from-a-hosted-service.md': 'Move a client of a hosted service with the same interface, and what differs.',
  }),
  callers('Topics', {
    'api.md':
      'Every feature of the API as a curl command: probes, versions, uploads, policies, webhooks, log, statistics.',
    'bucket-sources.md': 'Probe each new object of a bucket once: schedules, S3 events, what is guaranteed.',
    'batches.md': 'Probe many addresses as one batch: lists, states, retries, bounds, what it costs.',
    'accounts.md': 'Sign up, create users and tokens with permissions and limits, and read the log of requests.',
    'sources.md': 'Every scheme that can be read, its rules and credentials, and the codes of sources that fail.',
    'report.md': 'probe_report: one model of a file from ffprobe and mediainfo, with disagreements and confidence.',
    'policies.md':
      'Write rules as data that turn a result into a verdict: fields, operators, outcomes, MediaConch import.',
    'compare.md': 'Which fields another version of a tool reports differently, and what differs between two files.',
    'hls.md': "What the HLS validator reads, checks, measures and reports, and where it differs from Apple's.",
    'qc.md': 'Content checks: black, freezes, silence, loudness, peaks and clipping of a file, with times.',
    'c2pa.md': 'Check the C2PA manifests (content credentials) of a file: response, trust anchors, size.',
    'console.md':
      'The pages of the console in a browser, with pictures: playground, requests, policies, usage, cluster.',
  }),
  callers('Reference', {
    'cli.md': 'Every command and option of probeyard and kubectl probeyard, with examples and exit codes.',
    'mcp.md': 'Connect a language model or agent by MCP: its tools, the size of answers, and long work.',
    'options.md': 'Every option of ffprobe, mediainfo and the HLS validator: its field, values and argument.',
    'report-fields.md': 'Every field of probe_report with its type, meaning and example, and how tools are compared.',
    'report-names.md': 'How probe_report, ffprobe and mediainfo each name codecs and containers.',
    'hls-rules.md': 'Every rule of the HLS validator: level, clause of the specification, what is wrong, what to do.',
    'permissions.md': 'Which role and permission each management endpoint needs.',
    'reports/sources.md': 'Which tool version reads which kind of source, as tried against real servers.',
    'samples.md': 'Small files of many formats for first requests: video, audio, streams, C2PA, and broken ones.',
  }),
  others('API reference', {
    'reference/README.md': 'Every endpoint by group, how to sign in to the API, and the errors and headers of all.',
    'reference/probe.md': 'Probe a file, validate HLS, check C2PA, compare versions, read back and cancel a request.',
    'reference/source.md': 'Create a source, follow it, have its bucket listed, pause, resume and delete it.',
    'reference/batch.md': 'Create a batch of many files, follow it, read its items, and pause, resume or cancel it.',
    'reference/policy.md': 'Save, read and delete policies, judge stored results by one, and read a verdict.',
    'reference/mcp.md': 'The endpoint that agents speak to by the Model Context Protocol.',
    'reference/log.md': 'List finished requests with filters, read one with its outputs, and erase it.',
    'reference/audit.md': 'Read and export who changed what, who saw a secret, and who was denied.',
    'reference/reports.md': 'The report of a request as one HTML file, and links to it that end.',
    'reference/statistics.md': 'Requests, time and bytes by user, token, source, outcome and step of time.',
    'reference/webhooks.md': 'List deliveries with their attempts, send one again, and what a webhook contains.',
    'reference/auth.md': 'Sign up and in, sessions, passwords, JWTs, and API tokens with permissions and limits.',
    'reference/users.md': 'Read and change users and sub-users, suspend them, and set their limits.',
    'reference/cluster.md': 'What the cluster is doing now: pools, runners, queue and tools, for administrators.',
    'reference/description.md': 'Where the OpenAPI description is served.',
    'reference/health.md': 'Liveness and readiness of a replica of the API.',
  }),
  others('Operate', {
    'production.md':
      'What the chart does for production, by question, with the test that shows it, and what is not there.',
    'operating/install.md':
      'Install the chart with Helm: namespaces, images and registries, tool versions, long requests.',
    'compat.md': 'Which versions of Kubernetes and Helm the tests ran on, and what was not run.',
    'operating/doctor.md':
      'Check with one command whether a cluster has what Probeyard needs, before and after the install.',
    'operating/values.md': 'Every value of the chart with its default and meaning.',
    'operating/custom-resources.md': 'Every field of ProbeJob, ProbeTool, ProbePool and ProbePolicy.',
    'operating/network.md':
      'Allow private sources and receivers, use an egress proxy, set network policies, require isolation.',
    'operating/tenants.md':
      'Let people create ProbeJobs in namespaces of their own, each on an account: rights, creators, results, costs.',
    'operating/pools.md': 'Size pools of warm runners, choose who shares a runner, place pods, drain and lose nodes.',
    'operating/sizing.md': 'How many bytes each table takes per request, what each retention value frees, and when.',
    'operating/cells.md':
      'When one release is not enough: several, each the home of some accounts, and a router to them.',
    'operating/kubectl.md':
      'Create a ProbeJob with kubectl, follow it, suspend it, and keep it as long as you need it.',
    'operating/databases.md': 'Use your own PostgreSQL (CloudNativePG, PgBouncer, TLS) and your own NATS.',
    'operating/availability.md':
      'What callers see while a part is away, and how to run without a single point of failure.',
    'operating/sso.md':
      'Single sign-on with Keycloak, Entra ID, Okta and Google: groups, people who leave, command line, MCP.',
    'operating/secrets.md':
      'Which Secrets exist, among them the first password, how to bring your own, and how to change them.',
    'operating/rotation.md': 'Rotate keys, passwords and certificates while requests run.',
    'operating/backup.md': 'Back up the record and the keys that open it, restore both, and what is lost.',
    'operating/audit.md':
      'Who changed what, who saw a secret and who was denied: entries, questions, export, retention.',
    'operating/chargeback.md':
      'Labels of accounts such as a cost centre, and what each account used in a month: CSV, JSON lines, Parquet.',
    'operating/gitops.md': 'Install with Argo CD, Flux or OpenShift, in a parent chart, and with Secrets of your own.',
    'operating/upgrade.md': 'Upgrade one version at a time, go back, and uninstall.',
    'operating/observe.md':
      'Metrics, alerts, dashboards, traces and logs: what the cluster is doing, and one request in detail.',
    'operating/metrics.md': 'Every metric with its labels, its meaning, and when to worry.',
    'operating/review.md':
      "CNCF's technical review questions and the operator capability levels, answered in short, with links.",
    'operating/troubleshoot.md': 'Why a request was refused, why a job waits, and what keeps a pod from starting.',
    'isolation.md':
      'Which walls stand around a tool that a hostile file took over, what they leave open, what they cost.',
    'images.md': 'Build the images, add a tool version, and how each version of a tool is made.',
    'release.md': 'Make a signed release with all images, and install it without the internet.',
    'licences.md': 'The licences of the images, and what to do before you pass one on.',
    'third-party.md': 'Every package in the images with its licence.',
  }),
  others('Runbooks', {
    'runbooks/README.md': 'How to use the runbooks: one page for each alert of the chart.',
    'runbooks/ProbeyardAnswersFail.md':
      'Too many requests fail with 5xx: the failures of a month are used up in five days.',
    'runbooks/ProbeyardAnswersFailFast.md':
      'Many requests fail with 5xx: the failures of a month are used up in two days.',
    'runbooks/ProbeyardApiMissing.md': 'No API pod answers, and callers get no answers.',
    'runbooks/ProbeyardAttemptsLost.md': 'Runners lose jobs, which run again.',
    'runbooks/ProbeyardBackupMissing.md': 'The last backup failed, or the newest is older than two days.',
    'runbooks/ProbeyardCertificateExpiring.md': 'A certificate of NATS expires within 14 days.',
    'runbooks/ProbeyardControllerMissing.md': 'No controller answers, and requests wait.',
    'runbooks/ProbeyardFenceMissing.md':
      'The API server would accept an admission by a controller that no longer leads.',
    'runbooks/ProbeyardIsolationLost.md': 'A runner lacks a wall around its tools that every runner of its pool had.',
    'runbooks/ProbeyardJobObjectsPileUp.md': 'Finished ProbeJobs are not deleted as fast as they come, and fill etcd.',
    'runbooks/ProbeyardJobsLost.md': 'Requests ended with 500 by a fault of the installation.',
    'runbooks/ProbeyardJobsWait.md': 'Many jobs wait for a runner longer than the service level allows, over hours.',
    'runbooks/ProbeyardJobsWaitFast.md': 'Most jobs wait for a runner longer than the service level allows, right now.',
    'runbooks/ProbeyardMemoryBudgetUsedUp.md': 'The API refuses to read results, because its memory budget is used up.',
    'runbooks/ProbeyardLeaderSaturated.md': 'The leader is busy all the time, and jobs wait for it.',
    'runbooks/ProbeyardNatsAway.md': 'No pod is connected to NATS: no job starts, and no result arrives.',
    'runbooks/ProbeyardNoLeader.md': 'Controllers answer, but none leads, and no job is admitted.',
    'runbooks/ProbeyardPoolFull.md': 'All runners that a pool may have are busy, and further jobs wait.',
    'runbooks/ProbeyardPoolHeldBack.md':
      'The cluster refuses runner pods: a quota, an admission policy, or no node with room.',
    'runbooks/ProbeyardPoolNotReady.md': 'A pool has too few free runners, or lacks tools or isolation.',
    'runbooks/ProbeyardPostgresAway.md': 'Postgres answers no pod, and new requests fail.',
    'runbooks/ProbeyardPostgresPoolUsedUp.md': 'Queries of a pod wait for a free connection to Postgres.',
    'runbooks/ProbeyardQueueStuck.md': 'Jobs of a pool wait, and none starts.',
    'runbooks/ProbeyardRestarts.md': 'A pod of the API or the controllers keeps restarting.',
    'runbooks/ProbeyardResultsPileUp.md': 'Results wait in NATS for a controller that records them.',
    'runbooks/ProbeyardStreamFull.md': 'A JetStream stream is almost full, and a full one refuses results.',
    'runbooks/ProbeyardStreamReplicaBehind.md':
      'A server that holds a copy of a JetStream stream is offline or behind.',
    'runbooks/ProbeyardToolNotReady.md':
      'A tool version cannot be used: its proof failed, or its image cannot be pulled.',
    'runbooks/ProbeyardVolumeFull.md': 'The volume of the installed NATS or Postgres is almost full.',
    'runbooks/ProbeyardWebhooksFail.md': 'More than half of the attempts to deliver webhooks are not accepted.',
    'runbooks/ProbeyardWebhooksLate.md': 'Webhooks are due, and no replica sends them.',
  }),
];

export const PAGES: readonly Page[] = SECTIONS.flatMap(({ pages }) => pages);
