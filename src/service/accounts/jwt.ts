/** JWTs of sessions and of links in mails. Each kind has its own audience, so one is never accepted as another. */
import { calculateJwkThumbprint, errors, exportJWK, generateKeyPair, jwtVerify, SignJWT, type JWK } from 'jose';
import type { Logger } from '../../base/log.ts';
import { oneRun } from '../../base/turns.ts';
import type { Store } from '../../platform/store/store.ts';
import { isUuid } from '../../platform/store/uuid.ts';
import type { Box } from './box.ts';

export type Audience = 'session' | 'verify' | 'reset';
export interface Claims {
  id: string;
  userId: number;
}

/**
 * The keys that sign JWTs: generated here, stored with sealed private keys, rotated monthly. A key's signatures are
 * accepted until the last JWT that it signed has expired. A replica reloads the keys when it meets an unknown one.
 */
const ALGORITHM = 'ES256';
const DAY_MS = 86_400_000;
const SIGNS_MS = 30 * DAY_MS;
/** The longest-lived JWT lasts two weeks. */
const VERIFIES_MS = SIGNS_MS + 15 * DAY_MS;
/** A new key is created this long before the last one expires. */
const RENEW_MS = DAY_MS;
/** Minimum interval of reloads, against requests with invented key ids. */
const RELOAD_MS = 1_000;

interface SigningKey extends JWK {
  kid: string;
}

interface Loaded {
  signing: SigningKey | null;
  signsUntil: number;
  public: Map<string, JWK>;
  at: number;
}

interface KeyParts {
  store: Pick<Store, 'signingKeys' | 'addSigningKey' | 'clock'>;
  box: Box;
  log: Logger;
}

type SigningKeys = ReturnType<typeof makeSigningKeys>;

export function makeSigningKeys({ store, box, log }: KeyParts) {
  let loaded: Loaded | undefined;

  async function load(): Promise<Loaded> {
    const records = await store.signingKeys();
    const next: Loaded = {
      signing: null,
      signsUntil: 0,
      public: new Map(records.map(({ kid, public: jwk }) => [kid, jwk])),
      at: performance.now(),
    };
    for (const { kid, sealed, signsUntil } of records) {
      if (signsUntil.getTime() <= store.clock.now()) continue;
      try {
        next.signing = JSON.parse(await box.open(sealed, 'signing-key', kid)) as SigningKey;
        next.signsUntil = signsUntil.getTime();
        break;
      } catch (error) {
        // Sealed with a key that no longer exists: its signatures remain valid, and another key signs from now on.
        log.warn({ err: error, kid }, 'cannot decrypt a signing key');
      }
    }
    return next;
  }

  async function make(): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
    const open = await exportJWK(publicKey);
    const kid = await calculateJwkThumbprint(open);
    const named = (jwk: JWK) => ({ ...jwk, kid, alg: ALGORITHM, use: 'sig' });
    await store.addSigningKey({
      kid,
      public: named(open),
      sealed: await box.seal(JSON.stringify(named(await exportJWK(privateKey))), 'signing-key', kid),
      signsMs: SIGNS_MS,
      verifiesMs: VERIFIES_MS,
    });
    log.info({ kid }, 'JWT signing key created');
  }

  const isOld = ({ signing, signsUntil }: Loaded): boolean => !signing || signsUntil - RENEW_MS < store.clock.now();
  const reload = oneRun(async () => (loaded = await load()));

  return {
    async current(): Promise<SigningKey> {
      let keys = loaded ?? (await reload());
      // Another replica may have created one meanwhile.
      if (isOld(keys)) keys = await reload();
      if (isOld(keys)) {
        await make();
        keys = await reload();
      }
      if (!keys.signing) throw new Error('no JWT signing key');
      return keys.signing;
    },
    /** Undefined: no valid key has this id. */
    async publicKey(kid: string): Promise<JWK | undefined> {
      const keys = loaded ?? (await reload());
      const known = keys.public.get(kid);
      if (known || performance.now() - keys.at < RELOAD_MS) return known;
      return (await reload()).public.get(kid);
    },
  };
}

export function makeJwts({ keys, issuer, now }: { keys: SigningKeys; issuer(): Promise<string>; now(): number }) {
  return {
    async sign(audience: Audience, { id, userId }: Claims, expiresAt: Date): Promise<string> {
      const key = await keys.current();
      return new SignJWT()
        .setProtectedHeader({ alg: ALGORITHM, kid: key.kid, typ: 'JWT' })
        .setIssuer(await issuer())
        .setAudience(audience)
        .setSubject(String(userId))
        .setJti(id)
        .setIssuedAt(Math.floor(now() / 1000))
        .setExpirationTime(Math.ceil(expiresAt.getTime() / 1000))
        .sign(key);
    },
    /** Null: wrong issuer, modified, expired, or of another kind. */
    async verify(audience: Audience, jwt: string): Promise<Claims | null> {
      try {
        const { payload } = await jwtVerify(
          jwt,
          async ({ kid }) => {
            const key = kid === undefined ? undefined : await keys.publicKey(kid);
            if (!key) throw new errors.JWKSNoMatchingKey();
            return key;
          },
          {
            algorithms: [ALGORITHM],
            issuer: await issuer(),
            audience,
            requiredClaims: ['exp', 'jti', 'sub', 'iat'],
            currentDate: new Date(now()),
          },
        );
        const userId = Number(payload.sub);
        const { jti: id = '' } = payload;
        return isUuid(id) && Number.isSafeInteger(userId) && userId >= 0 ? { id, userId } : null;
      } catch (error) {
        if (error instanceof errors.JOSEError) return null;
        throw error;
      }
    },
  };
}
