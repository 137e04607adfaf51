/** The public keys that sources are sealed with, read again when their file changes: a rotation needs no restart. */
import { readFileSync, statSync } from 'node:fs';
import type { JSONWebKeySet } from 'jose';
import { sealingKey } from '../seal/seal.ts';

/** One object per content: jose imports a key once per object. Throws where the file has no key; once there was one, that goes on. */
export function watchSealKeys(file: string, onError: (error: unknown) => void = () => {}): () => JSONWebKeySet {
  const CHECK_MS = 10_000;
  const read = (): JSONWebKeySet => {
    const keys = JSON.parse(readFileSync(file, 'utf8')) as JSONWebKeySet;
    sealingKey(keys);
    return keys;
  };
  let keys = read();
  let changed = statSync(file).mtimeMs;
  let checked = performance.now();
  return () => {
    if (performance.now() - checked < CHECK_MS) return keys;
    checked = performance.now();
    try {
      const now = statSync(file).mtimeMs;
      if (now !== changed) [keys, changed] = [read(), now];
    } catch (error) {
      onError(error);
    }
    return keys;
  };
}
