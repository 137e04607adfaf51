/**
 * The API on real servers: Postgres, NATS and an API server. The tests act as the controller, through its own calls.
 */
import { codeMember } from '../../src/base/causes.ts';
import { randomBytes } from 'node:crypto';
import type { AccountSettings } from '../../src/service/accounts/settings.ts';
import { exportJWK, generateKeyPair, type JSONWebKeySet } from 'jose';
import { pino } from 'pino';
import { connectBus, type Bus } from '../../src/platform/bus/connect.ts';
import { SUBJECT, type CreateAnswer, type Ended, type Side } from '../../src/platform/bus/messages.ts';
import type { Settings } from '../../src/service/api/deps.ts';
import { DEFAULTS } from './default_settings.ts';
import { listen, type HttpServer } from '../../src/service/api/http/http_server.ts';
import { makeApp } from '../../src/service/api/server.ts';
import { wire, type Connections, type Wired } from '../../src/service/api/wire.ts';
import { outcome } from '../../src/service/controller/collect/outcome.ts';
import { PROBE_JOBS, PROBE_TOOLS, type KubeClient } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { API_VERSION } from '../../src/platform/kube/resource.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import type { ProbeTool } from '../../src/platform/kube/probe_tool.ts';
import type { ToolName } from '../../src/media/tools/table.ts';
import type { CloseInput } from '../../src/platform/store/records.ts';
import { timeOf } from '../../src/platform/store/uuid.ts';
import { testApiServer, type TestApiServer } from '../kube/apiserver.ts';
import { startRelay, type Relay } from '../kube/relay.ts';
import { startNats, type NatsServer } from '../servers.ts';
import { ADMIN, sha256, startStore, type FixtureSettings, type StoreFixture } from '../store/fixture.ts';
import { until } from '../until.ts';
import { watched } from './described.ts';
import { headOf, packText, type TextBody, type TextToolResult } from '../result/text_body.ts';

const TOOLS: [ToolName, string, { latest?: boolean; options?: string[] }][] = [
  [
    'ffprobe',
    '7.0',
    {
      latest: true,
      options: [
        'of',
        'show_format',
        'show_streams',
        'show_programs',
        'show_chapters',
        'show_error',
        'show_frames',
        'select_streams',
        'max_probe_packets',
      ],
    },
  ],
  [
    'ffprobe',
    '3.3',
    {
      options: [
        'of',
        'show_format',
        'show_streams',
        'show_programs',
        'show_chapters',
        'show_error',
        'show_frames',
        'select_streams',
      ],
    },
  ],
  ['mediainfo', '24.06', { latest: true }],
];

/** As an operator does who names images by digest. */
export async function pinTools({ kube, namespace, wired }: Pick<ApiFixture, 'kube' | 'namespace' | 'wired'>) {
  for (const [name, version] of TOOLS) {
    const image = `tools/${name}@sha256:${sha256(`${name} ${version}`).toString('hex')}`;
    await kube.mergePatch(PROBE_TOOLS, `${name}-${version}`, { spec: { image } }, { namespace });
  }
  await until('the API knows the digests', () =>
    TOOLS.every(([name, version]) => wired.deps.catalog().exactly(name, version) !== undefined),
  );
}

export interface ApiFixture {
  url: string;
  token: string;
  tokenId: number;
  userId: number;
  namespace: string;
  stored: StoreFixture;
  nats: NatsServer;
  bus: Bus;
  kube: KubeClient;
  /** Relay between the API and the API server, if requested. */
  relay: Relay | undefined;
  privateKeys: JSONWebKeySet;
  wired: Wired;
  server: HttpServer;
  announced: ProbeJob[];
  /** Every log line, as text. */
  log: string[];
  get(query: string, init?: RequestInit): Promise<Response>;
  post(body: unknown, init?: RequestInit): Promise<Response>;
  /** A new token of the same user. */
  newToken(limits?: { requestsPerMinute?: number }): Promise<{ token: string; id: number }>;
  /** The next ProbeJob with an address of this host. */
  job(host: string): Promise<ProbeJob>;
  /** Records the end as a collector does, and notifies the API (unless the notice is lost). */
  end(
    id: string,
    end: {
      result?: TextBody;
      close?: Partial<CloseInput>;
      tell?: boolean;
      inline?: boolean;
      asked?: { name: ToolName; version?: string; side?: Side }[];
    },
  ): Promise<void>;
  stop(): Promise<void>;
}

