/**
 * Caches tokens by their SHA-256, so that a request costs no look-up. A Postgres notification invalidates the entries
 * it concerns at once; while notifications may be lost, entries expire after a second. Concurrent look-ups of one token
 * share one query. A token with a wrong checksum is unknown without a look-up, and one with the right checksum is
 * looked up without the limit of guesses: callers that share an address with an attacker are not shut out.
 */
import type { Checksum } from '../../accounts/token_text.ts';
import type { TokenChange } from '../../../platform/store/listen.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { makeGuessLimit } from './rate.ts';

export interface TokenCacheOptions {
  find(sha256: Buffer): Promise<TokenRecord | null>;
  listening(): boolean;
  now?(): number;
  onLookup?(hit: boolean): void;
  max?: number;
  guesses?: ReturnType<typeof makeGuessLimit>;
}

const TTL_ALONE_MS = 1_000;
/** A broken connection is detected late, so entries expire in addition to being invalidated. */
const TTL_LISTENING_MS = 30_000;

const MOST_UNKNOWN = 1_000;

interface Entry {
  record: TokenRecord | null;
  at: number;
}

/** Always expired. The entry is kept, because a known token does not count as a guess. */
const STALE = -Infinity;

export class TokenCache {
  readonly #options: Required<TokenCacheOptions>;
  readonly #entries = new Map<string, Entry>();
  /** Kept separately: a flood of guesses must not evict tokens in use. */
  readonly #unknown = new Map<string, Entry>();
  readonly #pending = new Map<string, Promise<TokenRecord | null>>();
  #generation = 0;

  constructor({ now = () => performance.now(), ...options }: TokenCacheOptions) {
    this.#options = { now, onLookup: () => {}, max: 10_000, guesses: makeGuessLimit(now), ...options };
  }

  /**
   * `address`: the caller's. Too many unknown tokens without a checksum from it cause an ApiError with status 429.
   * `checksum` is only called for a token that is not in the cache.
   */
  async get(sha256: Buffer, address: string, checksum: () => Checksum = () => 'none'): Promise<TokenRecord | null> {
    const { now, listening, onLookup, guesses } = this.#options;
    const key = sha256.toString('base64');
    const entry = this.#entries.get(key) ?? this.#unknown.get(key);
    // An unknown token is looked up again after a second regardless: guesses must not evict tokens in use for long.
    const ttl = listening() && entry?.record ? TTL_LISTENING_MS : TTL_ALONE_MS;
    if (entry && now() - entry.at < ttl) {
      onLookup(true);
      return entry.record;
    }
    const asking = this.#pending.get(key);
    // A token in the cache, even a stale one, is not a guess: a flood from its address does not block it.
    const means = asking || this.#entries.has(key) ? 'right' : checksum();
    if (means === 'wrong') return null;
    const giveBack = means === 'right' ? () => {} : guesses.take(address);
    onLookup(false);
    if (asking) return asking;
    const asked = this.#look(key, sha256)
      .then(
        (record) => {
          if (record) giveBack();
          return record;
        },
        (error: unknown) => {
          // Postgres is unreachable, so this may be a known token.
          giveBack();
          throw error;
        },
      )
      .finally(() => {
        if (this.#pending.get(key) === asked) this.#pending.delete(key);
      });
    this.#pending.set(key, asked);
    return asked;
  }

  /**
   * Invalidates the entries that the change concerns; the results of look-ups in progress are never cached. One change
   * must not clear the cache: any user can change themselves, and each entry then costs a look-up.
   */
  changed(change: TokenChange): void {
    this.#generation++;
    this.#pending.clear();
    if ('token' in change) {
      // The old text too: there is a notification for each.
      const key = Buffer.from(change.sha256 ?? '', 'hex').toString('base64');
      this.#unknown.delete(key);
      const entry = this.#entries.get(key);
      if (entry) entry.at = STALE;
    } else if ('user' in change && change.root !== undefined) {
      const { root } = change;
      this.#forget(({ rootUserId }) => rootUserId === root);
    } else {
      this.#unknown.clear();
      this.#forget(() => true);
    }
  }

  #forget(concerns: (record: TokenRecord) => boolean): void {
    for (const entry of this.#entries.values()) if (entry.record && concerns(entry.record)) entry.at = STALE;
  }

  async #look(key: string, sha256: Buffer): Promise<TokenRecord | null> {
    const { now, find } = this.#options;
    const asked = this.#generation;
    const at = now();
    const record = await find(sha256);
    if (asked === this.#generation) this.#keep(key, { record, at });
    // Looked up again by the next request, but not counted as a guess.
    else if (record && !this.#entries.has(key) && !this.#unknown.has(key)) this.#keep(key, { record, at: STALE });
    return record;
  }

  #keep(key: string, entry: Entry): void {
    const { max } = this.#options;
    const [kept, most] = entry.record ? [this.#entries, max] : [this.#unknown, Math.min(max, MOST_UNKNOWN)];
    for (const map of [this.#entries, this.#unknown]) map.delete(key);
    kept.set(key, entry);
    if (kept.size > most) kept.delete(kept.keys().next().value!);
  }
}
