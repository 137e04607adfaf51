/**
 * The keys that sign JWTs: made here, kept in the record with their private halves sealed, changed every month. A key's
 * signatures count until the last JWT that it signed has expired. Replicas learn of each other's keys when they meet
 * one they do not know.
 */
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import type { Logger } from '../log.ts';
import type { Store } from '../store/store.ts';
import type { Box } from './box.ts';

export const ALGORITHM = 'ES256';
const DAY_MS = 86_400_000;
const SIGNS_MS = 30 * DAY_MS;
/** The longest JWT lasts two weeks. */
const VERIFIES_MS = SIGNS_MS + 15 * DAY_MS;
/** A new one is made before the last one ends. */
const RENEW_MS = DAY_MS;
/** Whoever sends unknown key ids makes us ask no more often than this. */
const RELOAD_MS = 1_000;

export interface SigningKey extends JWK {
  kid: string;
}

export interface SigningKeys {
  current(): Promise<SigningKey>;
  /** Undefined: no key of ours that still counts. */
  publicKey(kid: string): Promise<JWK | undefined>;
}

interface Loaded {
  signing: SigningKey | null;
  signsUntil: number;
  public: Map<string, JWK>;
  at: number;
}

export function makeSigningKeys({
  store,
  box,
  log,
}: {
  store: Pick<Store, 'signingKeys' | 'addSigningKey' | 'clock'>;
  box: Box;
  log: Logger;
}): SigningKeys {
  let loaded: Loaded | undefined;
  let loading: Promise<Loaded> | undefined;

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
        // Sealed with a key that is gone: what it signed still counts, and another signs from now on.
        log.warn({ err: error, kid }, 'a signing key cannot be opened');
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
    log.info({ kid }, 'a new key signs JWTs');
  }

  const reload = (): Promise<Loaded> => {
    loading ??= load()
      .then((next) => (loaded = next))
      .finally(() => {
        loading = undefined;
      });
    return loading;
  };

  return {
    async current() {
      let keys = loaded ?? (await reload());
      if (!keys.signing || keys.signsUntil - RENEW_MS < store.clock.now()) {
        // Another replica may have made one meanwhile.
        keys = await reload();
        if (!keys.signing || keys.signsUntil - RENEW_MS < store.clock.now()) {
          await make();
          keys = await reload();
        }
      }
      if (!keys.signing) throw new Error('there is no key to sign JWTs with');
      return keys.signing;
    },
    async publicKey(kid) {
      const keys = loaded ?? (await reload());
      const known = keys.public.get(kid);
      if (known || performance.now() - keys.at < RELOAD_MS) return known;
      return (await reload()).public.get(kid);
    },
  };
}