export const tool = (name: ToolName, output: string, change: Partial<TextToolResult> = {}): TextToolResult => ({
  name,
  version: '7.0',
  success: true,
  durationMs: 31,
  usageMs: 31,
  exitCode: 0,
  signal: null,
  format: 'json',
  output,
  ...change,
});

interface ToolChange {
  latest?: boolean;
  options?: readonly string[];
}

/** A proven version in the catalog. */
export async function createTool(
  { kube, namespace }: Pick<ApiFixture, 'kube' | 'namespace'>,
  name: ToolName,
  version: string,
  { latest = false, options }: ToolChange = {},
): Promise<void> {
  const object: ProbeTool = {
    apiVersion: API_VERSION,
    kind: 'ProbeTool',
    metadata: { name: `${name}-${version}`, namespace },
    spec: { tool: name, version, image: `tools/${name}:${version}`, latest, command: ['{root}/bin/tool'] },
  };
  await kube.create(PROBE_TOOLS, object);
  await kube.mergePatchStatus(
    PROBE_TOOLS,
    object.metadata.name,
    {
      conditions: [
        {
          type: 'Available',
          status: 'True',
          reason: 'Proven',
          message: '',
          lastTransitionTime: new Date().toISOString(),
        },
      ],
      ...(options ? { architectures: [{ arch: 'amd64', version, options }] } : {}),
    },
    { namespace },
  );
}

export const accountSettings = (change: Partial<AccountSettings> = {}): AccountSettings => {
  const keys = { keys: [{ kty: 'oct', kid: 'box', k: randomBytes(32).toString('base64url') }] };
  return {
    boxKeys: () => keys,
    publicUrl: '',
    mail: null,
    tokensViewable: true,
    signUp: true,
    passwords: true,
    issuers: [],
    issuerSecret: () => '',
    absenceDays: null,
    mostSubUsers: 1_000,
    mostTokens: 2_000,
    trustedHops: 0,
    ...change,
  };
};

/** The end of a request, as a collector records it. */
export function closingOf(
  id: string,
  {
    result,
    close = {},
    asked = [{ name: 'ffprobe' }],
  }: Pick<Parameters<ApiFixture['end']>[1], 'result' | 'close' | 'asked'>,
): CloseInput {
  const submittedAt = timeOf(id)!;
  const judged = result
    ? outcome(
        headOf(result),
        asked.map((run) => ({ version: '7.1', ...result.tools.find(({ name }) => name === run.name), ...run })),
      )
    : undefined;
  const body = result ? packText(result).packed : null;
  return {
    id,
    submittedAt,
    state: judged?.state ?? 'error',
    status: judged?.status ?? 500,
    reason: judged?.reason ?? 'InternalError',
    error: judged?.error ?? null,
    attempt: 1,
    startedAt: new Date(submittedAt.getTime() + 7),
    // Of those that failed: their codes are told with the end.
    tools: (result?.tools ?? [])
      .filter(({ success }) => !success)
      .map((ran) => ({
        name: ran.name,
        version: ran.version,
        success: false,
        ...codeMember(ran),
        durationMs: 0,
        usageMs: 0,
      })),
    ioBytes: result?.ioUsage ?? 0,
    body,
    ...close,
  };
}

