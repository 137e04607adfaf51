/**
 * Postgres notifications: changed tokens and users, which invalidate caches, webhooks that became due, and batches to
 * be driven. They use a connection of their own, because LISTEN does not work through a pooler.
 */
import type pg from 'pg';
import { backoff, pause } from '../../base/retry.ts';
import { clientClass, type ConnectionSettings } from './connection.ts';

/**
 * `all`: notifications may have been lost, so invalidate everything. `sha256` is in hex. Without `root` the account is
 * unknown.
 */
export type TokenChange = { all: true } | { token: number; sha256: string | null } | { user: number; root?: number };

export interface Listener {
  /** False while notifications may be lost: caches must then rely on a short time to live. */
  listening(): boolean;
  stop(): Promise<void>;
}

const PING_MS = 2_000;
const PAUSES = { first: 50, longest: 2_000 };

export function listenTokens(
  settings: ConnectionSettings,
  onChange: (change: TokenChange) => void,
  onError: (error: unknown) => void = () => {},
): Listener {
  const heard = (payload: string): void => {
    try {
      onChange(JSON.parse(payload) as TokenChange);
    } catch (error) {
      onError(error);
      onChange({ all: true });
    }
  };
  return listen(settings, 'py_tokens', { heard, missed: () => onChange({ all: true }) }, onError);
}

export interface Handlers {
  heard(payload: string): void;
  /** Notifications may have been lost: called after each (re)connect. */
  missed(): void;
}

export function listen(
  settings: ConnectionSettings,
  channel: 'py_tokens' | 'py_webhooks' | 'py_batches',
  { heard, missed }: Handlers,
  onError: (error: unknown) => void = () => {},
): Listener {
  let listening = false;
  const stopping = new AbortController();
  const { signal } = stopping;
  let current: pg.Client | undefined;

  const Client = clientClass({ ...settings, direct: true, queryTimeoutMs: PING_MS, name: 'probeyard-listen' });

  const session = async (): Promise<void> => {
    const client = new Client();
    current = client;
    const lost = new Promise<never>((_, reject) => {
      client.on('error', reject);
      client.on('end', () => reject(new Error('the notification connection was closed')));
    });
    lost.catch(() => {});
    client.on('notification', ({ payload }) => heard(payload ?? ''));
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
      // After LISTEN, because changes before it were not notified.
      missed();
      listening = true;
      // The ping detects a connection that died silently.
      while (!signal.aborted) {
        await Promise.race([pause(PING_MS, signal), lost]);
        if (!signal.aborted) await client.query('select 1');
      }
    } finally {
      listening = false;
      client.end().catch(() => {});
    }
  };

  const run = (async () => {
    const wait = backoff(PAUSES);
    while (!signal.aborted) {
      try {
        await session();
        wait.reset();
      } catch (error) {
        if (signal.aborted) return;
        onError(error);
        await pause(wait.next(), signal);
      }
    }
  })();

  return {
    listening: () => listening,
    async stop() {
      stopping.abort();
      await current?.end().catch(() => {});
      await run;
    },
  };
}
