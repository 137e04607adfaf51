/**
 * Runners have no password: NATS delegates the authentication of each connection (auth callout) to the controller, and
 * every replica answers. The answer is a user for this single connection, short-lived and limited to the pod's own
 * subjects.
 */
import type { Msg } from 'nats';
import type { Bus } from './connect.ts';
import { asBusError } from './errors.ts';
import { type Claims, signerOf, verifiedClaims } from './nats_jwt.ts';
import { AUTH_CALLOUT, CALLOUT_QUEUE, KICK, runnerPermissions } from './permissions.ts';
import type { PodName } from './podtoken.ts';
import { CONNECTIONS, rateLimit } from './rates.ts';
import { lifeStated, makeRunnerId } from './runner_id.ts';

/** `uid`: id of the runner. */
export type Decision = { ok: true; uid: string; pod: string } | { ok: false; code: string; message: string };

export interface CalloutSettings {
  /** Seed of the account key that signs the users. */
  issuerSeed: string;
  account: string;
  /** The pod that a token belongs to. Throws an error with a `code` if the token is not that of a runner. */
  authorise: (token: string) => Promise<PodName>;
  /** Whether this is a live runner pod created by this controller. Asked no more often than a pod may connect. */
  isOurPod: (pod: PodName) => boolean | Promise<boolean>;
  /** Whether the pod is in this life. By default every pod is in its first. */
  isInLife?: (pod: PodName, life: number) => boolean | Promise<boolean>;
  /** Maximum duration of a connection. The server then closes it, and the runner reconnects with a fresh token. */
  lifeSeconds?: number;
  onDecision?: (decision: Decision) => void;
  /** Called while a pod connects again faster than any genuine one, as by `rateLimit`. It is refused meanwhile. */
  onFlood?: (podUid: string) => void;
}

export type Callout = ReturnType<typeof serveCallout>;

const HOUR = 3_600;
/** How long a runner may take to answer an order. */
const RESPONSE_NS = 30_000_000_000;
/** Of a pod that stay open. A runner has one; a lost one may be remembered beside it. */
export const MOST_CONNECTIONS = 4;
/** The runner is not told the reason; it is in the log. */
const REFUSED = 'not authorised';

/** The used part of the server's request. */
interface AuthorizationRequest {
  server_id: { id: string };
  user_nkey: string;
  client_info: { id?: number };
  connect_opts: { auth_token?: string; name?: string };
}

const isAccountKey = (name: string): boolean => /^A[A-Z2-7]{55}$/.test(name);

interface Admitted {
  life: number;
  serverId: string;
  connection: number;
  until: number;
}

export function serveCallout(bus: Bus, settings: CalloutSettings) {
  const { account, lifeSeconds = HOUR, onDecision = () => {}, onFlood = () => {} } = settings;
  const issuer = signerOf(settings.issuerSeed.trim());
  // With operators and JWTs an account is named by its public key, and the issuer may be one of its signing keys.
  const onBehalf = isAccountKey(account) && account !== issuer.publicKey ? { issuer_account: account } : {};
  const admitted = rememberAdmitted(lifeSeconds * 1000);
  const mayConnect = rateLimit(CONNECTIONS, onFlood);

  const decide = async (request: AuthorizationRequest): Promise<{ jwt: string } | { error: string }> => {
    try {
      const { uid, pod, life } = await runnerOf(request, settings, mayConnect);
      const id = makeRunnerId({ podUid: uid, life });
      const { publish, subscribe } = runnerPermissions(id);
      const user = issuer.sign({
        sub: request.user_nkey,
        name: id,
        aud: account,
        exp: Math.floor(Date.now() / 1000) + lifeSeconds,
        nats: {
          ...onBehalf,
          type: 'user',
          version: 2,
          pub: { allow: publish },
          sub: { allow: subscribe },
          resp: { max: 1, ttl: RESPONSE_NS },
          subs: -1,
          data: -1,
          payload: -1,
        },
      });
      const connection = { life, serverId: request.server_id.id, connection: request.client_info.id ?? 0 };
      void close(bus, admitted.add(uid, connection));
      onDecision({ ok: true, uid: id, pod });
      return { jwt: user };
    } catch (error) {
      const { code = 'failed', message } = error as Error & { code?: string };
      onDecision({ ok: false, code, message });
      return { error: REFUSED };
    }
  };

  const answer = async (message: Msg) => {
    const request = requestOf(verifiedClaims(new TextDecoder().decode(message.data)));
    const decision = await decide(request);
    message.respond(
      issuer.sign({
        sub: request.user_nkey,
        aud: request.server_id.id,
        nats: { ...decision, ...onBehalf, type: 'authorization_response', version: 2 },
      }),
    );
  };

  const subscription = bus.connection.subscribe(AUTH_CALLOUT, {
    queue: CALLOUT_QUEUE,
    callback: (error, message) => {
      const failed = (failure: unknown) =>
        onDecision({ ok: false, code: 'bad-request', message: asBusError(failure, 'authorisation request').message });
      if (error) failed(error);
      else answer(message).catch(failed);
    },
  });

  return {
    /**
     * Closes the connections that this replica admitted for a pod, or for its lives before this one, and returns their
     * number.
     */
    async kick(podUid: string, before = Number.POSITIVE_INFINITY): Promise<number> {
      const connections = admitted.take(podUid, before);
      await close(bus, connections);
      return connections.length;
    },
    /** Number of pods whose connections are remembered. */
    remembered: admitted.count,
    stop: (): void => subscription.unsubscribe(),
  };
}

