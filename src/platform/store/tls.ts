/**
 * Whether and how a connection to Postgres is encrypted. Decided here alone: pg lets `sslmode` in the address replace
 * every other setting, so that a given certificate authority was dropped.
 *
 * | sslmode               | no CA given                      | CA given                              |
 * |-----------------------|----------------------------------|---------------------------------------|
 * | none                  | no TLS                           | TLS, the given CA and the host name   |
 * | disable               | no TLS                           | error                                 |
 * | prefer, require,      |                                  |                                       |
 * | verify-full           | TLS, public CAs and host name    | TLS, the given CA and the host name   |
 * | verify-ca             | error: any public host would do  | TLS, the given CA, any host name      |
 * | no-verify             | TLS, nothing is verified         | error                                 |
 */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { StoreError } from './errors.ts';

type Mode = 'off' | 'full' | 'ca' | 'unverified';
const MODES: Record<string, Mode> = {
  disable: 'off',
  prefer: 'full',
  require: 'full',
  'verify-full': 'full',
  'verify-ca': 'ca',
  'no-verify': 'unverified',
};
const OF_TLS = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'uselibpqcompat'];

const refused = (text: string): StoreError => new StoreError('invalid', `the address of Postgres: ${text}`);

function modeOf(query: URLSearchParams): Mode | undefined {
  const name = query.get('sslmode');
  if (name !== null) {
    const mode = Object.hasOwn(MODES, name) ? MODES[name] : undefined;
    if (mode === undefined) throw refused(`sslmode must be one of ${Object.keys(MODES).join(', ')}`);
    return mode;
  }
  const ssl = query.get('ssl');
  if (ssl === 'no-verify') return 'unverified';
  return ssl === null ? undefined : ssl === 'true' || ssl === '1' ? 'full' : 'off';
}

function readPem(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw refused(`the ${what} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

export interface Reached {
  url: string;
  ssl: false | ConnectionOptions;
}

/**
 * The address without its TLS settings, and those settings as pg takes them. A given CA is never dropped; an empty file
 * name means none.
 */
export function reached(
  address: string,
  caFile: string | undefined,
  client: { certificateFile?: string | undefined; keyFile?: string | undefined } = {},
): Reached {
  const [base = '', ...rest] = address.split('?');
  const query = new URLSearchParams(rest.join('?'));
  const named = query.get('sslrootcert');
  // libpq's name for the public CAs.
  const file = caFile || (named === null || named === 'system' ? undefined : named);
  const mode = modeOf(query) ?? (file === undefined && named === null ? 'off' : 'full');
  const certificate = client.certificateFile || query.get('sslcert');
  const key = client.keyFile || query.get('sslkey');
  for (const name of OF_TLS) query.delete(name);
  const url = query.size > 0 ? `${base}?${query}` : base;

  if (file !== undefined && mode === 'off')
    throw refused('sslmode=disable conflicts with the given certificate authority');
  if (file !== undefined && mode === 'unverified')
    throw refused('sslmode=no-verify conflicts with the given certificate authority');
  if (file === undefined && mode === 'ca')
    throw refused('sslmode=verify-ca needs a certificate authority; without one take verify-full');
  if ((certificate === null) !== (key === null))
    throw refused('a client certificate needs its private key, and a key its certificate');
  if (certificate !== null && mode === 'off')
    throw refused('a client certificate needs TLS: set sslmode, or a certificate authority');
  if (mode === 'off') return { url, ssl: false };
  return {
    url,
    ssl: {
      rejectUnauthorized: mode !== 'unverified',
      ...(file === undefined ? {} : { ca: readPem(file, 'certificate authority') }),
      ...(certificate === null ? {} : { cert: readPem(certificate, 'client certificate') }),
      ...(key === null ? {} : { key: readPem(key, "client certificate's key") }),
      ...(mode === 'ca' ? { checkServerIdentity: () => undefined } : {}),
    },
  };
}
