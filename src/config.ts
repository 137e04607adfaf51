/** All settings of all roles: environment variable, form and default. A single error lists everything that is wrong. */
import { DEFAULT_LIMITS, MAX_QUEUE_MS, type DefaultLimits } from './limits.ts';
import { checkRunnerSettings, RUNNER_SETTINGS } from './runner_settings.ts';
import type { SourceException } from './source_exception.ts';

export class ConfigError extends Error {
  readonly code = 'config-invalid';
  readonly problems: string[];
  constructor(problems: string[]) {
    super(`invalid settings:\n  ${problems.join('\n  ')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

type Env = Record<string, string | undefined>;
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

/** `read` throws an error that describes what is wrong. */
const document = <T>(variable: string, read: (value: unknown) => T, fallback?: T): Setting<T> => ({
  variable,
  fallback,
  parse: (value) => {
    let parsed: unknown;
    try {
      parsed = JSON.parse(value);
    } catch {
      throw new Error('is not valid JSON');
    }
    return read(parsed);
  },
});

const json = <T>(variable: string, what: string, is: (value: unknown) => value is T, fallback?: T): Setting<T> =>
  document(
    variable,
    (value) => {
      if (!is(value)) throw new Error(`must be ${what}`);
      return value;
    },
    fallback,
  );

/** `:8080`, `0.0.0.0:8080` or `[::1]:8080`. */
const listen = (variable: string, fallback?: string): Setting<{ host: string | undefined; port: number }> => {
  const parse = (value: string) => {
    const match = /^(.*):(\d{1,5})$/.exec(value);
    if (!match || Number(match[2]) > 65535) throw new Error('must be [host]:port');
    return { host: match[1] ? match[1].replace(/^\[|\]$/g, '') : undefined, port: Number(match[2]) };
  };
  return { variable, fallback: fallback === undefined ? undefined : parse(fallback), parse };
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const isAllowed = (value: unknown): value is SourceException[] =>
  Array.isArray(value) &&
  value.every((item) => isObject(item) && (typeof item['cidr'] === 'string' || typeof item['host'] === 'string'));

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
};
const postgres = {
  postgresUrl: text('PY_POSTGRES_URL'),
  postgresDirectUrl: text('PY_POSTGRES_DIRECT_URL', ''),
  postgresCaFile: text('PY_POSTGRES_CA_FILE', ''),
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
/** How origins and webhook receivers are reached. */
const egress = {
  egressProxy: text('PY_EGRESS_PROXY', ''),
  noProxy: json('PY_NO_PROXY', 'a list of names and CIDRs', isStrings, []),
  egressResolve: oneOf('PY_EGRESS_RESOLVE', ['here', 'proxy'], 'here'),
};
/** How runners reach origins: the controller passes it on to them. */
const origins = {
  ...egress,
  s3Endpoint: httpUrl('PY_S3_ENDPOINT', ''),
  s3Region: text('PY_S3_REGION', ''),
  minBytesPerMinute: integer('PY_MIN_BYTES_PER_MINUTE', 0, 1_000_000_000, 16_384),
};
/** Default limits of users. */
const limits = {
  requestsPerMinute: integer('PY_LIMIT_REQUESTS_PER_MINUTE', 1, 10_000_000, DEFAULT_LIMITS.requestsPerMinute),
  concurrency: integer('PY_LIMIT_CONCURRENCY', 1, 100_000, DEFAULT_LIMITS.concurrency),
  queueTimeoutMs: integer('PY_LIMIT_QUEUE_TIMEOUT_MS', 1, MAX_QUEUE_MS, DEFAULT_LIMITS.queueTimeoutMs),
  fileBytes: integer('PY_LIMIT_FILE_BYTES', 1, 1_000_000_000_000_000, DEFAULT_LIMITS.fileBytes),
  /** For an account, over all its tokens. Null: four times the concurrency of its root user; 0: unlimited. */
  accountConcurrency: integerOrNull('PY_LIMIT_ACCOUNT_CONCURRENCY', 0, 1_000_000),
};
export const limitsOf = ({
  requestsPerMinute,
  concurrency,
  queueTimeoutMs,
  fileBytes,
  accountConcurrency,
}: DefaultLimits): DefaultLimits => ({ requestsPerMinute, concurrency, queueTimeoutMs, fileBytes, accountConcurrency });

const api = {
  ...common,
  ...postgres,
  ...nats,
  ...sources,
  s3Hosts,
  ...egress,
  sourceCaFile: text('PY_SOURCE_CA_FILE', ''),
  natsNkeyFile: text('PY_NATS_NKEY_FILE'),
  sealPublicFile: text('PY_SEAL_PUBLIC_FILE'),
  replica: text('PY_REPLICA', 'local'),
  listen: listen('PY_LISTEN', ':8080'),
  metricsListen: listen('PY_METRICS_LISTEN', ':9090'),
  drainMs: integer('PY_DRAIN_MS', 0, 3_600_000, 115_000),
  maxQueued: integer('PY_MAX_QUEUED', 1, 10_000_000, 10_000),
  memoryBudgetBytes: integer('PY_MEMORY_BUDGET_BYTES', 20_000_000, 1_000_000_000_000, 160_000_000),
  ...limits,
  onlyReturnsRaw: flag('PY_ONLY_RETURNS_RAW', false),
  console: flag('PY_CONSOLE', true),
  boxFile: text('PY_BOX_FILE'),
  publicUrl: httpUrl('PY_PUBLIC_URL', ''),
  trustedHops: integer('PY_TRUSTED_HOPS', 0, 20, 0),
  signUp: flag('PY_SIGN_UP', true),
  mostSubUsers: integer('PY_MOST_SUB_USERS', 0, 1_000_000, 1_000),
  mostTokens: integer('PY_MOST_TOKENS', 1, 1_000_000, 2_000),
  tokensViewable: flag('PY_TOKENS_VIEWABLE', true),
  smtpHost: text('PY_SMTP_HOST', ''),
  smtpPort: integer('PY_SMTP_PORT', 1, 65_535, 587),
  smtpTls: oneOf('PY_SMTP_TLS', ['starttls', 'implicit', 'opportunistic', 'none'], 'starttls'),
  smtpFrom: text('PY_SMTP_FROM', ''),
  smtpUserFile: text('PY_SMTP_USER_FILE', ''),
  smtpPasswordFile: text('PY_SMTP_PASSWORD_FILE', ''),
};

const controller = {
  ...common,
  ...postgres,
  ...nats,
  ...sources,
  s3Hosts,
  natsNkeyFile: text('PY_NATS_NKEY_FILE'),
  natsIssuerFile: text('PY_NATS_ISSUER_FILE'),
  natsAccount: text('PY_NATS_ACCOUNT', 'PROBEYARD'),
  sealPrivateFile: text('PY_SEAL_PRIVATE_FILE'),
  metricsListen: listen('PY_METRICS_LISTEN', ':9090'),
  runnerNamespace: text('PY_RUNNER_NAMESPACE', 'probeyard-runners'),
  runnerImage: text('PY_RUNNER_IMAGE'),
  runnerServiceAccount: text('PY_RUNNER_SERVICE_ACCOUNT', 'probeyard-runner'),
  /** ConfigMap in the runner namespace that owns every pod; empty: pods have no owner. */
  runnerOwner: text('PY_RUNNER_OWNER', ''),
  verifyServiceAccount: text('PY_VERIFY_SERVICE_ACCOUNT', 'probeyard-verify'),
  /** How runner pods reach NATS. */
  runnerNatsUrl: text('PY_RUNNER_NATS_URL', ''),
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
  catalogFile: text('PY_CATALOG_FILE', '/etc/probeyard/catalog.yaml'),
  poolsFile: text('PY_POOLS_FILE', '/etc/probeyard/pools.yaml'),
  /** Empty: the chart ships no shared policies. */
  policiesFile: text('PY_POLICIES_FILE', ''),
  finishedSeconds: integer('PY_FINISHED_SECONDS', 1, 86_400, 600),
  finishedMax: integer('PY_FINISHED_MAX', 0, 100_000, 2_000),
  finishedMaxPerToken: integer('PY_FINISHED_MAX_PER_TOKEN', 0, 100_000, 50),
  keepEnvelopeDays: integer('PY_KEEP_ENVELOPE_DAYS', 1, 36_500, 30),
  keepRequestMonths: integer('PY_KEEP_REQUEST_MONTHS', 1, 1_200, 13),
  maxQueued: integer('PY_MAX_QUEUED', 1, 10_000_000, 10_000),
};

/** The pod's own facts, beside the settings document that the controller creates for it. */
const agent = {
  namespace: common.namespace,
  podName: common.podName,
  podUid: text('PY_POD_UID'),
  podIp: text('PY_POD_IP', ''),
  settings: document(RUNNER_SETTINGS, checkRunnerSettings),
};

const migrate = {
  ...common,
  ...postgres,
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
  /** `natsHosts` and `postgresHost` are empty for external servers, whose Secrets are given. */
  natsHosts: text('PY_NATS_HOSTS', ''),
  postgresHost: text('PY_POSTGRES_HOST', ''),
  postgresClaim: text('PY_POSTGRES_CLAIM', ''),
  adminEmail: text('PY_ADMIN_EMAIL', 'admin@probeyard.invalid'),
  secretNames: json('PY_SECRET_NAMES', 'an object of names', isNames, {}),
};

const ROLES = { api, controller, agent, migrate, setup };
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
  if (problems.length > 0) throw new ConfigError(problems);
  return out as Config<R>;
}
