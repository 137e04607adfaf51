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

export function signingKeyCalls(database: Database) {
  return {
    /** Keys whose signatures are still accepted, newest first. */
    async signingKeys(): Promise<SigningKeyRecord[]> {
      const rows = await database.rows<{ kid: string; public: JWK; sealed: Buffer; signs_until: Date }>({
        name: 'signing_keys',
        text: `select kid, public, sealed, signs_until from signing_keys where verifies_until > now()
          order by created_at desc, kid`,
      });
      return rows.map((row) => ({ kid: row.kid, public: row.public, sealed: row.sealed, signsUntil: row.signs_until }));
    },

    /** Two replicas may each add a key at the same time: both are valid. */
    async addSigningKey(key: {
      kid: string;
      public: JWK;
      sealed: Buffer;
      signsMs: number;
      verifiesMs: number;
    }): Promise<void> {
      await database.rows({
        name: 'add_signing_key',
        text: `insert into signing_keys (kid, public, sealed, signs_until, verifies_until)
          values ($1, $2, $3, now() + $4 * interval '1 millisecond', now() + $5 * interval '1 millisecond')
          on conflict do nothing`,
        values: [key.kid, jsonb(key.public), key.sealed, key.signsMs, key.verifiesMs],
      });
    },
  };
}