/** One that has ended meanwhile cannot be kicked; that error is ignored. */
const close = (bus: Bus, connections: readonly Admitted[]) =>
  Promise.allSettled(
    connections.map(({ serverId, connection }) => bus.request(KICK(serverId), { cid: connection }, 2_000)),
  );

/** The pod and life of a connection that may be a runner's; throws an error with a `code` otherwise. */
async function runnerOf(
  { connect_opts: { auth_token: token, name } }: AuthorizationRequest,
  { authorise, isOurPod, isInLife = (_pod, life) => life === 0 }: CalloutSettings,
  mayConnect: (podUid: string) => boolean,
): Promise<PodName & { life: number }> {
  if (!token) throw Object.assign(new Error('the connection has no token'), { code: 'no-token' });
  const { uid, pod } = await authorise(token);
  // First, as a pod that is gone is looked up at the API server each time, while its token is valid.
  if (!mayConnect(uid)) throw Object.assign(new Error(`${pod} connects too often`), { code: 'flood' });
  if (!(await isOurPod({ uid, pod })))
    throw Object.assign(new Error(`${pod} is not a live runner pod of this installation`), { code: 'pod-unknown' });
  const life = lifeStated(name);
  if (life === undefined || !(await isInLife({ uid, pod }, life)))
    throw Object.assign(new Error(`${pod} is in another life than ${life ?? 'the stated one'}`), { code: 'life' });
  return { uid, pod, life };
}

/**
 * A pod may be deleted before its connection is remembered, and is then never kicked. So an entry expires with the
 * connection.
 */
function rememberAdmitted(lifeMs: number) {
  const admitted = new Map<string, Admitted[]>();
  let forgetAt = 0;
  return {
    /** Returns the oldest of a pod that has too many. */
    add(uid: string, one: Omit<Admitted, 'until'>): Admitted[] {
      const now = performance.now();
      if (now >= forgetAt) {
        for (const [other, entries] of admitted) if (entries.every(({ until }) => until <= now)) admitted.delete(other);
        forgetAt = now + lifeMs;
      }
      const live = (admitted.get(uid) ?? []).filter((entry) => entry.until > now);
      live.push({ ...one, until: now + lifeMs });
      admitted.set(uid, live.slice(-MOST_CONNECTIONS));
      return live.slice(0, -MOST_CONNECTIONS);
    },
    /** Those of a pod, of its lives before this one. They are forgotten. */
    take(uid: string, before: number): Admitted[] {
      const all = admitted.get(uid) ?? [];
      const left = all.filter(({ life }) => life >= before);
      if (left.length > 0) admitted.set(uid, left);
      else admitted.delete(uid);
      return all.filter(({ life }) => life < before);
    },
    count: (): number => admitted.size,
  };
}

function requestOf({ aud, iss, nats }: Claims<Partial<AuthorizationRequest>>): AuthorizationRequest {
  const { server_id, user_nkey, connect_opts, client_info } = nats;
  if (aud !== 'nats-authorization-request') throw new Error('not an authorisation request');
  if (!server_id || !user_nkey || !connect_opts || !client_info)
    throw new Error('the authorisation request lacks server, user or connection');
  // Must be signed by the key of the server that sent the request.
  if (iss !== server_id.id || !iss.startsWith('N'))
    throw new Error('the authorisation request is not signed by its server');
  return { server_id, user_nkey, connect_opts, client_info };
}
