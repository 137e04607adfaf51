/**
 * Who may read /metrics: whoever has the token of a file, or whoever the cluster's RBAC lets `get` the non-resource URL
 * /metrics. The API server decides the latter by the same two reviews as for controllers of controller-runtime.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Config } from '../../base/config.ts';
import { serveHealth, type Gate, type HealthSources, type Refusal } from '../../base/health.ts';
import { isKubeError, clientOfPod, type KubeClient } from '../kube/client.ts';

const refusal = (status: Refusal['status'], error: string): Refusal => ({ status, error });
const NO_TOKEN = refusal(401, 'metrics need an Authorization header: Bearer <token>');
const WRONG_TOKEN = refusal(401, 'the token is not valid');

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
const BEARER = /^Bearer +([\x21-\x7e]{1,8192})$/i;

/** What guards the port of metrics. Without a gate, whoever reaches it may read them. */
export async function openGate(
  config: Pick<Config<'api'>, 'metricsAuth' | 'metricsTokenFile' | 'metricsTlsFolder' | 'namespace' | 'serviceAccount'>,
  connect = () => clientOfPod(config),
) {
  const kube = config.metricsAuth === 'kubernetes' ? connect() : undefined;
  const decide = kube
    ? remembered((token) => byReviews(kube, token))
    : config.metricsAuth === 'token'
      ? byFile(config.metricsTokenFile)
      : undefined;
  const guard = { gate: decide && withBearer(decide), tlsFolder: config.metricsTlsFolder };
  return { guard, close: async () => kube?.close() };
}

/** The port of metrics and health of a role. */
export async function serveMetrics(config: Config<'api'> | Config<'controller'>, sources: HealthSources) {
  const readers = await openGate(config);
  const server = await serveHealth(config.metricsListen, { ...readers.guard, ...sources });
  return {
    async close(): Promise<void> {
      server.close();
      server.closeAllConnections();
      await readers.close();
    },
  };
}

type Decide = (token: string) => Refusal | null | Promise<Refusal | null>;

const withBearer =
  (decide: Decide): Gate =>
  async (authorization = '') => {
    const [, token] = BEARER.exec(authorization) ?? [];
    return token === undefined ? NO_TOKEN : decide(token);
  };

/** The file is read each time: a changed Secret needs no restart. */
const byFile =
  (file: string): Decide =>
  (token) => {
    let expected: string;
    try {
      expected = readFileSync(file, 'utf8').trim();
    } catch {
      expected = '';
    }
    if (expected === '') return refusal(503, 'the Secret of metrics.tokenSecret has no key token');
    return timingSafeEqual(sha256(token), sha256(expected)) ? null : WRONG_TOKEN;
  };

interface Review {
  status?: { authenticated?: boolean; user?: { username?: string }; allowed?: boolean };
}

const REVIEW_MS = 5_000;

/** The API server may know the token, and its user may `get` /metrics. */
async function byReviews(kube: Pick<KubeClient, 'request'>, token: string): Promise<Refusal | null> {
  const review = (group: string, kind: string, spec: object): Promise<Review> =>
    kube.request({
      method: 'POST',
      path: `/apis/${group}/v1/${kind.toLowerCase()}s`,
      body: { apiVersion: `${group}/v1`, kind, spec },
      deadlineMs: REVIEW_MS,
      what: `create ${kind}`,
    });
  try {
    const { status: known } = await review('authentication.k8s.io', 'TokenReview', { token });
    if (known?.authenticated !== true) return WRONG_TOKEN;
    const { username: user = '', ...rest } = known.user ?? {};
    const { status } = await review('authorization.k8s.io', 'SubjectAccessReview', {
      user,
      ...rest,
      nonResourceAttributes: { path: '/metrics', verb: 'get' },
    });
    return status?.allowed === true ? null : refusal(403, `${user} may not get the non-resource URL /metrics`);
  } catch (error) {
    const code = isKubeError(error) ? error.code : 'internal';
    return refusal(503, `the API server did not review the token (${code})`);
  }
}

const ALLOWED_MS = 60_000;
const REFUSED_MS = 10_000;
/** Anybody who reaches the port causes reviews: further ones wait for the next scrape. */
const MOST_REVIEWS = 8;
const MOST_REMEMBERED = 64;

/** A decision holds for a minute, a refusal for 10 s, a failure not at all. */
export function remembered(decide: Decide, now: () => number = () => performance.now()): Decide {
  const decisions = new Map<string, { decision: Promise<Refusal | null>; until: number }>();
  let underWay = 0;
  return async (token) => {
    const key = sha256(token).toString('base64');
    const before = decisions.get(key);
    if (before !== undefined && now() < before.until) return before.decision;
    if (underWay >= MOST_REVIEWS) return refusal(503, 'too many tokens are being reviewed');
    underWay += 1;
    const decision = Promise.resolve(decide(token)).finally(() => {
      underWay -= 1;
    });
    const entry = { decision, until: Infinity };
    decisions.delete(key);
    decisions.set(key, entry);
    for (const oldest of decisions.keys()) {
      if (decisions.size <= MOST_REMEMBERED) break;
      decisions.delete(oldest);
    }
    const refused = await decision;
    entry.until = now() + (refused === null ? ALLOWED_MS : refused.status === 503 ? 0 : REFUSED_MS);
    return refused;
  };
}
