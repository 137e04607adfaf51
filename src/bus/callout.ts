/**
 * Runners have no password: NATS asks us for each connection (auth callout), and every controller replica answers.
 * The answer is a user made for this one connection: its permissions are the pod's own subjects, its life is short.
 */
import type { Msg } from 'nats';
import type { Bus } from './connect.ts';
import { asBusError } from './errors.ts';
import { type Claims, signerOf, verifiedClaims } from './nats_jwt.ts';
import { AUTH_CALLOUT, CALLOUT_QUEUE, KICK, runnerPermissions } from './permissions.ts';

export interface Runner {
  uid: string;
  pod: string;
}
export type Decision = { ok: true; uid: string; pod: string } | { ok: false; code: string; message: string };

export interface CalloutSettings {
  /** Seed of the account key that signs the users. */
  issuerSeed: string;
  account: string;
  /** Throws an error with a `code` where the token is not one of our runner's. */
  authorise: (token: string) => Promise<Runner>;
  /** How long a connection may last; the server ends it then, and the runner comes back with a fresh token. */
  lifeSeconds?: number;
  onDecision?: (decision: Decision) => void;
}

export interface Callout {
  /** Ends the connections that this replica has let in for a pod; how many it knew of. */
  kick(podUid: string): Promise<number>;
  /** Pods whose connections it remembers. */
  remembered(): number;
  stop(): void;
}

const HOUR = 3_600;
/** How long a runner may take to answer an order. */
const RESPONSE_NS = 30_000_000_000;
/** A refused runner learns nothing from the reason: it stands in our log. */
const REFUSED = 'not authorised';

/** What we use of the server's question. */
interface AuthorizationRequest {
  server_id: { id: string };
  user_nkey: string;
  client_info: { id?: number };
  connect_opts: { auth_token?: string };
}

interface Admitted {
  serverId: string;
  connection: number;
  until: number;
}

export function serveCallout(bus: Bus, settings: CalloutSettings): Callout {
  const { account, authorise, lifeSeconds = HOUR, onDecision = () => {} } = settings;
  const issuer = signerOf(settings.issuerSeed.trim());
  const admitted = new Map<string, Admitted[]>();
  let forgetAt = 0;

  // A pod may be gone before its connection is remembered, and then nobody kicks it: its entry goes with its
  // connection's life.
  const forget = (now: number) => {
    for (const [uid, entries] of admitted) if (entries.every(({ until }) => until <= now)) admitted.delete(uid);
  };
  const remember = (uid: string, serverId: string, connection: number) => {
    const now = performance.now();
    if (now >= forgetAt) {
      forget(now);
      forgetAt = now + lifeSeconds * 1000;
    }
    const live = (admitted.get(uid) ?? []).filter((entry) => entry.until > now);
    admitted.set(uid, [...live, { serverId, connection, until: now + lifeSeconds * 1000 }]);
  };

  const decide = async (request: AuthorizationRequest): Promise<{ jwt: string } | { error: string }> => {
    try {
      const token = request.connect_opts.auth_token;
      if (!token) throw Object.assign(new Error('the connection has no token'), { code: 'no-token' });
      const { uid, pod } = await authorise(token);
      const { publish, subscribe } = runnerPermissions(uid);
      const user = issuer.sign({
        sub: request.user_nkey,
        name: uid,
        aud: account,
        exp: Math.floor(Date.now() / 1000) + lifeSeconds,
        nats: {
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
      remember(uid, request.server_id.id, request.client_info.id ?? 0);
      onDecision({ ok: true, uid, pod });
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
        nats: { ...decision, type: 'authorization_response', version: 2 },
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
    async kick(podUid) {
      const connections = admitted.get(podUid) ?? [];
      admitted.delete(podUid);
      // A connection that has ended since is no longer there to be kicked: the server says so, and that is fine.
      await Promise.allSettled(
        connections.map(({ serverId, connection }) => bus.request(KICK(serverId), { cid: connection }, 2_000)),
      );
      return connections.length;
    },
    remembered: () => admitted.size,
    stop: () => subscription.unsubscribe(),
  };
}

function requestOf({ aud, iss, nats }: Claims<Partial<AuthorizationRequest>>): AuthorizationRequest {
  const { server_id, user_nkey, connect_opts, client_info } = nats;
  if (aud !== 'nats-authorization-request') throw new Error('not an authorisation request');
  if (!server_id || !user_nkey || !connect_opts || !client_info)
    throw new Error('the authorisation request lacks server, user or connection');
  // Only a server's key may have signed, and it must be the one that asks.
  if (iss !== server_id.id || !iss.startsWith('N'))
    throw new Error('the authorisation request is not signed by its server');
  return { server_id, user_nkey, connect_opts, client_info };
}
