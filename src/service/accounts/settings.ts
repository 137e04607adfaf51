/** The operator's settings for accounts. */
import type { JSONWebKeySet } from 'jose';
import type { Config } from '../../base/config.ts';
import type { AttemptLimits } from './attempts.ts';

export interface MailSettings {
  host: string;
  port: number;
  /** `starttls` requires STARTTLS, `opportunistic` uses it if offered, `implicit` starts with TLS. */
  tls: Config<'api'>['smtpTls'];
  user: string;
  password: string;
  /** PEM of the server's certificate authority; empty: the public ones. */
  ca?: string;
  from: string;
}

export interface AccountSettings extends Pick<
  Config<'api'>,
  | 'publicUrl'
  | 'tokensViewable'
  | 'signUp'
  | 'passwords'
  | 'issuers'
  | 'absenceDays'
  | 'mostSubUsers'
  | 'mostTokens'
  | 'trustedHops'
> {
  /**
   * The keys that seal stored secrets: tokens, webhook secrets, webhook addresses with a password, private signing
   * keys, mails.
   */
  boxKeys(): JSONWebKeySet;
  /** Null: no mail can be sent, so sign-up is closed. */
  mail: MailSettings | null;
  /** The client secret of the issuer of this name, as it is now. */
  issuerSecret(name: string): string;
  attempts?: Partial<AttemptLimits>;
}
