/**
 * The role `rotate`, a CronJob of the chart: exchanges each secret while everything runs, in steps, each of which
 * leaves a state in which old and new material work, and a wait in which every part reads it. What is done in each step
 * is pure, except for new keys. The last step stands in the Secret, so a job that is killed goes on where it was.
 */
import { directPostgresOf, loadConfig } from '../../base/config.ts';
import { isKubeError, type KubeClient, clientOfPod, SECRETS, type Secret } from '../../platform/kube/client.ts';
import { type Logger, makeLog } from '../../base/log.ts';
import { pause } from '../../base/retry.ts';
import { renewAdmin } from '../../platform/store/admin.ts';
import type { ConnectionSettings } from '../../platform/store/connection.ts';
import { setPassword } from '../../platform/store/role_password.ts';
import { findSecret } from './main.ts';
import { admin, dataOf, boxKeys, openHalf, sealKeys, type SECRET_NAMES, type SecretData } from './secrets.ts';
import { issuedBy, newAuthority } from './certificates.ts';
import { withPassword } from '../../platform/store/sign_in.ts';
import { randomText } from '../accounts/token_text.ts';

/** By the names of the chart's `secrets`. */
type SecretKind = keyof typeof SECRET_NAMES;
/** null removes a key. */
type Changes = Partial<Record<SecretKind, Record<string, string | null>>>;
type Held = Partial<Record<SecretKind, SecretData>>;

interface Taken {
  /** Undefined: the rotation is complete. */
  stage: string | undefined;
  changes: Changes;
  /** Done before the changes are written. Twice is the same as once. */
  inPostgres?: (settings: RotateSettings) => Promise<void>;
}

interface Rotation {
  /** The Secret that holds the stage. It is written last. */
  primary: SecretKind;
  others?: SecretKind[];
  /** Why it cannot be rotated here; undefined if it can. */
  refusal?(held: Held): string | undefined;
  /** How long each stage lasts: until every part has read it, or nothing needs the old material any more. */
  waits?: Record<string, number>;
  next(held: Held, stage: string | undefined, settings: { natsHosts: string[] }): Taken | Promise<Taken>;
}

const MINUTE = 60_000;
/** The kubelet writes a changed Secret within two minutes; readers look every minute. */
const READ = 5 * MINUTE;
/** A job waits a minute and runs for ten. */
const OF_A_JOB = 12 * MINUTE;

interface KeySet {
  keys: Record<string, unknown>[];
}
const setOf = (data: SecretData | undefined, key: string): KeySet => JSON.parse(data?.[key] ?? '{"keys":[]}') as KeySet;
const text = (keys: KeySet['keys']): string => JSON.stringify({ keys });

/** Controllers get the new private key first; the API seals with its public half once all of them have it. */
const seal: Rotation = {
  primary: 'sealPrivate',
  others: ['sealPublic'],
  waits: { opens: READ, seals: READ + OF_A_JOB },
  async next(held, stage) {
    const { keys } = setOf(held.sealPrivate, 'private.jwks');
    if (stage === undefined) {
      const made = setOf((await sealKeys()).private, 'private.jwks').keys;
      return { stage: 'opens', changes: { sealPrivate: { 'private.jwks': text([...keys, ...made]) } } };
    }
    const newest = keys.slice(-1);
    if (stage === 'opens') {
      return { stage: 'seals', changes: { sealPublic: { 'public.jwks': text(newest.map(openHalf)) } } };
    }
    return { stage: undefined, changes: { sealPrivate: { 'private.jwks': text(newest) } } };
  },
};

/** Everything is sealed with the new key from now on. The earlier keys stay: what they sealed is read for years. */
const box: Rotation = {
  primary: 'box',
  next: (held) => {
    const keys = [...setOf(held.box, 'box.jwks').keys, ...setOf(boxKeys(), 'box.jwks').keys];
    return { stage: undefined, changes: { box: { 'box.jwks': text(keys) } } };
  },
};

const certificates = (pem: string): string[] =>
  pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? [];

/** A certificate may have no end of line. */
const bundle = (...pems: string[]): string => pems.map((pem) => `${pem.trim()}\n`).join('');

/**
 * Everybody trusts both authorities, then the server gets a certificate of the new one, then the old one is no longer
 * trusted. The authority that `ca.key` belongs to is the first in `ca.crt`.
 */
