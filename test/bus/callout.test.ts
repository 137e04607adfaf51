import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { type Callout, type Decision, serveCallout } from '../../src/platform/bus/callout.ts';
import { SNAPSHOT_BYTES } from '../../src/platform/bus/cluster_snapshot.ts';
import { type Bus, connectBus } from '../../src/platform/bus/connect.ts';
import type { Heartbeat, Lease } from '../../src/platform/bus/messages.ts';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { INBOX } from '../../src/platform/bus/permissions.ts';
import { podTokenVerifier } from '../../src/platform/bus/podtoken.ts';
import { connectNats } from '../../src/platform/bus/transport.ts';
import { until } from '../until.ts';
import { type BusFixture, startBus } from './fixture.ts';

const ISSUER = 'https://kubernetes.default.svc';
const NAMESPACE = 'probeyard-runners';
const ACCOUNT = 'probeyard-runner';
const ours = randomUUID();
const other = randomUUID();
const stranger = randomUUID();
const gone = randomUUID();

interface Claims {
  audience?: string;
  issuer?: string;
  namespace?: string;
  account?: string;
  uid?: string;
  bound?: boolean;
  expires?: number;
  from?: number;
}

describe('bus: authorisation of runners', function () {
  this.timeout(30_000);
  let fixture: BusFixture;
  let controllers: Bus[];
  let callouts: Callout[];
  const decisions: Decision[] = [];
  let sign: (claims?: Claims) => Promise<string>;
  let rogue: () => Promise<string>;
  let keys: JWK[];
  let lifeSeconds = 3_600;
  let lookUps = 0;

  const serve = (bus: Bus) =>
    serveCallout(bus, {
      issuerSeed: fixture.issuerSeed,
      account: 'PROBEYARD',
      lifeSeconds,
      onDecision: (decision) => decisions.push(decision),
      authorise: podTokenVerifier({
        jwks: async () => ({ keys }),
        issuer: async () => ISSUER,
        namespace: NAMESPACE,
        serviceAccount: ACCOUNT,
      }),
      isOurPod: ({ uid }) => {
        if (uid === gone) lookUps++;
        return uid !== stranger && uid !== gone;
      },
    });

  before(async () => {
    fixture = await startBus();
    const pair = await generateKeyPair('RS256', { extractable: true });
    keys = [{ ...(await exportJWK(pair.publicKey)), kid: 'cluster', alg: 'RS256', use: 'sig' }];
    const forge =
      (key: typeof pair.privateKey) =>
      async (claims: Claims = {}) => {
        const {
          audience = 'probeyard-nats',
          issuer = ISSUER,
          namespace = NAMESPACE,
          account = ACCOUNT,
          uid = ours,
          bound = true,
          expires = 600,
          from = -1000,
        } = claims;
        const now = Math.floor(Date.now() / 1000);
        const pod = bound ? { pod: { name: `runner-${uid.slice(0, 4)}`, uid } } : {};
        return new SignJWT({
          'kubernetes.io': { namespace, serviceaccount: { name: account, uid: randomUUID() }, ...pod },
        })
          .setProtectedHeader({ alg: 'RS256', kid: 'cluster' })
          .setAudience(audience)
          .setIssuer(issuer)
          .setSubject(`system:serviceaccount:${namespace}:${account}`)
          .setIssuedAt(now + from)
          .setNotBefore(now + from)
          .setExpirationTime(now + expires)
          .sign(key);
      };
    sign = forge(pair.privateKey);
    const wrong = await generateKeyPair('RS256');
    rogue = forge(wrong.privateKey);
    controllers = [await fixture.controller(), await fixture.controller()];
    callouts = controllers.map(serve);
    await Promise.all(controllers.map((bus) => bus.flush()));
  });
  after(() => fixture.close());

  /** One attempt to connect, without the retries of connectBus. */
  async function attempt(token: string | null): Promise<'in' | 'refused'> {
    const { tokenAuthenticator } = await import('nats');
    try {
      const connection = await connectNats({
        servers: fixture.server.url,
        reconnect: false,
        timeout: 5_000,
        ...(token === null ? {} : { authenticator: tokenAuthenticator(token) }),
      });
      await connection.close();
      return 'in';
    } catch (error) {
      assert.match((error as Error).message, /Authorization Violation/i);
      return 'refused';
    }
  }

  it('accepts a runner of ours', async () => {
    assert.equal(await attempt(await sign()), 'in');
    assert.deepEqual(decisions.at(-1), { ok: true, uid: ours, pod: `runner-${ours.slice(0, 4)}` });
  });

  for (const [title, claims] of [
    ['behind', { expires: -60 }],
    ['ahead of ours', { from: 60 }],
  ] as const) {
    it(`accepts a token from a clock that is a minute ${title}`, async () =>
      assert.equal(await attempt(await sign(claims)), 'in'));
  }

  const refused: [string, () => Promise<string | null>, string][] = [
    ['no token', async () => null, 'no-token'],
    ['not a JWT', async () => 'abc', 'token-malformed'],
    ['an expired token', () => sign({ expires: -120 }), 'token-expired'],
    ['a token that is not valid yet', () => sign({ from: 120 }), 'token-early'],
    ['a token for another audience', () => sign({ audience: 'https://kubernetes.default.svc' }), 'token-audience'],
    ['a token of another issuer', () => sign({ issuer: 'https://elsewhere' }), 'token-issuer'],
    ['a token of another namespace', () => sign({ namespace: 'default' }), 'token-namespace'],
    ['a token of another service account', () => sign({ account: 'default' }), 'token-account'],
    ['a token without a pod', () => sign({ bound: false }), 'token-unbound'],
    ['a token with a wildcard as its pod', () => sign({ uid: '*' }), 'token-unbound'],
    ['a token of a foreign pod', () => sign({ uid: stranger }), 'pod-unknown'],
    ['a token signed with another key', () => rogue(), 'token-signature'],
    [
      'a token without a signature',
      async () => `${Buffer.from('{"alg":"none"}').toString('base64url')}.${(await sign()).split('.')[1]}.`,
      'token-signature',
    ],
  ];
  for (const [what, token, code] of refused) {
    it(`refuses ${what}`, async () => {
      assert.equal(await attempt(await token()), 'refused');
      const last = decisions.at(-1);
      assert.equal(last && !last.ok && last.code, code, JSON.stringify(last));
    });
  }

  it('a token of a pod that is gone causes no more look-ups than a runner may connect', async () => {
    const token = await sign({ uid: gone });
    const codes: (string | undefined)[] = [];
    for (let count = 0; count < 400 && codes.at(-1) !== 'flood'; count++) {
      assert.equal(await attempt(token), 'refused');
      const last = decisions.at(-1);
      codes.push(last?.ok === false ? last.code : undefined);
    }
    assert.equal(codes.at(-1), 'flood');
    assert.equal(lookUps, codes.filter((code) => code === 'pod-unknown').length);
  });

  it('both replicas answer, and one alone is enough', async () => {
    const alone = controllers[1];
    assert.ok(alone);
    callouts[1]?.stop();
    await alone.flush();
    for (let count = 0; count < 5; count++) assert.equal(await attempt(await sign()), 'in');
    callouts[1] = serve(alone);
    await alone.flush();
    callouts[0]?.stop();
    await controllers[0]?.flush();
    for (let count = 0; count < 5; count++) assert.equal(await attempt(await sign()), 'in');
    if (controllers[0]) callouts[0] = serve(controllers[0]);
    await controllers[0]?.flush();
  });

  it('does not answer a request without the signature of a server', async () => {
    const { encodeGeneric, createServer, createUser } = await import('@nats-io/jwt');
    const [server, forger] = [createServer(), createServer()];
    const claim = {
      server_id: { name: 'x', host: 'x', id: server.getPublicKey() },
      user_nkey: createUser().getPublicKey(),
      connect_opts: { auth_token: await sign(), protocol: 1 },
      client_info: { id: 5 },
    };
    const forged = await encodeGeneric('x', forger, 'authorization_request', claim, {
      aud: 'nats-authorization-request',
    });
    // Only the server can send this, so the test passes it to the callout directly.
    const answers: string[] = [];
    const failures: Decision[] = [];
    let deliver: ((error: null, message: unknown) => void) | undefined;
    const bus = {
      connection: {
        subscribe: (_: string, options: { callback: typeof deliver }) => {
          deliver = options.callback;
          return { unsubscribe() {} };
        },
      },
    } as unknown as Bus;
    serveCallout(bus, {
      issuerSeed: fixture.issuerSeed,
      account: 'PROBEYARD',
      authorise: async () => ({ uid: ours, pod: 'p' }),
      isOurPod: () => true,
      onDecision: (decision) => failures.push(decision),
    });
    deliver?.(null, { data: new TextEncoder().encode(forged), respond: (text: string) => answers.push(text) });
    await until('the rejected credentials were reported', () => failures.length === 1);
    assert.match(JSON.stringify(failures), /is not signed by its server/);
    assert.deepEqual(answers, []);
  });

  describe('what a runner may do', () => {
    let runner: Bus;
    let neighbour: Bus;
    before(async () => {
      runner = await fixture.runner(ours, await sign());
      neighbour = await fixture.runner(other, await sign({ uid: other }));
    });

    const beat = (uid: string): Heartbeat => ({
      protocol: 1,
      pod: 'p',
      uid,
      namespace: NAMESPACE,
      pool: 'short',
      generation: 'g',
      phase: 'idle',
      epoch: 1,
      jobsDone: 0,
      ageMs: 1,
      idleMs: 1,
    });

    it('sends heartbeats, and gets the reply in its own inbox', async () => {
      const serving = controllers[0]?.serve<Heartbeat, Lease>(SUBJECT.heartbeats, ({ message }) => ({
        epoch: message.epoch + 1,
        leaseMs: 5,
      }));
      await controllers[0]?.flush();
      assert.deepEqual(await runner.request<Lease>(SUBJECT.heartbeat(ours), beat(ours), 5_000), {
        epoch: 2,
        leaseMs: 5,
      });
      serving?.stop();
    });

    it('receives orders and replies to them', async () => {
      const serving = runner.serve(SUBJECT.runner(ours), ({ subject }) => ({ ok: true, subject }));
      await runner.flush();
      assert.deepEqual(await controllers[0]?.request(SUBJECT.go(ours), {}, 5_000), {
        ok: true,
        subject: SUBJECT.go(ours),
      });
      serving.stop();
    });

    it('receives broadcasts', async () => {
      const heard: string[] = [];
      const listening = runner.subscribe('py.run.all.>', ({ subject }) => {
        heard.push(subject);
      });
      await runner.flush();
      controllers[0]?.publish(SUBJECT.report, {});
      await until('the subscription received the message', () => heard.length);
      assert.deepEqual(heard, [SUBJECT.report]);
      listening.stop();
    });

    const silent: [string, () => string][] = [
      ['a heartbeat of another pod', () => SUBJECT.heartbeat(other)],
      ['an offer of another pod', () => SUBJECT.offer(other)],
      ['a result of another pod', () => SUBJECT.result(other)],
      ['a chunk of another pod', () => SUBJECT.chunk(other, 'j', 1, 0)],
      ['an order to another pod', () => SUBJECT.go(other)],
      ['an order to itself', () => SUBJECT.go(ours)],
      ['the end of a request', () => SUBJECT.ended('api-1')],
      ['a closed job', () => SUBJECT.closed],
      ['a job to create', () => SUBJECT.create],
      ['a request for a snapshot of the cluster', () => SUBJECT.cluster],
      ["to another pod's inbox", () => `${INBOX.runner(other)}.x`],
      ["to the controllers' inbox", () => `${INBOX.controller}.x`],
      ['a deletion of a stream', () => '$JS.API.STREAM.DELETE.PY_RESULTS'],
      ['an end of a connection', () => 'py.kick.N'],
    ];
    for (const [what, subject] of silent) {
      it(`may not publish ${what}`, async () => {
        fixture.errors.length = 0;
        runner.publish(subject(), {});
        await runner.flush();
        const refusal = await until('the server refused the call', () =>
          fixture.errors.find((error) => error.code === 'refused'),
        );
        assert.match(refusal.message, /PERMISSIONS_VIOLATION/);
      });
    }

    const deaf: [string, () => string][] = [
      ["another pod's orders", () => SUBJECT.runner(other)],
      ["all pods' orders", () => 'py.run.>'],
      ['everything', () => '>'],
      ["another pod's inbox", () => `${INBOX.runner(other)}.>`],
      ['the results', () => SUBJECT.results],
      ['the ends', () => 'py.end.*'],
      ['requests for snapshots of the cluster', () => SUBJECT.cluster],
      ['authorisation requests', () => '$SYS.REQ.USER.AUTH'],
    ];
    for (const [what, subject] of deaf) {
      it(`may not subscribe to ${what}`, async () => {
        const failed = new Promise<Error | null>((resolve) => {
          runner.connection.subscribe(subject(), { callback: (error) => resolve(error) });
        });
        assert.equal(((await failed) as Error & { code?: string })?.code, 'PERMISSIONS_VIOLATION');
      });
    }

    it('a kicked pod is disconnected, and stays out once its token has expired', async () => {
      const uid = randomUUID();
      const cut: string[] = [];
      const bus = await fixture.runner(uid, await sign({ uid }), { onStatus: (status) => cut.push(status) });
      fixture.writeToken(uid, 'no longer good');
      const kicked = (await Promise.all(callouts.map((callout) => callout.kick(uid)))).reduce((a, b) => a + b, 0);
      assert.equal(kicked, 1);
      await until('the client is disconnected', () => cut.includes('disconnected'));
      assert.equal(bus.connected(), false);
      await until('its new attempt is refused', () =>
        decisions.some((decision) => !decision.ok && decision.code === 'token-malformed'),
      );
      fixture.writeToken(uid, await sign({ uid }));
      await until('the bus is connected with a valid token', () => bus.connected());
      assert.equal(neighbour.connected(), true);
    });

    it('a connection ends at its lifetime, and the runner reconnects with its current token', async () => {
      callouts.forEach((callout) => callout.stop());
      lifeSeconds = 2;
      callouts = controllers.map(serve);
      await Promise.all(controllers.map((bus) => bus.flush()));
      const uid = randomUUID();
      const statuses: string[] = [];
      const bus = await fixture.runner(uid, await sign({ uid }), { onStatus: (status) => statuses.push(status) });
      const before = decisions.filter((decision) => decision.ok && decision.uid === uid).length;
      await until('the client reconnected', () => statuses.includes('disconnected') && bus.connected(), 10_000);
      assert.ok(decisions.filter((decision) => decision.ok && decision.uid === uid).length > before);
    });
  });

  describe('static users', () => {
    it('the API receives ends, publishes jobs to create and requests snapshots, nothing else', async () => {
      const api = await fixture.api();
      const heard: unknown[] = [];
      api.subscribe(SUBJECT.ended('api-1'), ({ message }) => {
        heard.push(message);
      });
      await api.flush();
      controllers[0]?.publish(SUBJECT.ended('api-1'), { id: 'x' });
      await until('the subscription received the message', () => heard.length);
      const announced: unknown[] = [];
      controllers[0]?.subscribe(SUBJECT.create, ({ message }) => {
        announced.push(message);
      });
      await controllers[0]?.flush();
      api.publish(SUBJECT.create, { job: 'j' });
      await until('the controller received the notice', () => announced.length);
      // As large as a snapshot may be.
      const snapshot = { filler: 'x'.repeat(SNAPSHOT_BYTES) };
      controllers[0]?.serve(SUBJECT.cluster, () => snapshot);
      await controllers[0]?.flush();
      assert.deepEqual(await api.request(SUBJECT.cluster, {}, 5_000), snapshot);
      for (const subject of [SUBJECT.closed, SUBJECT.go(ours), SUBJECT.heartbeat(ours), '$JS.API.INFO']) {
        fixture.errors.length = 0;
        api.publish(subject, {});
        await api.flush();
        await until(`${subject} is refused`, () => fixture.errors.some((error) => error.code === 'refused'));
      }
    });

    it('a static user with another key is refused', async () => {
      const { nkeyAuthenticator } = await import('nats');
      const { createUser } = await import('@nats-io/jwt');
      await assert.rejects(
        connectNats({
          servers: fixture.server.url,
          reconnect: false,
          authenticator: nkeyAuthenticator(createUser().getSeed()),
        }),
        /Authorization Violation/i,
      );
    });
  });

  it('connecting waits for a server that has not started yet', async () => {
    const { startNats } = await import('../servers.ts');
    const server = await startNats();
    await server.kill();
    const connecting = connectBus({ url: server.url, name: 'early', inboxPrefix: '_INBOX_x' });
    await server.restart();
    const bus = await connecting;
    assert.equal(bus.connected(), true);
    await bus.drain();
    await server.stop();
  });
});
