/** Key sets in files, read again when the file changes, so a rotation needs no restart. */
import { readFileSync, statSync } from 'node:fs';
import type { JSONWebKeySet } from 'jose';
import { openingKey, sealingKey } from './seal.ts';

const CHECK_MS = 10_000;

/**
 * Returns the same object while the content is unchanged, because jose imports a key once per object. `check` throws if
 * the file has no usable key; the previous set then stays in use, if there was one.
 */
export function watchKeys(
  file: string,
  check: (keys: JSONWebKeySet) => unknown,
  onError: (error: unknown) => void = () => {},
  checkMs = CHECK_MS,
): () => JSONWebKeySet {
  const read = (): JSONWebKeySet => {
    const keys = JSON.parse(readFileSync(file, 'utf8')) as JSONWebKeySet;
    check(keys);
    return keys;
  };
  let keys = read();
  let changed = statSync(file).mtimeMs;
  let checked = performance.now();
  return () => {
    if (performance.now() - checked < checkMs) return keys;
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

/**
 * The private keys that open sources; any matching one is used. In a rotation, a key is added here first, and to the
 * public keys once every controller has it.
 */
export const watchOpeningKeys = (
  file: string,
  onError?: (error: unknown) => void,
  checkMs?: number,
): (() => JSONWebKeySet) => watchKeys(file, openingKey, onError, checkMs);

/** The public keys that sources are sealed with. */
export const watchSealKeys = (file: string, onError?: (error: unknown) => void): (() => JSONWebKeySet) =>
  watchKeys(file, sealingKey, onError);