const natsCa: Rotation = {
  primary: 'natsTls',
  refusal: ({ natsTls = {} }) =>
    natsTls['ca.key'] ? undefined : 'the Secret has no ca.key: whoever made the authority exchanges it',
  waits: { trusted: 3 * READ, presented: READ },
  async next({ natsTls = {} }, stage, { natsHosts }) {
    const [first = '', ...others] = certificates(natsTls['ca.crt'] ?? '');
    if (stage === undefined) {
      const { crt, key } = await newAuthority();
      return { stage: 'trusted', changes: { natsTls: { 'ca.crt': bundle(first, crt), 'ca.next.key': key } } };
    }
    if (stage === 'trusted') {
      const [next = first] = others;
      const key = natsTls['ca.next.key'] ?? '';
      const server = await issuedBy(next, key, natsHosts);
      return {
        stage: 'presented',
        changes: { natsTls: { 'ca.crt': bundle(next, first), 'ca.key': key, 'ca.next.key': null, ...server } },
      };
    }
    return { stage: undefined, changes: { natsTls: { 'ca.crt': bundle(first) } } };
  },
};

/**
 * Everybody learns the new password, then the role gets it, then the old one is forgotten. New connections try both
 * (src/platform/store/sign_in.ts), and connections that exist stay. The server reads the Secret at its start, and may
 * start while its file is a step behind: the role gets the password again at the end.
 */
const passwordOf = (kind: SecretKind): Rotation => ({
  primary: kind,
  refusal: ({ [kind]: data = {} }) =>
    data['password'] && data['url'] ? undefined : 'the Secret has no password, or no url',
  waits: { known: READ, changed: READ },
  next({ [kind]: data = {} }, stage) {
    const { password = '', 'other-password': other = '', url = '', 'direct-url': direct } = data;
    if (stage === undefined) return { stage: 'known', changes: { [kind]: { 'other-password': randomText(32) } } };
    const set =
      (next: string) =>
      ({ setPassword: change = setPassword }: RotateSettings): Promise<void> =>
        change(
          [password, other].map((one) => withPassword(direct || url, one)),
          next,
        );
    if (stage === 'known') {
      const after = {
        password: other,
        'other-password': password,
        url: withPassword(url, other),
        ...(direct ? { 'direct-url': withPassword(direct, other) } : {}),
      };
      return { stage: 'changed', changes: { [kind]: after }, inPostgres: set(other) };
    }
    return { stage: undefined, changes: { [kind]: { 'other-password': null } }, inPostgres: set(password) };
  },
});

/** The new ones are in the Secret before they are in force: a job that is killed between the two goes on with them. */
const firstAdmin: Rotation = {
  primary: 'admin',
  others: ['box'],
  refusal: ({ admin: data = {} }) =>
    data['email'] && data['token'] ? undefined : 'the Secret has no email, or no token',
  next({ admin: data = {}, box: keys = {} }, stage) {
    const { email = '', password: known = '', 'next-password': password = '', 'next-token': token = '' } = data;
    if (stage === undefined) {
      const made = admin(email, keys);
      return {
        stage: 'made',
        changes: { admin: { 'next-password': made['password']!, 'next-token': made['token']! } },
      };
    }
    return {
      stage: undefined,
      changes: { admin: { password, token, 'next-password': null, 'next-token': null } },
      inPostgres: ({ database }) => renewAdmin(database, { email, token, password, known }),
    };
  },
};

/** Each may be several: they have stages of their own. */
const ROTATIONS: Record<string, Rotation[]> = {
  seal: [seal],
  box: [box],
  natsCa: [natsCa],
  postgres: [passwordOf('postgres'), passwordOf('postgresApi'), passwordOf('postgresController')],
  admin: [firstAdmin],
};

/** The key of a Secret that holds the stage of its rotation. Controllers make NATS reload when it changes. */
const STAGE = 'rotation';

interface Progress {
  stage: string;
  since: number;
}

export interface RotateSettings {
  names: Record<string, string>;
  natsHosts: string[];
  log: Pick<Logger, 'info' | 'warn'>;
  /** Most that a stage lasts, for an installation whose jobs are short. */
  longestMs?: number;
  /** Where the administrator is, as the owner of the tables. */
  database: ConnectionSettings;
  /** For a caller outside the cluster, where the addresses lead nowhere. */
  setPassword?: typeof setPassword;
  now?: () => number;
  wait?: (ms: number) => Promise<void>;
}

