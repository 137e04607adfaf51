/**
 * The chart's values in one description, from which values.schema.json is generated. Every object refuses unknown
 * names.
 */
import Type, { type TObject, type TProperties, type TSchema } from 'typebox';
import { customResourceDefinition } from './crds.ts';
import { MAX_POLICY_NAME } from '../src/platform/kube/probe_policy.ts';
import { PROBE_POOL, WALLS } from '../src/platform/kube/probe_pool.ts';
import { CREDENTIAL_NAME, IDENTITY_KEYS, SECRET_KEYS } from '../src/source/named_credential.ts';
import { TOOLS } from '../src/media/tools/table.ts';

const object = <P extends TProperties>(properties: P, required: (keyof P & string)[] = []): TSchema =>
  ({
    type: 'object',
    properties,
    additionalProperties: false,
    ...(required.length > 0 ? { required } : {}),
  }) as unknown as TObject;

const oneOf = (values: readonly string[]): TSchema => Type.Unsafe({ type: 'string', enum: [...values] });
const orNull = (schema: TSchema): TSchema => Type.Unsafe({ anyOf: [schema, { type: 'null' }] });
const text = (options: { minLength?: number; maxLength?: number; pattern?: string } = {}) => Type.String(options);
const flag = Type.Boolean();
const whole = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });
/** Types of Kubernetes, which the API server validates itself. */
const anyObject = Type.Unsafe({ type: 'object' });
const anyObjects = Type.Array(anyObject);
const textMap = Type.Unsafe({ type: 'object', additionalProperties: { type: 'string' } });

const DNS_LABEL = '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$';
const OBJECT_NAME = '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$';
const objectName = text({ pattern: OBJECT_NAME });
const optionalName = text({ pattern: `^$|${OBJECT_NAME}` });
const digest = text({ pattern: '^(sha256:[0-9a-f]{64})?$' });
const cidr = text({ pattern: '^[0-9a-fA-F:.]+/[0-9]{1,3}$' });
const port = whole(1, 65535);
const quantity = Type.Unsafe({
  anyOf: [{ type: 'string', pattern: '^[0-9.]+([numkKMGTPE]|[KMGTPE]i)?$' }, { type: 'number' }],
});
const amounts = object({ cpu: quantity, memory: quantity, 'ephemeral-storage': quantity });
const resources = object({ requests: amounts, limits: amounts });

const identity = object({
  role: text({ pattern: '^arn:[\\w-]+:iam::\\d{12}:role/[\\w+=,.@/-]{1,576}$' }),
  provider: text({ pattern: '^//iam\\.googleapis\\.com/[\\w/.-]{1,300}$' }),
  serviceAccount: text({ pattern: '^[a-z0-9.-]+@[a-z0-9.-]+$', maxLength: 254 }),
  tenant: text({ pattern: '^[\\w.-]{1,128}$' }),
  client: text({ pattern: '^[\\w-]{1,64}$' }),
  endpoint: text({ pattern: '^https?://[^\\s@?#]+$' }),
  audience: text({ minLength: 1, maxLength: 512 }),
});
/** Either a Secret, or what the kind needs of an identity. */
const access = [
  { required: ['secret'], not: { required: ['identity'] } },
  ...Object.entries(IDENTITY_KEYS).map(([kind, required]) => ({
    required: ['identity'],
    not: { required: ['secret'] },
    properties: { kind: { const: kind }, identity: { required } },
  })),
];
const namedCredentialFields = object(
  {
    name: text({ pattern: CREDENTIAL_NAME }),
    kind: oneOf(Object.keys(SECRET_KEYS)),
    secret: objectName,
    identity,
    accounts: Type.Array(Type.Unsafe({ anyOf: [{ type: 'integer', minimum: 1 }, { const: '*' }] }), { minItems: 1 }),
    buckets: Type.Array(text({ minLength: 1 }), { minItems: 1 }),
    region: text({ pattern: '^[A-Za-z0-9-]{1,64}$' }),
    pictures: flag,
    tags: flag,
  },
  ['name', 'kind', 'accounts', 'buckets'],
);
const namedCredential = Type.Unsafe({ ...namedCredentialFields, anyOf: access });

