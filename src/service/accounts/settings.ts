/** The operator's settings for accounts. */
import type { JSONWebKeySet } from 'jose';
import type { IssuerSettings } from '../../base/issuer_settings.ts';
import type { AttemptLimits } from './attempts.ts';

export interface MailSettings {
  host: string;
  port: number;
  /** `starttls` requires STARTTLS, `opportunistic` uses it if offered, `implicit` starts with TLS. */
  tls: 'starttls' | 'implicit' | 'opportunistic' | 'none';
  user: string;
  password: string;
  /** PEM of the server's certificate authority; empty: the public ones. */
  ca?: string;
  from: string;
}

export interface AccountSettings {
  /**
   * The keys that seal stored secrets: tokens, webhook secrets, webhook addresses with a password, private signing
   * keys, mails.
   */
  boxKeys(): JSONWebKeySet;
  /** Public address of this installation: used in mails, and as the issuer of JWTs. Empty: unknown. */
  publicUrl: string;
  /** Null: no mail can be sent, so sign-up is closed. */
  mail: MailSettings | null;
  /** Whether owners can see their tokens again. */
  tokensViewable: boolean;
  signUp: boolean;
  /** Whether people sign in with passwords. */
  passwords: boolean;
  /** Issuers of single sign-on. */
  issuers: readonly IssuerSettings[];
  /** The client secret of the issuer of this name, as it is now. */
  issuerSecret(name: string): string;
  /** Days after which those who have not signed in by an issuer are suspended. Null: never. */
  absenceDays: number | null;
  /** Per account, below its root user. */
  mostSubUsers: number;
  /** Live tokens per account, over all its users. */
  mostTokens: number;
  /** Number of trusted proxies that append to X-Forwarded-For. */
  trustedHops: number;
  /** Overrides of the default limits. */
  attempts?: Partial<AttemptLimits>;
}
