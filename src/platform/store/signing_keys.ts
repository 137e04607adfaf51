/** The keys that sign JWTs. Private keys are sealed before they are stored. */
import type { JWK } from 'jose';
import type { Database } from './connection.ts';
import { query } from './query.ts';
import { jsonb } from './storable.ts';

export interface SigningKeyRecord {
  kid: string;
  public: JWK;
  sealed: Buffer;
  signsUntil: Date;
}

/** Keys whose signatures are still accepted, newest first. */
export const signingKeys = (database: Database): Promise<SigningKeyRecord[]> =>
  database.rows<SigningKeyRecord>(query('signing_keys')`
    select kid, public, sealed, signs_until "signsUntil" from signing_keys where verifies_until > now()
      order by created_at desc, kid`);

/** Two replicas may each add a key at the same time: both are valid. */
export const addSigningKey = (
  database: Database,
  key: Omit<SigningKeyRecord, 'signsUntil'> & { signsMs: number; verifiesMs: number },
): Promise<void> =>
  database.run(query('add_signing_key')`
    insert into signing_keys (kid, public, sealed, signs_until, verifies_until)
      values (${key.kid}, ${jsonb(key.public)}, ${key.sealed}, now() + ${key.signsMs} * interval '1 millisecond',
        now() + ${key.verifiesMs} * interval '1 millisecond')
      on conflict do nothing`);
