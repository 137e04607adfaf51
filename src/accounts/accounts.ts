/** Accounts as the API uses them: who calls by a JWT. */
import type { Logger } from '../log.ts';
import type { Store } from '../store/store.ts';
import type { Caller } from './caller.ts';
import type { AccountSettings } from './settings.ts';

export type { AccountSettings } from './settings.ts';

export interface Accounts {
  settings: AccountSettings;
  /** Hosts by which browsers reach this installation, beside the one they say. */
  ownHosts: readonly string[];
  /** Null: the JWT is not valid, has expired, or its session has ended. */
  callerOfJwt(jwt: string): Promise<Caller | null>;
  stop(): Promise<void>;
}

export function makeAccounts({ settings }: { store: Store; log: Logger; settings: AccountSettings }): Accounts {
  return {
    settings,
    ownHosts: settings.publicUrl === '' ? [] : [new URL(settings.publicUrl).host],
    callerOfJwt: async () => null,
    stop: async () => {},
  };
}