/** Either a role, or the id of a user. */
const groupGift = { anyOf: [{ enum: ['admin', 'user'] }, { type: 'integer', minimum: 1 }] };
const issuer = object(
  {
    name: text({ pattern: '^[A-Za-z0-9][A-Za-z0-9-]{0,31}$' }),
    issuer: text({ pattern: '^https://[^\\s?#@]+$' }),
    clientId: text({ minLength: 1 }),
    clientSecretRef: object({ name: objectName, key: text({ minLength: 1 }) }, ['name']),
    scopes: Type.Array(text({ pattern: '^[!-~]+$' })),
    claims: object({ email: text({ minLength: 1 }), groups: text({ minLength: 1 }) }),
    groups: Type.Unsafe({ type: 'object', minProperties: 1, additionalProperties: groupGift }),
    allowedDomains: Type.Array(text({ pattern: '^[A-Za-z0-9.-]+$' })),
    linkByEmail: flag,
    audience: text(),
  },
  ['name', 'issuer', 'clientId', 'groups'],
);

const image = { registry: text(), repository: text({ minLength: 1 }), tag: text(), digest };
const placement = { nodeSelector: textMap, tolerations: anyObjects, affinity: anyObject, priorityClassName: text() };
const probe = object({
  periodSeconds: whole(1, 3600),
  timeoutSeconds: whole(1, 3600),
  failureThreshold: whole(1, 1000),
});
/** Required like the limits of an account below. */
const PROBES = ['readinessProbe', 'livenessProbe'] as const;
const deployment = {
  readinessProbe: probe,
  livenessProbe: probe,
  replicas: orNull(whole(0, 1000)),
  resources,
  serviceAccount: object({ create: flag, name: optionalName, annotations: textMap }),
  strategy: anyObject,
  dnsConfig: anyObject,
  podAnnotations: textMap,
  podLabels: textMap,
  ...placement,
  topologySpreadConstraints: anyObjects,
  pdb: object({
    enabled: flag,
    maxUnavailable: Type.Unsafe({
      anyOf: [
        { type: 'integer', minimum: 0 },
        { type: 'string', pattern: '^[0-9]{1,3}%$' },
      ],
    }),
  }),
  extraEnv: anyObjects,
  extraVolumes: anyObjects,
  extraVolumeMounts: anyObjects,
  extraContainers: anyObjects,
};
const persistence = object({ enabled: flag, size: quantity, storageClass: orNull(text()) });
const duration = text({ pattern: '^[0-9]+(ms|s|m|h)$' });
const monitor = object({
  enabled: flag,
  labels: textMap,
  interval: duration,
  scrapeTimeout: text({ pattern: '^$|^[0-9]+(ms|s|m|h)$' }),
  honorLabels: flag,
  relabelings: anyObjects,
  metricRelabelings: anyObjects,
  sampleLimit: whole(0, 10_000_000),
});
const percent = Type.Unsafe({ type: 'number', minimum: 50, exclusiveMaximum: 100 });

const command = Type.Array(text({ minLength: 1 }), { minItems: 1, maxItems: 16 });
const tool = object(
  {
    tool: oneOf(TOOLS),
    version: text({ pattern: '^[0-9A-Za-z][0-9A-Za-z._-]*$', maxLength: 64 }),
    latest: flag,
    command,
    arm64: object({ command }, ['command']),
    image: text(),
    tag: text(),
    digest,
  },
  ['tool', 'version', 'command'],
);

