/**
 * The management endpoints on a real Postgres, as two replicas, with a mail server that keeps its mails. No cluster is
 * needed.
 */
import { argon2Sync, randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { makeAccounts } from '../../../src/service/accounts/accounts.ts';
import { makeApiToken } from '../../../src/service/accounts/make_token.ts';
import type { AccountSettings, MailSettings } from '../../../src/service/accounts/settings.ts';
import type { Deps, Settings } from '../../../src/service/api/deps.ts';
import { DEFAULTS } from '../default_settings.ts';
import { makeOverload } from '../../../src/service/api/http/overload.ts';
import { makeWorkPool } from '../../../src/service/api/work/pool.ts';
import { makePaces } from '../../../src/service/result/pace.ts';
import { MemoryBudget } from '../../../src/service/result/memory_budget.ts';
import { WHOLE } from '../../../src/service/result/unpack.ts';
import { newestSnapshot } from '../../../src/service/api/cluster/cluster_endpoint.ts';
import { connectBus, type Bus } from '../../../src/platform/bus/connect.ts';
import { makeDrain } from '../../../src/service/api/health_routes.ts';
import { listen } from '../../../src/service/api/http/http_server.ts';
import { makeAccountRates } from '../../../src/service/api/http/rate.ts';
import { makeMetrics } from '../../../src/service/api/api_metrics.ts';
import { makeApp } from '../../../src/service/api/server.ts';
import { TokenCache } from '../../../src/service/api/http/token_cache.ts';
import { issuerFetch, type IssuerFetch } from '../../../src/service/api/sso/issuer_fetch.ts';
import { makeIssuers } from '../../../src/service/api/sso/issuers.ts';
import { catalogOf } from '../../../src/service/api/probe/tool_versions.ts';
import { openStore } from '../../../src/platform/store/store.ts';
import { startNats } from '../../servers.ts';
import { ADMIN, startStore, type StoreFixture } from '../../store/fixture.ts';
import { until } from '../../until.ts';
import { watched } from '../described.ts';
import { accountSettings } from '../fixture.ts';

export interface Mail {
  to: string;
  raw: string;
  text: string;
  code: string;
}

export interface MailBox {
  settings: MailSettings;
  mails: Mail[];
  next(to: string): Promise<Mail>;
  refuse(times: number): void;
  stop(): Promise<void>;
}

const decoded = (text: string): string =>
  text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

export async function startMailBox(
  options: SMTPServerOptions = {},
  change: Partial<MailSettings> = {},
  at = { host: '127.0.0.1', port: 0 },
): Promise<MailBox> {
  const mails: Mail[] = [];
  let refusals = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    ...options,
    onData(stream, session, done) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        if (refusals > 0) {
          refusals--;
          return done(Object.assign(new Error('try again later'), { responseCode: 451 }));
        }
        const raw = Buffer.concat(parts).toString('utf8');
        const body = raw.slice(raw.indexOf('\r\n\r\n') + 4);
        const text = /^content-transfer-encoding: quoted-printable/im.test(raw)
          ? decoded(body)
          : /^content-transfer-encoding: base64/im.test(raw)
            ? Buffer.from(body, 'base64').toString()
            : body;
        mails.push({
          to: session.envelope.rcptTo.map(({ address }) => address).join(),
          raw,
          text,
          code: /^ey[\w-]+\.[\w-]+\.[\w-]+$/m.exec(text.replaceAll('\r', ''))?.[0] ?? '',
        });
        done();
      });
    },
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => {
    server.listen(at.port, at.host, resolve);
  });
  const { port } = server.server.address() as { port: number };
  const seen = new Set<Mail>();
  return {
    settings: { host: at.host, port, tls: 'none', user: '', password: '', from: 'probeyard@example.org', ...change },
    mails,
    next: (to) =>
      until(`a mail to ${to}`, () => {
        const mail = mails.find((one) => one.to === to && !seen.has(one));
        if (mail) seen.add(mail);
        return mail;
      }),
    refuse(times) {
      refusals = times;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
}

export interface Replica {
  url: string;
  deps: Deps;
  log: string[];
  stop(): Promise<void>;
}

const NO_TOOLS = catalogOf([]);

/** The whole app, without Kubernetes. */
export async function startReplica(
  stored: StoreFixture,
  settings: AccountSettings,
  bus: Bus,
  change: Partial<Settings> = {},
  toIssuers: IssuerFetch = issuerFetch({ denyCidrs: [], allow: [] }),
): Promise<Replica> {
  const store = await openStore({ url: stored.server.url, poolSize: 4 });
  const log: string[] = [];
  const logger = pino(
    { level: 'trace' },
    {
      write: (line: string) => {
        log.push(line);
      },
    },
  );
  const accounts = makeAccounts({ store, log: logger, settings });
  const tokens = new TokenCache({ find: store.findToken, listening: () => listener.listening() });
  const listener = store.listenTokens((one) => tokens.changed(one));
  await until('the listener for changes is connected', () => listener.listening());
  const work = makeWorkPool({ paceOf: makePaces() });
  const deps = {
    store,
    accounts,
    issuers: makeIssuers(settings, { fetch: toIssuers, log: logger }),
    tokens,
    work,
    log: logger,
    drain: makeDrain(),
    cluster: newestSnapshot({ bus, store, log: logger }),
    metrics: makeMetrics(() => 0),
    catalog: () => NO_TOOLS,
    announce: async () => false,
    memory: new MemoryBudget({ totalBytes: DEFAULTS.memoryBudgetBytes, wholeBytes: WHOLE }),
    paceOf: makePaces(),
    accountRates: makeAccountRates(),
    overload: makeOverload(makePaces(), () => {}),
    settings: { ...DEFAULTS, namespace: 'none', replica: 'test', allowSources: [], denyCidrs: [], ...change },
  } as unknown as Deps;
  const responses = watched(makeApp(deps, { ready: {}, dependencies: {} }).callback());
  const server = await listen(responses.handler, { host: '127.0.0.1', port: 0 }, () => store.newRequest().id);
  return {
    url: `http://127.0.0.1:${server.port}`,
    deps,
    log,
    async stop() {
      await server.close(1_000);
      work.close();
      await accounts.stop();
      await store.close();
      responses.assertDescribed();
    },
  };
}

export interface Answer<T = Record<string, any>> {
  status: number;
  headers: Headers;
  text: string;
  json: T;
}
export interface Call {
  token?: string | undefined;
  jwt?: string | undefined;
  cookie?: string | undefined;
  headers?: Record<string, string>;
  body?: unknown;
  form?: string;
  at?: Replica;
}

/** Each person has an active account, a password and a token. */
export interface Person {
  id: number;
  email: string;
  token: string;
  tokenId: number;
}
export const PASSWORD = 'correct horse';

export interface Management {
  stored: StoreFixture;
  settings: AccountSettings;
  replicas: [Replica, Replica];
  box: MailBox;
  bus: Bus;
  root: Person;
  call(method: string, path: string, call?: Call): Promise<Answer>;
  /** Created by SQL, with a token made by the product's own code. */
  person(
    name: string,
    how?: { role?: string; parent?: Person; permissions?: string[]; status?: string },
  ): Promise<Person>;
  stop(): Promise<void>;
}

const MANY = { burst: 10_000, everyMs: 1 };
export const NO_LIMITS = {
  'password:account': MANY,
  'password:network': MANY,
  'password:browser': MANY,
  'password:caller': MANY,
  'password:address': MANY,
  'mail:account': MANY,
  'sign-up:address': MANY,
  'reset:address': MANY,
  'code:address': MANY,
  'invite:account': MANY,
  'token:account': MANY,
};

/** At the least cost of Argon2id, which a hash names: a check of it takes 0.1 ms of CPU in place of 40. */
function cheapHash(password: string): string {
  const [memory, passes, parallelism, nonce] = [8, 1, 1, randomBytes(16)];
  const tag = argon2Sync('argon2id', { message: password, nonce, memory, passes, parallelism, tagLength: 32 });
  const [salt, sum] = [nonce, tag].map((bytes) => bytes.toString('base64').replace(/=+$/, ''));
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${salt}$${sum}`;
}

export async function startManagement(
  change: Partial<AccountSettings> = {},
  ofReplicas: Partial<Settings> = {},
  toIssuers?: IssuerFetch,
): Promise<Management> {
  const [stored, mailBox, nats] = await Promise.all([startStore(), startMailBox(), startNats()]);
  const bus = await connectBus({ url: nats.url, name: 'management', inboxPrefix: '_INBOX_api' });
  const settings = accountSettings({ mail: mailBox.settings, attempts: NO_LIMITS, ...change });
  const replicas = await Promise.all([
    startReplica(stored, settings, bus, ofReplicas, toIssuers),
    startReplica(stored, settings, bus, ofReplicas, toIssuers),
  ]);
  const [first] = replicas;
  const hash = cheapHash(PASSWORD);
  const permissions = (
    await stored.sql<{ permissions: string[] }>('select permissions from users where id = $1', [stored.admin.userId])
  )[0]!.permissions;

  return {
    stored,
    settings,
    replicas,
    box: mailBox,
    bus,
    root: { id: stored.admin.userId, email: ADMIN.email, token: ADMIN.token, tokenId: stored.admin.tokenId },
    async call(method, path, { token, jwt, cookie, headers = {}, body, form, at = first } = {}) {
      const credential = token ?? jwt;
      const response = await fetch(`${at.url}${path.startsWith('/') ? path : `/frontend/api/v1/${path}`}`, {
        method,
        redirect: 'manual',
        headers: {
          ...(credential === undefined ? {} : { Authorization: `Bearer ${credential}` }),
          ...(cookie === undefined ? {} : { Cookie: `jwt=${cookie}` }),
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...(form === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' }),
          ...headers,
        },
        ...(body === undefined ? (form === undefined ? {} : { body: form }) : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = text !== '' && response.headers.get('Content-Type')?.startsWith('application/json') === true;
      return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} };
    },
    async person(name, { role = 'user', parent, permissions: given, status = 'active' } = {}) {
      const may = given ?? (role === 'admin' ? permissions : permissions.filter((one) => !one.endsWith(':admin')));
      const email = `${name}@example.org`;
      const [row] = await stored.sql<{ id: string }>(
        'insert into users (email, first_name, password_hash, role, status, parent_id, ' +
          'permissions) values ($1, $2, $3, $4, $5, $6, $7) returning id',
        [email, name, hash, parent ? 'sub' : role, status, parent?.id ?? null, may],
      );
      const id = Number(row!.id);
      const made = await makeApiToken(
        { store: first.deps.store, box: first.deps.accounts.box, settings },
        { userId: id, name: 'first' },
      );
      if (typeof made === 'string') throw new Error(made);
      return { id, email, token: made.token, tokenId: made.id };
    },
    async stop() {
      await Promise.all(replicas.map((replica) => replica.stop()));
      await mailBox.stop();
      await bus.drain();
      await nats.stop();
      await stored.close();
    },
  };
}
