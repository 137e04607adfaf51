/** JWTs of sessions and of links in mails. Each kind has its own audience, so one is never accepted as another. */
import { errors, jwtVerify, SignJWT } from 'jose';
import { ALGORITHM, type SigningKeys } from './signing_keys.ts';

export type Audience = 'session' | 'verify' | 'reset';
export interface Claims {
  id: string;
  userId: number;
}

export interface Jwts {
  sign(audience: Audience, claims: Claims, expiresAt: Date): Promise<string>;
  /** Null: wrong issuer, modified, expired, or of another kind. */
  verify(audience: Audience, jwt: string): Promise<Claims | null>;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function makeJwts({ keys, issuer, now }: { keys: SigningKeys; issuer(): Promise<string>; now(): number }): Jwts {
  return {
    async sign(audience, { id, userId }, expiresAt) {
      const key = await keys.current();
      return new SignJWT()
        .setProtectedHeader({ alg: ALGORITHM, kid: key.kid, typ: 'JWT' })
        .setIssuer(await issuer())
        .setAudience(audience)
        .setSubject(String(userId))
        .setJti(id)
        .setIssuedAt(Math.floor(now() / 1000))
        .setExpirationTime(Math.ceil(expiresAt.getTime() / 1000))
        .sign(key);
    },
    async verify(audience, jwt) {
      try {
        const { payload } = await jwtVerify(
          jwt,
          async ({ kid }) => {
            const key = kid === undefined ? undefined : await keys.publicKey(kid);
            if (!key) throw new errors.JWKSNoMatchingKey();
            return key;
          },
          {
            algorithms: [ALGORITHM],
            issuer: await issuer(),
            audience,
            requiredClaims: ['exp', 'jti', 'sub', 'iat'],
            currentDate: new Date(now()),
          },
        );
        const userId = Number(payload.sub);
        return UUID.test(payload.jti ?? '') && Number.isSafeInteger(userId) && userId >= 0
          ? { id: payload.jti!, userId }
          : null;
      } catch (error) {
        if (error instanceof errors.JOSEError) return null;
        throw error;
      }
    },
  };
}
