/** Access that was granted to the controller's identity, kept while it is valid for longer than a job. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NamedCredential, SecretOf } from '../source/named_credential.ts';
import { IdentityError } from './error.ts';
import { grant, type Granted } from './grant.ts';
import type { Post } from './post.ts';

export interface IdentitySettings {
  /** Has a folder for each credential, with the token that Kubernetes writes and renews. */
  folder: string;
  post: Post;
  now?: () => number;
  /** What keeps a credential from being used; without secrets. */
  onRefused?: (name: string, error: Error) => void;
}

export type Identities = (credential: NamedCredential) => Promise<SecretOf>;

/** Longer than a job may read its source. */
const LEAST_MS = 15 * 60_000;
/** A service that refuses is not asked again by every request. */
const PAUSE_MS = 5_000;

interface Kept {
  granted?: Granted | undefined;
  /** From when on it is renewed. */
  renewAt: number;
  asking?: Promise<Granted> | undefined;
  refused?: { error: Error; until: number } | undefined;
}

export function keepIdentities({ folder, post, now = Date.now, onRefused }: IdentitySettings): Identities {
  const kept = new Map<string, Kept>();

  async function ask(credential: NamedCredential, state: Kept): Promise<Granted> {
    try {
      const token = await readFile(join(folder, credential.name, 'token'), 'utf8').catch((cause: unknown) => {
        throw new IdentityError('Kubernetes has given no token', { cause });
      });
      const granted = await grant(credential, token.trim(), post, now());
      const life = granted.until - now();
      // Of a short-lived one, half of its life: it would otherwise be asked for by every request.
      state.renewAt = granted.until - Math.min(LEAST_MS, life / 2);
      state.granted = granted;
      state.refused = undefined;
      return granted;
    } catch (error) {
      state.refused = { error: error as Error, until: now() + PAUSE_MS };
      onRefused?.(credential.name, error as Error);
      throw error;
    } finally {
      state.asking = undefined;
    }
  }

  return async (credential) => {
    const state = kept.get(credential.name) ?? { renewAt: 0 };
    kept.set(credential.name, state);
    const { granted, refused } = state;
    if (granted && now() < state.renewAt) return granted.secret;
    // A service that is away does not matter while the last grant is valid.
    const last = granted && now() < granted.until ? granted : undefined;
    if (refused && now() < refused.until) {
      if (last) return last.secret;
      throw refused.error;
    }
    state.asking ??= ask(credential, state);
    try {
      return (await state.asking).secret;
    } catch (error) {
      if (last) return last.secret;
      throw error;
    }
  };
}
