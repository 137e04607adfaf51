/**
 * What a new connection to Postgres signs in with: a fixed address, or that of a mounted Secret, which is read anew for
 * each connection, so that a changed password is used without a restart. While a password is exchanged there are two,
 * and Postgres accepts one of them.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { isRefused, StoreError } from './errors.ts';

export interface Address {
  /** Not read with a folder. */
  url: string;
  /** A mounted Secret with `url`, and maybe `direct-url` and `other-password`. */
  folder?: string | undefined;
  /** Past any pooler: `direct-url` of the folder, where it is given. */
  direct?: boolean | undefined;
}

function read(folder: string, name: string): string {
  try {
    return readFileSync(join(folder, name), 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

export function withPassword(url: string, password: string): string {
  const changed = new URL(url);
  changed.password = encodeURIComponent(password);
  return changed.href;
}

/** The addresses to try, in this order. */
export function addresses({ url, folder, direct = false }: Address): [string, ...string[]] {
  if (!folder) return [url];
  const found = (direct && read(folder, 'direct-url')) || read(folder, 'url');
  if (found === '') throw new StoreError('invalid', `the address of Postgres is missing: ${join(folder, 'url')}`);
  const other = read(folder, 'other-password');
  return other === '' ? [found] : [found, withPassword(found, other)];
}

type Connected = (error: Error) => void;

/**
 * The class of clients of one server. Each new client is made with the settings of that moment, and with another
 * address than the one that Postgres refused last. `configs` may throw only at the first call: settings that
 * cannot be read later leave the last ones in force.
 */
export function clientsOf(configs: () => pg.ClientConfig[]): new () => pg.Client {
  let known = configs();
  let refused: string | undefined;
  const next = (): pg.ClientConfig => {
    try {
      known = configs();
    } catch {
      // A Secret is being exchanged, or was deleted: a connection that fails says more.
    }
    return known.find(({ connectionString }) => connectionString !== refused) ?? known[0]!;
  };
  return class extends pg.Client {
    readonly #address: string | undefined;

    constructor() {
      const config = next();
      super(config);
      this.#address = config.connectionString;
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<pg.Client> | void {
      const noted = (error: unknown): void => {
        if (isRefused(error)) refused = this.#address;
      };
      if (callback)
        return super.connect((error: Error) => {
          if (error) noted(error);
          callback(error);
        });
      return super.connect().catch((error: unknown) => {
        noted(error);
        throw error;
      });
    }
  };
}