async function write(kube: KubeClient, secret: Secret, changes: Record<string, string | null>): Promise<void> {
  const entries = Object.entries(changes).map(
    ([key, value]) => [key, value === null ? null : Buffer.from(value).toString('base64')] as const,
  );
  // Guarded by resourceVersion: halves of two rotations would not match.
  await kube.mergePatch(SECRETS, secret.metadata.name, {
    metadata: { resourceVersion: secret.metadata.resourceVersion },
    data: Object.fromEntries(entries),
  });
}

/** Takes one step, or waits until one is due. False: the rotation is complete, or cannot be done here. */
async function step(kube: KubeClient, name: string, rotation: Rotation, settings: RotateSettings): Promise<boolean> {
  const { names, log, longestMs = Infinity, now = Date.now, wait = pause } = settings;
  const kinds = [...(rotation.others ?? []), rotation.primary];
  const secrets = new Map<SecretKind, Secret>();
  for (const kind of kinds) {
    const secret = await findSecret(kube, names[kind] ?? '');
    if (secret !== undefined) secrets.set(kind, secret);
  }
  const held: Held = Object.fromEntries([...secrets].map(([kind, secret]) => [kind, dataOf(secret)]));
  const reason = kinds.every((kind) => secrets.has(kind)) ? rotation.refusal?.(held) : 'the Secret does not exist';
  if (reason !== undefined) {
    log.warn({ what: name, secret: names[rotation.primary], reason }, 'cannot rotate');
    return false;
  }
  const progress = JSON.parse(held[rotation.primary]?.[STAGE] ?? 'null') as Progress | null;
  const lasts = Math.min(rotation.waits?.[progress?.stage ?? ''] ?? 0, longestMs);
  const left = progress ? progress.since + lasts - now() : 0;
  if (left > 0) {
    await wait(left);
    return true;
  }
  const { stage, changes, inPostgres } = await rotation.next(held, progress?.stage, { natsHosts: settings.natsHosts });
  await inPostgres?.(settings);
  const after = stage === undefined ? null : JSON.stringify({ stage, since: now() } satisfies Progress);
  for (const kind of kinds) {
    const own = { ...changes[kind], ...(kind === rotation.primary ? { [STAGE]: after } : {}) };
    if (Object.keys(own).length > 0) await write(kube, secrets.get(kind)!, own);
  }
  log.info({ what: name, secret: names[rotation.primary], stage: stage ?? 'complete' }, 'rotation: took a step');
  return stage !== undefined;
}

/** Goes on with a rotation that was begun, else begins one. Returns when it is complete. */
async function rotateOne(kube: KubeClient, name: string, rotation: Rotation, settings: RotateSettings): Promise<void> {
  for (;;) {
    try {
      if (!(await step(kube, name, rotation, settings))) return;
    } catch (error) {
      // Somebody else wrote the Secret meanwhile: its new content is looked at.
      if (!isKubeError(error, 'conflict')) throw error;
      await (settings.wait ?? pause)(1_000);
    }
  }
}

/** All at once: they do not touch one another's Secrets. */
export async function rotate(kube: KubeClient, what: readonly string[], settings: RotateSettings): Promise<void> {
  const unknown = what.find((name) => !Object.hasOwn(ROTATIONS, name));
  if (unknown !== undefined)
    throw new Error(`cannot rotate ${unknown}; available: ${Object.keys(ROTATIONS).join(', ')}`);
  const rotations = what.flatMap((name) => ROTATIONS[name]!.map((rotation) => ({ name, rotation })));
  const all = await Promise.allSettled(
    rotations.map(({ name, rotation }) => rotateOne(kube, name, rotation, settings)),
  );
  const failed = all.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
}

export async function run(): Promise<void> {
  const config = loadConfig('rotate');
  const log = makeLog('rotate', config);
  await using kube = clientOfPod(config);
  await rotate(kube, config.rotate, {
    names: config.secretNames,
    natsHosts: config.natsHosts.split(',').filter(Boolean),
    database: directPostgresOf(config),
    log,
  });
}