/** The JSON schema of a ProbePool's spec from the CRD, made strict. */
function poolSpec(): TSchema {
  const definition = customResourceDefinition(PROBE_POOL) as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: object } } } }[] };
  };
  const spec = definition.spec.versions[0]?.schema.openAPIV3Schema.properties.spec;
  const strict = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(strict);
    if (typeof node !== 'object' || node === null) return node;
    const kept = Object.entries(node).filter(
      ([key]) => !key.startsWith('x-kubernetes-') && key !== 'format' && key !== 'default',
    );
    const out = Object.fromEntries(kept.map(([key, value]) => [key, strict(value)]));
    return out['type'] === 'object' && out['properties'] ? { ...out, additionalProperties: false } : out;
  };
  return Type.Unsafe(strict(spec) as object);
}

const allowedPlace = Type.Unsafe({
  type: 'object',
  properties: { cidr, host: text({ minLength: 1 }), port },
  additionalProperties: false,
  oneOf: [{ required: ['cidr'] }, { required: ['host'] }],
});

const VALUES: TSchema = object({
  // A parent chart may add its own values beside these.
  global: Type.Unsafe({ type: 'object', properties: { imageRegistry: text() } }),
  enabled: flag,
  podSecurityContext: anyObject,
  containerSecurityContext: anyObject,
  hostAliases: anyObjects,
  extraObjects: anyObjects,
  fullnameOverride: text({ pattern: `^$|${DNS_LABEL}` }),
  image: object({ ...image, pullPolicy: oneOf(['Always', 'IfNotPresent', 'Never']) }),
  imagePullSecrets: Type.Array(object({ name: objectName }, ['name'])),
  pullSecret: object({ dockerConfigJson: text() }),
  logLevel: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal']),
  logSample: object({ perSecond: whole(0, 1_000_000), oneIn: whole(1, 100_000) }, ['perSecond', 'oneIn']),
  commonLabels: textMap,
  arch: oneOf(['', 'amd64', 'arm64']),
  crds: object({ enabled: flag, keep: flag }),
  rbac: object({
    create: flag,
    submitters: Type.Array(
      object(
        {
          kind: oneOf(['User', 'Group', 'ServiceAccount']),
          name: text({ minLength: 1 }),
          namespace: objectName,
        },
        ['kind', 'name'],
      ),
    ),
    aggregate: flag,
  }),
  admissionPolicy: object({ enabled: flag }),
  upload: object({ enabled: flag, maxBytes: whole(1, 1_000_000_000_000), roomBytes: whole(1, 10_000_000_000_000) }, [
    'maxBytes',
    'roomBytes',
  ]),
  cache: object({ enabled: flag }),
  api: object(
    {
      ...deployment,
      autoscaling: object({
        enabled: flag,
        minReplicas: whole(1, 1000),
        maxReplicas: whole(1, 1000),
        metrics: anyObjects,
      }),
      publicUrl: text({ pattern: '^$|^https?://[^/?#@ ]+/?$' }),
      trustedProxies: orNull(whole(0, 20)),
      console: flag,
      mcp: flag,
      memoryBudgetBytes: whole(20_000_000, 1_000_000_000_000),
      drainSeconds: whole(0, 3600),
      maxConnections: whole(10, 1_000_000),
      service: object({
        type: oneOf(['ClusterIP', 'NodePort', 'LoadBalancer']),
        port,
        nodePort: whole(0, 65535),
        annotations: textMap,
        ipFamilies: Type.Array(oneOf(['IPv4', 'IPv6']), { maxItems: 2 }),
        ipFamilyPolicy: oneOf(['', 'SingleStack', 'PreferDualStack', 'RequireDualStack']),
      }),
    },
    [...PROBES, 'maxConnections'],
  ),
  controller: object({ ...deployment, replicas: orNull(whole(1, 1000)), terminationGraceSeconds: whole(1, 3600) }, [
    ...PROBES,
  ]),
  // Required, so that values of an older chart (helm upgrade --reuse-values) are refused instead of rendered as 0.
  accounts: object(
    {
      signUp: flag,
      maxSubUsers: whole(0, 1_000_000),
      maxTokens: whole(1, 1_000_000),
      passwords: flag,
      oidc: Type.Array(issuer),
      absenceDays: orNull(whole(1, 3650)),
    },
    ['maxSubUsers', 'maxTokens'],
  ),
  tokens: object({ viewable: flag }),
  mail: object({
    host: text({ pattern: '^[A-Za-z0-9.:_-]*$' }),
    port,
    tls: oneOf(['starttls', 'implicit', 'opportunistic', 'none']),
    from: text(),
    existingSecret: optionalName,
    usernameKey: text({ minLength: 1 }),
    passwordKey: text({ minLength: 1 }),
    caKey: text(),
  }),
  c2pa: object({
    trustAnchors: text(),
    userAnchors: text(),
    allowedList: text(),
    trustConfig: text(),
    settings: anyObject,
    configMap: optionalName,
  }),
  jobs: object({
    maxQueued: whole(1, 10_000_000),
    byHandPerMinute: whole(1, 10_000_000),
    quota: object({ enabled: flag, max: orNull(whole(1, 100_000_000)) }),
    finished: object({ seconds: whole(1, 86_400), max: whole(0, 100_000), byHandSeconds: whole(0, 86_400) }),
    secretRefs: object({ enabled: flag }),
  }),
  batches: object({ kueue: flag, maxItems: whole(1, 100_000_000) }),
  tenants: object({
    namespaces: Type.Array(
      object({ name: text({ pattern: DNS_LABEL }), account: whole(1, 2 ** 53 - 1), token: whole(1, 2 ** 53 - 1) }, [
        'name',
        'account',
      ]),
    ),
  }),
  retention: object({
    resultDays: whole(1, 36_500),
    logMonths: whole(1, 1_200),
    auditDays: whole(1, 36_500),
    minuteDays: whole(31, 36_500),
  }),
  limits: object({
    requestsPerMinute: whole(1, 10_000_000),
    concurrency: whole(1, 100_000),
    accountConcurrency: orNull(whole(0, 1_000_000)),
    queueTimeoutMs: whole(1, 60_000),
    fileBytes: whole(1, 1_000_000_000_000_000),
  }),
  compat: object({ onlyReturnsRaw: flag }),
  sources: object({
    allow: Type.Array(allowedPlace),
    deny: Type.Array(cidr),
    ca: object({ pem: text(), configMap: optionalName }),
    egressProxy: text({ pattern: '^$|^https?://[^/@]+/?$' }),
    noProxy: Type.Array(text({ minLength: 1 })),
    egressResolve: oneOf(['here', 'proxy']),
    minBytesPerMinute: whole(0, 1_000_000_000),
    credentials: Type.Array(namedCredential),
    s3: object({
      hosts: Type.Array(text({ pattern: '^\\.?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$' })),
      endpoint: text({ pattern: '^$|^https?://[^/?#@ ]+/?$' }),
      region: text({ pattern: '^[A-Za-z0-9-]{0,64}$' }),
    }),
    events: object({
      nats: orNull(
        object(
          {
            url: text({ pattern: '^(nats|tls)://([A-Za-z0-9_.-]+|\\[[0-9a-fA-F:]+\\])(:[0-9]{1,5})?$' }),
            subject: text({ pattern: '^[^\\s]{1,255}$' }),
            secretName: optionalName,
          },
          ['url', 'subject'],
        ),
      ),
    }),
  }),
  webhooks: object({ allow: Type.Array(allowedPlace) }),
  samples: object({ enabled: flag, resources, ...placement }),
  tools: object({
    delivery: oneOf(['imageVolume', 'bundled']),
    forceImageVolume: flag,
    registry: text(),
    repositoryPrefix: text({ minLength: 1 }),
    allowedRegistries: Type.Array(text({ minLength: 1 })),
    catalog: Type.Array(tool),
    include: Type.Array(text({ minLength: 1 })),
    exclude: Type.Array(text({ minLength: 1 })),
    showVulnerabilities: flag,
    bundled: object(image),
  }),
  pools: Type.Unsafe({
    type: 'object',
    propertyNames: { pattern: DNS_LABEL, maxLength: 40 },
    additionalProperties: orNull(poolSpec()),
  }),
  policies: object({
    builtIn: flag,
    shared: Type.Unsafe({
      type: 'object',
      propertyNames: { pattern: OBJECT_NAME, maxLength: MAX_POLICY_NAME },
      additionalProperties: orNull(Type.Unsafe({ type: 'object', required: ['rules'] })),
    }),
  }),
  runners: object({
    namespace: text({ pattern: DNS_LABEL }),
    createNamespace: flag,
    isolation: object({ require: Type.Array(oneOf(WALLS)) }),
    nodeSelector: textMap,
    tolerations: anyObjects,
    labels: textMap,
    annotations: textMap,
    priorityClassName: text(),
    pdb: object({ enabled: flag }),
    prePull: object({ enabled: flag, resources, ...placement }),
    resourceQuota: Type.Unsafe({ type: 'object', additionalProperties: quantity }),
    limitRange: anyObjects,
  }),
  nats: object({
    external: object({
      url: text({ pattern: '^$|^(tls|nats|wss)://' }),
      urls: Type.Array(text({ pattern: '^(tls|nats|wss)://[^,\\s]+$' })),
      runnerUrl: text({ pattern: '^$|^(tls|nats|wss)://' }),
      account: text({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
      apiKey: text({ minLength: 1 }),
      controllerKey: text({ minLength: 1 }),
      sentinelJwt: text({ pattern: '^$|^[\\w-]+\\.[\\w-]+\\.[\\w-]+$' }),
    }),
    replicas: Type.Unsafe({ type: 'integer', enum: [1, 3, 5] }),
    streamReplicas: orNull(Type.Unsafe({ type: 'integer', enum: [1, 3, 5] })),
    image: object(image),
    resources,
    jetstream: object({
      memory: text({ pattern: '^[0-9]+(B|KB|MB|GB)$' }),
      file: text({ pattern: '^[0-9]+(B|KB|MB|GB)$' }),
    }),
    persistence,
    podAnnotations: textMap,
    ...placement,
    topologySpreadConstraints: anyObjects,
  }),
  postgres: object({
    external: object({
      existingSecret: optionalName,
      apiSecret: optionalName,
      controllerSecret: optionalName,
      urlKey: text({ minLength: 1 }),
      directUrlKey: text({ minLength: 1 }),
      caKey: text(),
      caSecret: optionalName,
      clientCertificate: object({
        ownerSecret: optionalName,
        apiSecret: optionalName,
        controllerSecret: optionalName,
        certificateKey: text({ minLength: 1 }),
        privateKeyKey: text({ minLength: 1 }),
      }),
    }),
    cnpg: object({
      enabled: flag,
      instances: whole(1, 100),
      imageName: text(),
      storage: object({ size: quantity, storageClass: orNull(text()) }),
      resources,
      spec: anyObject,
    }),
    poolSize: whole(2, 200),
    preparedStatements: flag,
    image: object(image),
    resources,
    persistence,
    podAnnotations: textMap,
    ...placement,
  }),
  backup: object({
    enabled: flag,
    schedule: text({ minLength: 9 }),
    erasuresSchedule: text({ minLength: 9 }),
    recipients: Type.Array(text({ pattern: '^age1[02-9ac-hj-np-z]{58}$' })),
    keep: whole(0, 100_000),
    maxHours: whole(1, 1_000),
    claim: object({ existingClaim: optionalName, size: quantity, storageClass: orNull(text()) }),
    s3: object({
      endpoint: text({ pattern: '^$|^https?://[^/?#@ ]+/?$' }),
      bucket: text({ pattern: '^$|^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$' }),
      prefix: text({ pattern: '^([A-Za-z0-9._-]+/)*[A-Za-z0-9._-]*$', maxLength: 500 }),
      region: text({ pattern: '^[A-Za-z0-9-]{1,64}$' }),
      existingSecret: optionalName,
      accessKeyKey: text({ minLength: 1 }),
      secretKeyKey: text({ minLength: 1 }),
      caKey: text(),
    }),
    extraEgress: anyObjects,
    resources,
    ...placement,
  }),
  restore: object({
    name: text({ pattern: '^$|^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$' }),
    existingSecret: optionalName,
    secretKey: text({ minLength: 1 }),
  }),
  rotation: object({
    schedule: text({ pattern: '^$|^[^ ]+( [^ ]+){4}$' }),
    what: Type.Array(oneOf(['seal', 'box', 'natsCa', 'postgres', 'admin'])),
  }),
  setup: object({ enabled: flag, adminEmail: text({ pattern: '^[^@\\s]+@[^@\\s]+$' }) }),
  secrets: object({
    natsTls: objectName,
    natsAuth: objectName,
    postgres: objectName,
    postgresApi: objectName,
    postgresController: objectName,
    sealPublic: objectName,
    sealPrivate: objectName,
    admin: objectName,
    box: objectName,
  }),
  networkPolicy: object({
    enabled: flag,
    dns: object({ namespace: objectName, podLabels: textMap, ports: Type.Array(port, { minItems: 1 }) }),
    kubeApi: object({ cidrs: Type.Array(cidr, { minItems: 1 }), ports: Type.Array(port, { minItems: 1 }) }),
    apiFrom: anyObjects,
    metricsFrom: anyObjects,
    apiExtraEgress: anyObjects,
    controllerExtraEgress: anyObjects,
    runnerExtraEgress: anyObjects,
  }),
  ingress: object({
    enabled: flag,
    className: text(),
    annotations: textMap,
    hosts: Type.Array(text({ minLength: 1 })),
    tls: anyObjects,
  }),
  gateway: object({
    enabled: flag,
    parentRefs: anyObjects,
    hostnames: Type.Array(text({ minLength: 1 })),
    timeout: text({ pattern: '^[0-9]+(ms|s|m|h)$' }),
    annotations: textMap,
  }),
  metrics: object({
    auth: oneOf(['none', 'token', 'kubernetes']),
    tokenSecret: optionalName,
    tls: object({ existingSecret: optionalName, caKey: text() }),
    scrapeAnnotations: flag,
    podMonitor: monitor,
    serviceMonitor: monitor,
    dashboards: object({
      enabled: flag,
      labels: textMap,
      annotations: textMap,
      namespace: text({ pattern: `^$|${DNS_LABEL}` }),
    }),
    prometheusRule: object({
      enabled: flag,
      labels: textMap,
      cluster: text({ pattern: '^[^"\\\\]*$' }),
      runbookUrl: text({ minLength: 1 }),
      serviceLevels: object({ answers: percent, queue: percent }, ['answers', 'queue']),
      timeFactor: Type.Unsafe({ type: 'number', minimum: 0.001, maximum: 10 }),
      extraRules: anyObjects,
    }),
  }),
  tracing: object({ endpoint: text({ pattern: '^$|^https?://[^/?#@ ]+/?$' }), percent: whole(0, 100) }),
  flowControl: object({ enabled: flag, concurrencyShares: whole(1, 1000) }),
  tests: object({ enabled: flag, requireNetworkPolicy: flag }),
});

const DRAFT = 'http://json-schema.org/draft-07/schema#';

export const valuesSchema = (): string =>
  `${JSON.stringify({ $schema: DRAFT, title: 'Values of the Probeyard chart', ...VALUES }, null, 2)}\n`;
