/** All settings of all roles: environment variable, form and default. A single error lists everything that is wrong. */
import { isObject } from './is_object.ts';
import { areIssuers } from './issuer_settings.ts';
import { DEFAULT_LIMITS, MAX_QUEUE_MS, type DefaultLimits } from './limits.ts';
import type { LogSample } from './log.ts';
import { RUNNER_SETTINGS, type RunnerSettings } from './runner_settings.ts';
import type { NamedCredential, SourceException } from './source_settings.ts';

export class ConfigError extends Error {
  readonly code = 'config-invalid';
  readonly problems: string[];
  constructor(problems: string[]) {
    super(`invalid settings:\n  ${problems.join('\n  ')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** A setting: its environment variable, its default, and how its text is read. */
interface Setting<T> {
  variable: string;
  fallback: T | undefined;
  parse: (text: string) => T;
}

const text = (variable: string, fallback?: string): Setting<string> => ({
  variable,
  fallback,
  parse: (value) => value,
});

const oneOf = <const T extends string>(variable: string, values: readonly T[], fallback?: T): Setting<T> => ({
  variable,
  fallback,
  parse: (value) => {
    if (!(values as readonly string[]).includes(value)) throw new Error(`must be one of ${values.join(', ')}`);
    return value as T;
  },
});

const integer = (variable: string, minimum: number, maximum: number, fallback?: number): Setting<number> => ({
  variable,
  fallback,
  parse: (value) => {
    const number = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= minimum && number <= maximum)) throw new Error(`must be an integer from ${minimum} to ${maximum}`);
    return number;
  },
});

/** Null: not set. */
const integerOrNull = (variable: string, minimum: number, maximum: number): Setting<number | null> => ({
  variable,
  fallback: null,
  parse: integer(variable, minimum, maximum).parse,
});

const flag = (variable: string, fallback: boolean): Setting<boolean> => ({
  variable,
  fallback,
  parse: (value) => {
    if (value !== 'true' && value !== 'false') throw new Error('must be true or false');
    return value === 'true';
  },
});

const httpUrl = (variable: string, fallback?: string): Setting<string> => ({
  variable,
  fallback,
  parse: (value) => {
    if (!/^https?:\/\/[^/?#@\s]+\/?$/.test(value) || !URL.canParse(value))
      throw new Error('must be http:// or https:// with a host, and nothing after it');
    return value.replace(/\/$/, '');
  },
});

const json = <T>(variable: string, what: string, is: (value: unknown) => value is T, fallback?: T): Setting<T> => ({
  variable,
  fallback,
  parse: (value) => {
    let parsed: unknown;
    try {
      parsed = JSON.parse(value);
    } catch {
      throw new Error('is not valid JSON');
    }
    if (!is(parsed)) throw new Error(`must be ${what}`);
    return parsed;
  },
});

/** `:8080`, `0.0.0.0:8080` or `[::1]:8080`. */
const listen = (variable: string, fallback?: string): Setting<{ host: string | undefined; port: number }> => {
  const parse = (value: string) => {
    const match = /^(.*):(\d{1,5})$/.exec(value);
    if (!match || Number(match[2]) > 65535) throw new Error('must be [host]:port');
    return { host: match[1] ? match[1].replace(/^\[|\]$/g, '') : undefined, port: Number(match[2]) };
  };
  return { variable, fallback: fallback === undefined ? undefined : parse(fallback), parse };
};

type Env = Record<string, string | undefined>;

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const isLogSample = (value: unknown): value is LogSample =>
  isObject(value) && [value['perSecond'], value['oneIn']].every(Number.isSafeInteger);

const isAllowed = (value: unknown): value is SourceException[] =>
  Array.isArray(value) &&
  value.every((item) => isObject(item) && (typeof item['cidr'] === 'string' || typeof item['host'] === 'string'));

const areCredentials = (value: unknown): value is NamedCredential[] =>
  Array.isArray(value) &&
  value.every(
    (item) =>
      isObject(item) &&
      typeof item['name'] === 'string' &&
      ['s3', 'gs', 'az'].includes(item['kind'] as string) &&
      Array.isArray(item['accounts']) &&
      isStrings(item['buckets']) &&
      (item['identity'] === undefined || isObject(item['identity'])) &&
      ['pictures', 'tags'].every((key) => ['undefined', 'boolean'].includes(typeof item[key])),
  );

/** ProbeJobs of this namespace are an account's. */
export interface NamespaceBinding {
  name: string;
  /** Id of its root user. */
  account: number;
  /** Id of an API token of the account; without it one of the root user's is taken. */
  token?: number;
}
const areBindings = (value: unknown): value is NamespaceBinding[] =>
  Array.isArray(value) &&
  value.every(
    (item) =>
      isObject(item) &&
      typeof item['name'] === 'string' &&
      Number.isSafeInteger(item['account']) &&
      (item['token'] === undefined || Number.isSafeInteger(item['token'])),
  );

export interface PodDefaults {
  nodeSelector?: Record<string, string>;
  tolerations?: { key?: string; operator?: string; value?: string; effect?: string }[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  priorityClassName?: string;
}
const isPodDefaults = (value: unknown): value is PodDefaults => isObject(value);

const common = {
  logLevel: oneOf('PY_LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'fatal'], 'info'),
  namespace: text('PY_NAMESPACE', 'probeyard'),
  podName: text('PY_POD_NAME', 'local'),
  /** The folder of the account by which the pod signs in at the API server. */
  serviceAccount: text('PY_SERVICE_ACCOUNT', '/var/run/secrets/kubernetes.io/serviceaccount'),
  /** Unset: every line is written. */
  logSample: json('PY_LOG_SAMPLE', '{perSecond, oneIn}', isLogSample, { perSecond: 0, oneIn: 1 }),
};
const postgres = {
  /** A mounted Secret with the addresses, in place of the two variables. It is read for each new connection. */
  postgresFolder: text('PY_POSTGRES_FOLDER', ''),
  postgresUrl: text('PY_POSTGRES_URL', ''),
  postgresDirectUrl: text('PY_POSTGRES_DIRECT_URL', ''),
  postgresCaFile: text('PY_POSTGRES_CA_FILE', ''),
  postgresCertificateFile: text('PY_POSTGRES_CERT_FILE', ''),
  postgresKeyFile: text('PY_POSTGRES_KEY_FILE', ''),
};
type PostgresConfig = Pick<Config<'backup'>, keyof typeof postgres>;
const filesOfPostgres = (config: PostgresConfig) => ({
  folder: config.postgresFolder || undefined,
  caFile: config.postgresCaFile || undefined,
  certificateFile: config.postgresCertificateFile || undefined,
  keyFile: config.postgresKeyFile || undefined,
});
/** As the settings of a connection that does not lead through a pooler. */
export const directPostgresOf = (config: PostgresConfig) => ({
  url: config.postgresDirectUrl || config.postgresUrl,
  direct: true,
  ...filesOfPostgres(config),
});
/** Where the kubelet asks whether the process is alive: a thread answers. */
const livenessListen = listen('PY_LIVENESS_LISTEN', ':9091');
/** The port of metrics, and who may read them there. */
const metrics = {
  metricsListen: listen('PY_METRICS_LISTEN', ':9090'),
  metricsAuth: oneOf('PY_METRICS_AUTH', ['none', 'token', 'kubernetes'], 'none'),
  metricsTokenFile: text('PY_METRICS_TOKEN_FILE', ''),
  /** With tls.crt and tls.key. Empty: without TLS. */
  metricsTlsFolder: text('PY_METRICS_TLS_FOLDER', ''),
};
/** Connections of a process that runs for long. */
const pool = {
  postgresPoolSize: integer('PY_POSTGRES_POOL_SIZE', 2, 200, 10),
  postgresPrepared: flag('PY_POSTGRES_PREPARED', true),
};
const nats = {
  natsUrl: text('PY_NATS_URL'),
  natsCaFile: text('PY_NATS_CA_FILE', ''),
};
const sources = {
  allowSources: json('PY_ALLOW_SOURCES', 'a list of {cidr or host, port}', isAllowed, []),
  denyCidrs: json('PY_DENY_CIDRS', 'a list of CIDRs', isStrings, []),
};
/** For roles that parse addresses. */
const s3Hosts = json('PY_S3_HOSTS', 'a list of host names', isStrings, []);
/** Where spans go. Empty: no request is traced. */
const tracing = {
  tracingEndpoint: httpUrl('PY_TRACING_ENDPOINT', ''),
  tracingPercent: integer('PY_TRACING_PERCENT', 0, 100, 10),
};
/** How origins, webhook receivers and token services are reached. */
const egress = {
  egressProxy: text('PY_EGRESS_PROXY', ''),
  noProxy: json('PY_NO_PROXY', 'a list of names and CIDRs', isStrings, []),
  egressResolve: oneOf('PY_EGRESS_RESOLVE', ['here', 'proxy'], 'here'),
  sourceCaFile: text('PY_SOURCE_CA_FILE', ''),
};
/** How runners reach origins: the controller passes it on to them. */
const origins = {
  ...egress,
  s3Endpoint: httpUrl('PY_S3_ENDPOINT', ''),
  s3Region: text('PY_S3_REGION', ''),
  minBytesPerMinute: integer('PY_MIN_BYTES_PER_MINUTE', 0, 1_000_000_000, 16_384),
};
/** Namespaces of tenants, each bound to an account. */
const tenantNamespaces = json('PY_TENANT_NAMESPACES', 'a list of {name, account, token}', areBindings, []);
const finishedMax = integer('PY_FINISHED_MAX', 0, 100_000, 5_000);
/** Default limits of users. */
const limits = {
  requestsPerMinute: integer('PY_LIMIT_REQUESTS_PER_MINUTE', 1, 10_000_000, DEFAULT_LIMITS.requestsPerMinute),
  concurrency: integer('PY_LIMIT_CONCURRENCY', 1, 100_000, DEFAULT_LIMITS.concurrency),
  queueTimeoutMs: integer('PY_LIMIT_QUEUE_TIMEOUT_MS', 1, MAX_QUEUE_MS, DEFAULT_LIMITS.queueTimeoutMs),
  fileBytes: integer('PY_LIMIT_FILE_BYTES', 1, 1_000_000_000_000_000, DEFAULT_LIMITS.fileBytes),
  /** For an account, over all its tokens. Null: four times the concurrency of its root user; 0: unlimited. */
  accountConcurrency: integerOrNull('PY_LIMIT_ACCOUNT_CONCURRENCY', 0, 1_000_000),
};
/** As the settings of the store. */
export const postgresOf = (config: Config<'controller'> | Config<'api'>) => ({
  url: config.postgresUrl,
  directUrl: config.postgresDirectUrl,
  ...filesOfPostgres(config),
  poolSize: config.postgresPoolSize,
  prepared: config.postgresPrepared,
});
export const limitsOf = ({
  requestsPerMinute,
  concurrency,
  queueTimeoutMs,
  fileBytes,
  accountConcurrency,
}: DefaultLimits): DefaultLimits => ({ requestsPerMinute, concurrency, queueTimeoutMs, fileBytes, accountConcurrency });

const api = {
  ...common,
  ...tracing,
  ...postgres,
  ...nats,
  ...sources,
  s3Hosts,
  ...pool,
  ...egress,
  /** Private receivers. Places that may be read are no place to send to. */
  allowWebhooks: json('PY_ALLOW_WEBHOOKS', 'a list of {cidr or host, port}', isAllowed, []),
  natsNkeyFile: text('PY_NATS_NKEY_FILE'),
  sealPublicFile: text('PY_SEAL_PUBLIC_FILE'),
  replica: text('PY_REPLICA', 'local'),
  listen: listen('PY_LISTEN', ':8080'),
  ...metrics,
  livenessListen,
  drainMs: integer('PY_DRAIN_MS', 0, 3_600_000, 115_000),
  /** Where uploaded files are kept. Empty: files are not taken. */
  uploadFolder: text('PY_UPLOAD_FOLDER', ''),
  uploadListen: listen('PY_UPLOAD_LISTEN', ':8081'),
  uploadMaxBytes: integer('PY_UPLOAD_MAX_BYTES', 1, 1_000_000_000_000, 2_000_000_000),
  uploadRoomBytes: integer('PY_UPLOAD_ROOM_BYTES', 1, 10_000_000_000_000, 4_000_000_000),
  podIp: text('PY_POD_IP', ''),
  /** Where buckets send their events. Empty: nowhere. */
  eventsNatsUrl: text('PY_EVENTS_NATS_URL', ''),
  eventsNatsSubject: text('PY_EVENTS_NATS_SUBJECT', ''),
  eventsNatsFolder: text('PY_EVENTS_NATS_FOLDER', '/etc/probeyard/events'),
  /** Open connections of callers. */
  maxConnections: integer('PY_MAX_CONNECTIONS', 10, 1_000_000, 4_000),
  maxQueued: integer('PY_MAX_QUEUED', 1, 10_000_000, 10_000),
  tenantNamespaces,
  /** Whether ProbeBatches may be in queues of Kueue, which has to be installed. */
  kueue: flag('PY_KUEUE', false),
  /** Of an account, in batches that have not ended. */
  batchMaxItems: integer('PY_BATCH_MAX_ITEMS', 1, 100_000_000, 1_000_000),
  finishedMax,
  /** Whether results may answer later requests: hosts are then asked from here whether a file has changed. */
  cacheEnabled: flag('PY_CACHE', true),
  memoryBudgetBytes: integer('PY_MEMORY_BUDGET_BYTES', 20_000_000, 1_000_000_000_000, 160_000_000),
  ...limits,
  onlyReturnsRaw: flag('PY_ONLY_RETURNS_RAW', false),
  console: flag('PY_CONSOLE', true),
  mcp: flag('PY_MCP', true),
  /** The origin of samples. Empty: there is none. */
  samplesUrl: httpUrl('PY_SAMPLES_URL', ''),
  boxFile: text('PY_BOX_FILE'),
  /** Used in mails. Empty: unknown. */
  publicUrl: httpUrl('PY_PUBLIC_URL', ''),
  /** Trusted proxies that append to X-Forwarded-For. */
  trustedHops: integer('PY_TRUSTED_HOPS', 0, 20, 0),
  signUp: flag('PY_SIGN_UP', true),
  passwords: flag('PY_PASSWORDS', true),
  issuers: json('PY_OIDC', 'a list of issuers, as the chart makes it of accounts.oidc', areIssuers, []),
  /** The client secret of each issuer that has one, as a file with its name. They are read at each sign-in. */
  issuersFolder: text('PY_OIDC_FOLDER', '/etc/probeyard/oidc'),
  /** After which those who have not signed in by an issuer are suspended. Null: never. */
  absenceDays: integerOrNull('PY_ABSENCE_DAYS', 1, 3_650),
  /** Of an account, as are its live tokens. */
  mostSubUsers: integer('PY_MOST_SUB_USERS', 0, 1_000_000, 1_000),
  mostTokens: integer('PY_MOST_TOKENS', 1, 1_000_000, 2_000),
  tokensViewable: flag('PY_TOKENS_VIEWABLE', true),
  smtpHost: text('PY_SMTP_HOST', ''),
  smtpPort: integer('PY_SMTP_PORT', 1, 65_535, 587),
  smtpTls: oneOf('PY_SMTP_TLS', ['starttls', 'implicit', 'opportunistic', 'none'], 'starttls'),
  smtpFrom: text('PY_SMTP_FROM', ''),
  smtpUserFile: text('PY_SMTP_USER_FILE', ''),
  smtpPasswordFile: text('PY_SMTP_PASSWORD_FILE', ''),
  smtpCaFile: text('PY_SMTP_CA_FILE', ''),
};

const controller = {
  ...common,
  ...tracing,
  ...postgres,
  ...nats,
  ...sources,
  s3Hosts,
  /** Credentials that requests may name; each has a folder with the keys of its Secret. */
  credentials: json('PY_SOURCE_CREDENTIALS', 'a list of {name, kind, accounts, buckets}', areCredentials, []),
  credentialsFolder: text('PY_SOURCE_CREDENTIALS_FOLDER', '/etc/probeyard/credentials'),
  /** Tokens of the service account for those without a Secret. */
  identityFolder: text('PY_IDENTITY_FOLDER', '/var/run/secrets/probeyard.dev/identity'),
  natsNkeyFile: text('PY_NATS_NKEY_FILE'),
  ...pool,
  natsIssuerFile: text('PY_NATS_ISSUER_FILE'),
  /** Copies of each stream. Null: as many as the servers allow, at most three. */
  natsStreamReplicas: integerOrNull('PY_NATS_STREAM_REPLICAS', 1, 5),
  natsAccount: text('PY_NATS_ACCOUNT', 'PROBEYARD'),
  /** Stages of rotations, at whose change NATS is reloaded. */
  natsStageFiles: json('PY_NATS_STAGE_FILES', 'a list of files', isStrings, []),
  sealPrivateFile: text('PY_SEAL_PRIVATE_FILE'),
  livenessListen,
  ...metrics,
  runnerNamespace: text('PY_RUNNER_NAMESPACE', 'probeyard-runners'),
  runnerImage: text('PY_RUNNER_IMAGE'),
  runnerServiceAccount: text('PY_RUNNER_SERVICE_ACCOUNT', 'probeyard-runner'),
  /** ConfigMap in the runner namespace that owns every pod; empty: pods have no owner. */
  runnerOwner: text('PY_RUNNER_OWNER', ''),
  verifyServiceAccount: text('PY_VERIFY_SERVICE_ACCOUNT', 'probeyard-verify'),
  /** How runner pods reach NATS. */
  runnerNatsUrl: text('PY_RUNNER_NATS_URL', ''),
  /** Where NATS decides by JWTs: with which one runners ask for the auth callout. */
  runnerNatsSentinel: text('PY_RUNNER_NATS_SENTINEL', ''),
  imagePullSecrets: json('PY_IMAGE_PULL_SECRETS', 'a list of names', isStrings, []),
  imagePullPolicy: oneOf('PY_IMAGE_PULL_POLICY', ['Always', 'IfNotPresent', 'Never'], 'IfNotPresent'),
  toolsDelivery: oneOf('PY_TOOLS_DELIVERY', ['imageVolume', 'bundled'], 'imageVolume'),
  bundledImage: text('PY_BUNDLED_IMAGE', ''),
  allowedRegistries: json('PY_ALLOWED_REGISTRIES', 'a list of image prefixes', isStrings, []),
  podDefaults: json('PY_POD_DEFAULTS', 'an object', isPodDefaults, {}),
  ...origins,
  ...limits,
  sourceCaConfigMap: text('PY_SOURCE_CA_CONFIGMAP', ''),
  /** Trust anchors and settings of the C2PA check, in the runner namespace. */
  c2paConfigMap: text('PY_C2PA_CONFIGMAP', ''),
  /** Prefix of the ConfigMaps with what the leader applies: NAME-catalog, NAME-pools and NAME-policies. */
  chartName: text('PY_CHART_NAME', 'probeyard'),
  showVulnerabilities: flag('PY_SHOW_VULNERABILITIES', false),
  /** Whether the chart has installed the policy that refuses late admissions. */
  admissionPolicy: flag('PY_ADMISSION_POLICY', true),
  finishedSeconds: integer('PY_FINISHED_SECONDS', 1, 86_400, 600),
  finishedByHandSeconds: integer('PY_FINISHED_BY_HAND_SECONDS', 0, 86_400, 300),
  finishedMax,
  keepEnvelopeDays: integer('PY_KEEP_ENVELOPE_DAYS', 1, 36_500, 30),
  keepRequestMonths: integer('PY_KEEP_REQUEST_MONTHS', 1, 1_200, 13),
  keepAuditDays: integer('PY_KEEP_AUDIT_DAYS', 1, 36_500, 400),
  keepMinuteDays: integer('PY_KEEP_MINUTE_DAYS', 31, 36_500, 400),
  maxQueued: integer('PY_MAX_QUEUED', 1, 10_000_000, 10_000),
  tenantNamespaces,
  byHandPerMinute: integer('PY_BY_HAND_PER_MINUTE', 1, 10_000_000, 600),
};

/** Not looked into: the controller that wrote it starts its own image, so both have one version of it. */
const isRunnerSettings = (value: unknown): value is RunnerSettings => isObject(value);
const isBooleanOrNull = (value: unknown): value is boolean | null => value === null || typeof value === 'boolean';

/** The pod's own facts, beside the settings document that the controller creates for it. */
const agent = {
  namespace: common.namespace,
  podName: common.podName,
  podUid: text('PY_POD_UID'),
  podIp: text('PY_POD_IP', ''),
  /** The listening socket that the agent was started with (images/probeyard/listener); 0 if it opens one itself. */
  sourceFd: integer('PY_SOURCE_FD', 0, 65_535, 0),
  settings: json(RUNNER_SETTINGS, 'an object', isRunnerSettings),
  /**
   * How often the pod was renewed; set by the agent itself (src/service/runner/renewal.ts), like the two that follow.
   */
  life: integer('PY_LIFE', 0, 1_000_000, 0),
  jobsBefore: integer('PY_JOBS_BEFORE', 0, Number.MAX_SAFE_INTEGER, 0),
  networkEnforced: json('PY_NETWORK_ENFORCED', 'true, false or null', isBooleanOrNull, null),
};

/** Where backups are: a folder, or a bucket. */
const backups = {
  backupFolder: text('PY_BACKUP_FOLDER', ''),
  backupS3Endpoint: httpUrl('PY_BACKUP_S3_ENDPOINT', ''),
  backupS3Bucket: text('PY_BACKUP_S3_BUCKET', ''),
  backupS3Prefix: text('PY_BACKUP_S3_PREFIX', ''),
  backupS3Region: text('PY_BACKUP_S3_REGION', 'us-east-1'),
  backupS3KeyFile: text('PY_BACKUP_S3_KEY_FILE', ''),
  backupS3SecretFile: text('PY_BACKUP_S3_SECRET_FILE', ''),
  backupS3CaFile: text('PY_BACKUP_S3_CA_FILE', ''),
};
export type BackupsConfig = Pick<Config<'backup'>, keyof typeof backups>;
/** The installation's Secrets, a folder each. */
const keysFolder = text('PY_KEYS_FOLDER', '/etc/probeyard-keys');

const backup = {
  ...common,
  ...postgres,
  ...backups,
  keysFolder,
  backupWhat: oneOf('PY_BACKUP_WHAT', ['all', 'erasures', 'check'], 'all'),
  backupRecipients: json('PY_BACKUP_RECIPIENTS', 'a list of public keys', isStrings, []),
  /** 0: all are kept. */
  backupKeep: integer('PY_BACKUP_KEEP', 0, 100_000, 14),
};

const restore = {
  ...common,
  ...postgres,
  ...backups,
  keysFolder,
  restoreName: text('PY_RESTORE_NAME'),
  restoreKeyFile: text('PY_RESTORE_KEY_FILE'),
  waitMs: integer('PY_WAIT_MS', 0, 3_600_000, 120_000),
};

const migrate = {
  ...common,
  ...postgres,
  /** The backup that must be restored before anything is written; empty: none. */
  restoreName: text('PY_RESTORE_NAME', ''),
  /** Addresses of the API and the controller, if they sign in with roles of their own. */
  postgresApiUrl: text('PY_POSTGRES_API_URL', ''),
  postgresControllerUrl: text('PY_POSTGRES_CONTROLLER_URL', ''),
  adminEmailFile: text('PY_ADMIN_EMAIL_FILE', ''),
  adminPasswordFile: text('PY_ADMIN_PASSWORD_FILE', ''),
  adminTokenFile: text('PY_ADMIN_TOKEN_FILE', ''),
  waitMs: integer('PY_WAIT_MS', 0, 3_600_000, 120_000),
};

const isNames = (value: unknown): value is Record<string, string> =>
  isObject(value) && Object.values(value).every((name) => typeof name === 'string');
const setup = {
  ...common,
  /** The backup whose keys are taken instead of new ones; empty: none. */
  ...backups,
  restoreName: text('PY_RESTORE_NAME', ''),
  restoreKeyFile: text('PY_RESTORE_KEY_FILE', ''),
  /** `natsHosts` and `postgresHost` are empty for external servers, whose Secrets are given. */
  natsHosts: text('PY_NATS_HOSTS', ''),
  postgresHost: text('PY_POSTGRES_HOST', ''),
  postgresClaim: text('PY_POSTGRES_CLAIM', ''),
  adminEmail: text('PY_ADMIN_EMAIL', 'admin@probeyard.invalid'),
  secretNames: json('PY_SECRET_NAMES', 'an object of names', isNames, {}),
};

const rotate = {
  ...common,
  ...postgres,
  natsHosts: text('PY_NATS_HOSTS', ''),
  secretNames: json('PY_SECRET_NAMES', 'an object of names', isNames, {}),
  rotate: json('PY_ROTATE', 'a list of what to rotate', isStrings, []),
};

const samples = {
  ...common,
  listen: api.listen,
  metricsListen: metrics.metricsListen,
  samplesFolder: text('PY_SAMPLES_FOLDER', '/app/samples'),
};

const ROLES = { api, controller, agent, migrate, setup, backup, restore, rotate, samples };
type Settings = typeof ROLES;
export type Role = keyof Settings;
export type Config<R extends Role> = { [K in keyof Settings[R]]: Settings[R][K] extends Setting<infer T> ? T : never };

export function loadConfig<R extends Role>(role: R, env: Env = process.env): Config<R> {
  const problems: string[] = [];
  const out: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(ROLES[role]) as [string, Setting<unknown>][]) {
    const value = env[setting.variable];
    if (value === undefined || value === '') {
      if (setting.fallback === undefined) problems.push(`${setting.variable}: is required for the role ${role}`);
      out[name] = setting.fallback;
      continue;
    }
    try {
      out[name] = setting.parse(value);
    } catch (error) {
      // The value is omitted deliberately: it may be a secret.
      problems.push(`${setting.variable}: ${(error as Error).message}`);
    }
  }
  if (out['postgresUrl'] === '' && out['postgresFolder'] === '')
    problems.push(`PY_POSTGRES_URL: is required for the role ${role}, or PY_POSTGRES_FOLDER`);
  if (out['publicUrl'] === '' && (out['issuers'] as unknown[] | undefined)?.length)
    problems.push('PY_PUBLIC_URL: is required with PY_OIDC: issuers send people back there');
  if (problems.length > 0) throw new ConfigError(problems);
  return out as Config<R>;
}
