/** The keys that sign JWTs. Private keys are sealed before they are stored. */
import type { JWK } from 'jose';
import type { Database } from './connection.ts';
import { jsonb } from './storable.ts';

export interface SigningKeyRecord {
  kid: string;
  public: JWK;
  sealed: Buffer;
  signsUntil: Date;
}

/** Keys whose signatures are still accepted, newest first. */
export function signingKeys(database: Database): Promise<SigningKeyRecord[]> {
  return database.rows<SigningKeyRecord>({
    name: 'signing_keys',
    text: `select kid, public, sealed, signs_until "signsUntil" from signing_keys where verifies_until > now()
      order by created_at desc, kid`,
  });
}

/** Two replicas may each add a key at the same time: both are valid. */
export async function addSigningKey(
  database: Database,
  key: Omit<SigningKeyRecord, 'signsUntil'> & { signsMs: number; verifiesMs: number },
): Promise<void> {
  await database.rows({
    name: 'add_signing_key',
    text: `insert into signing_keys (kid, public, sealed, signs_until, verifies_until)
      values ($1, $2, $3, now() + $4 * interval '1 millisecond', now() + $5 * interval '1 millisecond')
      on conflict do nothing`,
    values: [key.kid, jsonb(key.public), key.sealed, key.signsMs, key.verifiesMs],
  });
}
