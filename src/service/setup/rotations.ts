/**
 * How each secret is exchanged while everything runs: in steps, each of which leaves a state in which old and new
 * material work, and a wait in which every part reads it. Pure, except for new keys: what else is to be done is
 * returned. The last step stands in the Secret, so a job that is killed goes on where it was.
 */
import { issuedBy, newAuthority } from './certificates.ts';
import { withPassword } from '../../platform/store/sign_in.ts';
import { randomText } from '../accounts/token_text.ts';
import { boxKeys, openHalf, sealKeys, type SecretData } from './secrets.ts';

/** By the names of the chart's `secrets`. */
export type SecretKind =
  'natsTls' | 'sealPrivate' | 'sealPublic' | 'box' | 'postgres' | 'postgresApi' | 'postgresController';
/** null removes a key. */
export type Changes = Partial<Record<SecretKind, Record<string, string | null>>>;
export type Held = Partial<Record<SecretKind, SecretData>>;

/** A role of Postgres gets this password. It signs in with one of the addresses. */
export interface NewPassword {
  addresses: string[];
  password: string;
}

export interface Taken {
  /** Undefined: the rotation is complete. */
  stage: string | undefined;
  changes: Changes;
  /** Set before the changes are written. Setting it twice is the same as once. */
  newPassword?: NewPassword;
}

export interface Rotation {
  /** The Secret that holds the stage. It is written last. */
  primary: SecretKind;
  others: SecretKind[];
  /** Why it cannot be rotated here; undefined if it can. */
  refusal(held: Held): string | undefined;
  /** How long each stage lasts: until every part has read it, or nothing needs the old material any more. */
  waits: Record<string, number>;
  next(held: Held, stage: string | undefined, settings: { natsHosts: string[] }): Promise<Taken>;
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
  refusal: () => undefined,
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
  others: [],
  refusal: () => undefined,
  waits: {},
  next: (held) => {
    const keys = [...setOf(held.box, 'box.jwks').keys, ...setOf(boxKeys(), 'box.jwks').keys];
    return Promise.resolve({ stage: undefined, changes: { box: { 'box.jwks': text(keys) } } });
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
  others: [],
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
  others: [],
  refusal: ({ [kind]: data = {} }) =>
    data['password'] && data['url'] ? undefined : 'the Secret has no password, or no url',
  waits: { known: READ, changed: READ },
  next({ [kind]: data = {} }, stage) {
    const { password = '', 'other-password': other = '', url = '', 'direct-url': direct } = data;
    if (stage === undefined)
      return Promise.resolve({ stage: 'known', changes: { [kind]: { 'other-password': randomText(32) } } });
    const addresses = [password, other].map((one) => withPassword(direct || url, one));
    if (stage === 'known') {
      const after = {
        password: other,
        'other-password': password,
        url: withPassword(url, other),
        ...(direct ? { 'direct-url': withPassword(direct, other) } : {}),
      };
      return Promise.resolve({
        stage: 'changed',
        changes: { [kind]: after },
        newPassword: { addresses, password: other },
      });
    }
    return Promise.resolve({
      stage: undefined,
      changes: { [kind]: { 'other-password': null } },
      newPassword: { addresses, password },
    });
  },
});

/** Each may be several: they have stages of their own. */
export const ROTATIONS: Record<string, Rotation[]> = {
  seal: [seal],
  box: [box],
  natsCa: [natsCa],
  postgres: [passwordOf('postgres'), passwordOf('postgresApi'), passwordOf('postgresController')],
};
