/** Who may say what on NATS: tokens of pods, permissions by pod, signatures. design.md 5. */
import type { Mutation } from '../mutation.ts';

const CALLOUT = 'test/bus/callout.test.ts';
const JWT = 'test/bus/nats_jwt.test.ts';
const FLOOD = 'test/bus/flood.test.ts';
const TRANSPORT = 'test/bus/transport.test.ts';

export const bus: readonly Mutation[] = [
  { guard: 'the token of a pod is for NATS', file: 'src/bus/podtoken.ts', from: 'audience: settings.audience ?? AUDIENCE, ', to: '', test: CALLOUT, grep: 'refuses' },
  { guard: 'the token of a pod is of this cluster', file: 'src/bus/podtoken.ts', from: 'issuer: await knownIssuer(), ', to: '', test: CALLOUT, grep: 'refuses' },
  { guard: 'the token of a pod has an end', file: 'src/bus/podtoken.ts', from: "requiredClaims: ['exp', 'sub']", to: "requiredClaims: ['sub']", test: 'test/bus/podtoken.test.ts' },
  { guard: 'an expired token of a pod is none', file: 'src/bus/podtoken.ts', from: 'clockTolerance: ', to: 'clockTolerance: 1e9 + ', test: CALLOUT, grep: 'refuses' },
  { guard: 'the token is of the runners\' namespace', file: 'src/bus/podtoken.ts', from: 'if (bound?.namespace !== namespace) throw', to: 'if (false) throw', test: CALLOUT, grep: 'refuses' },
  { guard: 'the token is of the runners\' service account', file: 'src/bus/podtoken.ts', from: 'if (bound.serviceaccount?.name !== serviceAccount || payload.sub', to: 'if (payload.sub', test: 'test/bus/podtoken.test.ts' },
  { guard: 'the token is bound to a pod', file: 'src/bus/podtoken.ts', from: "|| !/^[0-9a-f-]{36}$/.test(uid)) throw", to: ') throw', test: CALLOUT, grep: 'refuses' },
  { guard: 'the pod is one that we made and that lives', file: 'src/bus/podtoken.ts', from: 'if (!await settings.isOurPod(runner)) throw', to: 'if (false) throw', test: CALLOUT, grep: 'refuses' },
  { guard: 'made-up key ids do not become questions to the API server', file: 'src/bus/podtoken.ts', from: '|| performance.now() - fetched < FETCH_AGAIN_MS) throw error;', to: ') throw error;', test: 'test/bus/podtoken.test.ts', grep: 'made-up key ids' },
  { guard: 'a runner speaks as its own pod', file: 'src/bus/permissions.ts', from: 'publish: [SUBJECT.heartbeat(podUid), SUBJECT.result(podUid),', to: "publish: [SUBJECT.heartbeat('*'), SUBJECT.result('*'),", test: CALLOUT, grep: 'may not say' },
  { guard: 'a runner hears what is said to its own pod', file: 'src/bus/permissions.ts', from: "subscribe: [SUBJECT.runner(podUid), 'py.run.all.>'", to: "subscribe: ['py.run.>'", test: CALLOUT, grep: 'may not hear' },
  { guard: 'a runner has an inbox of its own', file: 'src/bus/permissions.ts', from: "`${INBOX.runner(podUid)}.>`]", to: "'>']", test: CALLOUT, grep: 'may not hear' },
  { guard: 'the API says nothing but early words', file: 'src/bus/permissions.ts', from: 'publish: [SUBJECT.early],', to: "publish: ['>'],", test: CALLOUT, grep: 'the API hears ends' },
  { guard: 'a connection ends with its life', file: 'src/bus/callout.ts', from: 'exp: Math.floor(Date.now() / 1000) + lifeSeconds,', to: '', test: CALLOUT, grep: 'a connection ends with its life' },
  { guard: 'a pod that is gone is cut off', file: 'src/bus/callout.ts', from: 'await Promise.allSettled(connections.map(({ serverId, connection }) => bus.request(KICK(serverId), { cid: connection }, 2_000)));', to: '', test: CALLOUT, grep: 'a kicked pod' },
  { guard: 'only a server may ask who somebody is', file: 'src/bus/callout.ts', from: "if (iss !== server_id.id || !iss.startsWith('N')) throw", to: 'if (false) throw', test: CALLOUT, grep: 'a request that no server has signed' },
  { guard: 'a JWT of NATS is signed by the key that it names', file: 'src/bus/nats_jwt.ts', from: 'if (!verify(null,', to: 'if (false && !verify(null,', test: JWT },
  { guard: 'a JWT of NATS has the one algorithm', file: 'src/bus/nats_jwt.ts', from: "if (alg !== 'ed25519-nkey' || rest.length > 0)", to: 'if (rest.length > 0)', test: JWT },
  { guard: 'a dial that was given up stays closed', file: 'src/bus/transport.ts', from: '    const wasOpen = this.#phase === \'open\';\n    this.#destroy();\n    if (!wasOpen) return;', to: '    if (this.#phase !== \'open\') return;\n    this.#destroy();', test: TRANSPORT, grep: 'a dial that ran past its time' },
  { guard: 'a full stream keeps what it has confirmed', file: 'src/bus/streams.ts', from: 'discard: DiscardPolicy.New', to: 'discard: DiscardPolicy.Old', test: FLOOD, grep: 'a full stream' },
  { guard: 'a runner keeps few results in the stream', file: 'src/bus/streams.ts', from: ', max_msgs_per_subject: MOST_RESULTS_OF_ONE', to: '', test: FLOOD, grep: 'keeps four results' },
  { guard: 'a flood is dropped before it is parsed', file: 'src/bus/collect.ts', from: 'if (isFlood(message)) { message.term(); return; }', to: '', test: FLOOD, grep: 'before they are parsed, it is reported once' },
  { guard: 'a connection has few subscriptions', file: 'src/bus/server_config.ts', from: 'max_subscriptions: ${MOST_SUBSCRIPTIONS}', to: '', test: FLOOD, grep: 'subscriptions are few' },
  { guard: 'a renewal writes only over what it has read', file: 'src/setup/renew.ts', from: 'metadata: { resourceVersion: metadata.resourceVersion }, ', to: '', test: 'test/setup/setup.test.ts', grep: 'the renewal changes' },
  { guard: 'a renewed certificate of NATS is taken', file: 'src/controller/certificate_watch.ts', from: 'await reloadServer(bus, serverId);', to: '', test: 'test/controller/certificate_watch.test.ts', grep: 'a renewed one is presented' },
  { guard: 'unreadable credentials do not close a connection for good', file: 'src/bus/connect.ts', from: 'return undefined;\n    }\n  };', to: 'throw error;\n    }\n  };', test: 'test/bus/connect.test.ts', grep: 'credentials' },
];