export async function startApi(
  change: Partial<Settings> = {},
  options: {
    relay?: boolean;
    accounts?: Partial<AccountSettings>;
    webhooks?: Connections['webhooks'];
    tracing?: Connections['tracing'];
    uploads?: Connections['uploads'];
    store?: FixtureSettings;
    /** Another cluster than that of the process. */
    apiServer?: TestApiServer;
  } = {},
): Promise<ApiFixture> {
  // A control plane of its own: on an installed cluster, only the product's service account may create these jobs.
  const apiServer = options.apiServer ?? (await testApiServer({ own: true }));
  const [stored, nats] = await Promise.all([
    startStore({ retryMs: 2_000, ...options.store }),
    startNats({ jetstream: true }),
  ]);
  const kube = apiServer.client;
  const namespace = await apiServer.namespace('api');
  for (const [name, version, about] of TOOLS)
    await createTool({ kube, namespace }, name, version, { options: [], ...about });
  const replica = `api-${randomBytes(4).toString('hex')}`;
  let reconnected = (): void => {};
  const bus = await connectBus({
    url: nats.url,
    name: replica,
    inboxPrefix: '_INBOX_api',
    onStatus: (status) => {
      if (status === 'connected') reconnected();
    },
  });
  const relay = options.relay ? await startRelay(apiServer.host, apiServer.port) : undefined;
  const ownKube = relay ? await kubeClient({ kubeconfig: apiServer.kubeconfigAt(relay.port) }) : kube;
  const { publicKey, privateKey } = await generateKeyPair('ECDH-ES', { crv: 'P-256', extractable: true });
  const publicKeys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] };
  const log: string[] = [];
  const wired = wire({
    store: stored.store,
    bus,
    kube: ownKube,
    sealKeys: () => publicKeys,
    log: pino(
      { level: 'trace' },
      {
        write: (line: string) => {
          log.push(line);
        },
      },
    ),
    accounts: accountSettings(options.accounts),
    ...(options.webhooks ? { webhooks: options.webhooks } : {}),
    ...(options.tracing ? { tracing: options.tracing } : {}),
    uploads: options.uploads,
    settings: { ...DEFAULTS, namespace, replica, allowSources: [], denyCidrs: [], ...change },
  });
  const { deps, checks } = wired;
  reconnected = () => void deps.waiting.lookNow();
  const responses = watched(makeApp(deps, checks).callback());
  const server = await listen(responses.handler, { host: '127.0.0.1', port: 0 }, () => stored.store.newRequest().id);
  const announced: ProbeJob[] = [];
  // In place of a leader that admits nothing at once.
  bus.serve<ProbeJob, CreateAnswer>(SUBJECT.create, ({ message }) => {
    announced.push(message);
    return { created: false };
  });
  // The administrator's rate limit would only disturb; tokens set one where a test needs it.
  await stored.sql('update users set requests_per_minute = 1000000');
  await Promise.all([wired.toolsRead, bus.flush()]);
  const url = `http://127.0.0.1:${server.port}`;
  const authorization = { Authorization: `Bearer ${ADMIN.token}` };
  const seen = new Set<string>();

  return {
    url,
    token: ADMIN.token,
    tokenId: stored.admin.tokenId,
    userId: stored.admin.userId,
    namespace,
    stored,
    nats,
    bus,
    kube,
    relay,
    wired,
    server,
    announced,
    log,
    privateKeys: { keys: [{ ...(await exportJWK(privateKey)), kid: 'one' }] },
    get: (query, init = {}) => fetch(`${url}/v1/probe/file?${query}`, { headers: authorization, ...init }),
    post: (body, init = {}) =>
      fetch(`${url}/v1/probe/file`, {
        method: 'POST',
        body: JSON.stringify(body),
        ...init,
        headers: { ...authorization, 'Content-Type': 'application/json', ...init.headers },
      }),
    async newToken({ requestsPerMinute } = {}) {
      const token = randomBytes(32).toString('hex');
      const [row] = await stored.sql<{ id: string }>(
        'insert into tokens (user_id, name, sha256, requests_per_minute) values ($1, $2, $3, $4) returning id',
        [stored.admin.userId, `test ${token.slice(0, 8)}`, sha256(token), requestsPerMinute ?? null],
      );
      return { token, id: Number(row!.id) };
    },
    job: (host) =>
      until(`a ProbeJob of ${host}`, async () => {
        const { items } = await kube.listAll(PROBE_JOBS, { namespace });
        const found = items.find(
          (job) => !seen.has(job.metadata.name) && job.spec.source.display?.includes(`://${host}/`) === true,
        );
        if (found) seen.add(found.metadata.name);
        return found;
      }),
    async end(
      id,
      { result, close = {}, tell = true, inline = true, asked = [{ name: 'ffprobe' }, { name: 'mediainfo' }] },
    ) {
      const input = closingOf(id, { ...(result ? { result } : {}), close, asked });
      const { body } = input;
      const { queueTimeMs } = await stored.store.closeRequest(input);
      if (!tell) return;
      const ended: Ended = {
        id,
        status: input.status,
        reason: input.reason,
        queueTimeMs,
        hasBody: body !== null,
        ...(body && inline ? { body: body.toString('base64') } : {}),
        ...(input.error === null ? {} : { error: input.error, ...codeMember(input.tools[0]) }),
      };
      bus.publish(SUBJECT.ended(replica), ended);
    },
    async stop() {
      await server.close(1_000);
      await wired.stop();
      if (ownKube !== kube) await ownKube.close();
      await relay?.close();
      await bus.drain();
      await stored.close();
      await nats.stop();
      responses.assertDescribed();
    },
  };
}
