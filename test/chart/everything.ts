/** Values that turn on everything that is off by default and compatible with the rest. */
export const EVERYTHING = {
  global: { imageRegistry: 'registry.example/x' },
  imagePullSecrets: [{ name: 'pull' }],
  pullSecret: { dockerConfigJson: '{"auths":{"registry.example":{"auth":"bWU6c2VjcmV0"}}}' },
  commonLabels: { team: 'media' },
  arch: 'amd64',
  api: {
    publicUrl: 'https://probe.example',
    trustedProxies: 1,
    console: false,
    priorityClassName: 'high',
    podAnnotations: { a: 'b' },
    podLabels: { c: 'd' },
    tolerations: [{ operator: 'Exists' }],
    affinity: { podAffinity: {} },
    extraEnv: [{ name: 'A', value: 'b' }],
    service: { type: 'NodePort', nodePort: 30_080, annotations: { e: 'f' } },
  },
  cache: { enabled: false },
  controller: { priorityClassName: 'high', extraEnv: [{ name: 'A', value: 'b' }], nodeSelector: { disk: 'ssd' } },
  accounts: {
    maxSubUsers: 20,
    maxTokens: 30,
    absenceDays: 30,
    oidc: [
      {
        name: 'corp',
        issuer: 'https://id.example/realms/main',
        clientId: 'probeyard',
        clientSecretRef: { name: 'sso', key: 'secret' },
        claims: { groups: 'realm_access.roles' },
        groups: { '/staff': 'user', admins: 'admin', north: 7 },
        allowedDomains: ['example.org'],
        audience: 'https://probe.example/mcp',
      },
      { name: 'Google', issuer: 'https://accounts.google.com', clientId: 'x', scopes: ['email'], groups: { y: 7 } },
    ],
  },
  mail: { host: 'smtp.example', port: 465, tls: 'implicit', from: 'probe@example.org', existingSecret: 'smtp' },
  jobs: { secretRefs: { enabled: true } },
  batches: { kueue: true, maxItems: 5_000_000 },
  tenants: { namespaces: [{ name: 'team-a', account: 7, token: 12 }] },
  sources: {
    allow: [{ cidr: '10.88.0.1/32' }, { host: 'origin.example', port: 443 }, { cidr: 'fd00::1/128', port: 8080 }],
    deny: ['203.0.113.0/24', '2001:db8::/32'],
    ca: { pem: '-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----' },
    egressProxy: 'http://proxy.example:3128',
    noProxy: ['.example.com', '10.0.0.0/8'],
    egressResolve: 'proxy',
    minBytesPerMinute: 65_536,
    credentials: [
      {
        name: 'archive',
        kind: 's3',
        secret: 'archive',
        accounts: [1, 2],
        buckets: ['media'],
        region: 'eu-west-1',
        tags: true,
      },
      { name: 'azure', kind: 'az', secret: 'azure', accounts: ['*'], buckets: ['account/films'] },
      {
        name: 'identity',
        kind: 's3',
        identity: { role: 'arn:aws:iam::123456789012:role/probeyard' },
        accounts: [1],
        buckets: ['films'],
      },
    ],
    s3: { hosts: ['minio.example.com:9000'], endpoint: 'https://minio.example.com', region: 'eu-west-1' },
    events: { nats: { url: 'tls://events.example:4223', subject: 'buckets.>', secretName: 'events' } },
  },
  webhooks: { allow: [{ cidr: '10.88.0.2/32', port: 8443 }, { host: 'hooks.example' }] },
  limits: {
    requestsPerMinute: 1_000,
    concurrency: 50,
    accountConcurrency: 120,
    queueTimeoutMs: 30_000,
    fileBytes: 20_000_000_000,
  },
  compat: { onlyReturnsRaw: true },
  runners: {
    nodeSelector: { pool: 'media' },
    tolerations: [{ key: 'media', operator: 'Exists' }],
    labels: { x: 'z' },
    annotations: { g: 'h' },
    priorityClassName: 'low',
  },
  networkPolicy: {
    apiFrom: [{ namespaceSelector: {} }],
    metricsFrom: [{ namespaceSelector: {} }],
    apiExtraEgress: [{ ports: [{ port: 6432 }] }],
    controllerExtraEgress: [{ ports: [{ port: 6432 }] }],
    runnerExtraEgress: [{ ports: [{ port: 3128 }] }],
  },
  ingress: {
    enabled: true,
    className: 'nginx',
    hosts: ['probe.example'],
    tls: [{ secretName: 't', hosts: ['probe.example'] }],
  },
  metrics: { scrapeAnnotations: true },
  flowControl: { enabled: true },
} as const;

/** Features that need foreign CRDs in the cluster. */
export const OTHERS_CRDS = {
  gateway: { enabled: true, parentRefs: [{ name: 'gw' }], hostnames: ['probe.example'] },
  metrics: {
    serviceMonitor: { enabled: true, labels: { p: 'q' } },
    prometheusRule: { enabled: true, labels: { p: 'q' }, extraRules: [{ alert: 'X', expr: '1' }] },
  },
} as const;

export const SAMPLES = { samples: { enabled: true } } as const;

/** Backups to a bucket, and a new installation that begins with one of them. */
export const BACKUPS = {
  backup: {
    enabled: true,
    recipients: ['age1fsmffmtvkn0dr6k6kp5j6ts454kpl9fm26q0spakxdmj8u7qvcgqfmmnxh'],
    s3: { endpoint: 'https://minio.example:9000', bucket: 'backups', existingSecret: 'bucket', caKey: 'ca.crt' },
  },
  restore: { name: 'probeyard-20260131T022300Z.age', existingSecret: 'restore' },
} as const;
