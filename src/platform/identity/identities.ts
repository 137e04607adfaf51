/**
 * Access that is granted to the controller's identity, asked for and renewed apart from requests: jobs are taken in one
 * after the other, and a token service that is silent must not delay those of other accounts.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { backoff, pause } from '../../base/retry.ts';
import type { NamedCredential } from '../../base/source_settings.ts';
import type { SecretOf } from '../../source/named_credential.ts';
import { IdentityError, type Post } from './post.ts';
import { grant, type Granted } from './grant.ts';

export interface IdentitySettings {
  /** Those with an identity are kept. */
  credentials: readonly NamedCredential[];
  /** Has a folder for each of them, with the token that Kubernetes writes and renews. */
  folder: string;
  post: Post;
  /** What keeps a credential from being used; without secrets. */
  onRefused?: (name: string, error: Error) => void;
}

export interface Identities {
  /** What was granted last, at once. An IdentityError says why there is nothing. */
  secretOf(credential: NamedCredential): SecretOf;
  stop(): void;
}

/** Longer than a job may read its source. */
const LEAST_MS = 15 * 60_000;
const PAUSES = { first: 1_000, longest: 60_000 };

interface Access {
  granted?: Granted;
  refused?: Error;
}

export function keepIdentities({ credentials, folder, post, onRefused }: IdentitySettings): Identities {
  const kept = new Map<string, Access>();
  const stopping = new AbortController();

  async function ask(credential: NamedCredential): Promise<Granted> {
    const token = await readFile(join(folder, credential.name, 'token'), 'utf8').catch((cause: unknown) => {
      throw new IdentityError('Kubernetes has given no token', { cause });
    });
    return grant(credential, token.trim(), post, Date.now());
  }

  async function keep(credential: NamedCredential): Promise<void> {
    const state: Access = {};
    kept.set(credential.name, state);
    const pauses = backoff(PAUSES);
    while (!stopping.signal.aborted) {
      let ms: number;
      try {
        state.granted = await ask(credential);
        pauses.reset();
        const life = state.granted.until - Date.now();
        ms = Math.max(PAUSES.first, life - Math.min(LEAST_MS, life / 2));
      } catch (error) {
        state.refused = error as Error;
        onRefused?.(credential.name, error as Error);
        ms = pauses.next();
      }
      await pause(ms, stopping.signal);
    }
  }

  for (const credential of credentials) if (credential.identity) void keep(credential);
  return {
    secretOf({ name }) {
      const { granted, refused } = kept.get(name) ?? {};
      // A service that is away does not matter while the last grant is valid.
      if (granted && Date.now() < granted.until) return granted.secret;
      throw refused ?? new IdentityError('the token service has not answered yet');
    },
    stop: () => stopping.abort(),
  };
}
