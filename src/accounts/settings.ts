/** What an operator decides of accounts. */
import type { JSONWebKeySet } from 'jose';
import type { AttemptLimits } from './attempts.ts';

export interface MailSettings {
  host: string;
  port: number;
  /**
   * `starttls` refuses a server without it, `opportunistic` takes it where it is offered, `implicit` speaks TLS from
   * the first byte.
   */
  tls: 'starttls' | 'implicit' | 'opportunistic' | 'none';
  user: string;
  password: string;
  from: string;
}

export interface AccountSettings {
  /**
   * Seals what is kept and must be shown again: tokens, webhook secrets, webhook addresses with a password, private
   * halves of signing keys, mails.
   */
  boxKeys(): JSONWebKeySet;
  /** Where people reach this installation: in mails, and the issuer of JWTs. Empty: not known. */
  publicUrl: string;
  /** Null: no mail is sent, so sign-up is closed. */
  mail: MailSettings | null;
  /** Whether owners can see their tokens again. */
  tokensViewable: boolean;
  signUp: boolean;
  /** Of an account, below its root user. */
  mostSubUsers: number;
  /** Live ones of an account, over all its users. */
  mostTokens: number;
  /** How many proxies in front add to X-Forwarded-For. */
  trustedHops: number;
  /** Others than the usual ones. */
  attempts?: Partial<AttemptLimits>;
}
