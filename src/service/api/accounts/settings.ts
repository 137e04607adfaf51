/** The account settings, derived from the role's. */
import { readFileSync } from 'node:fs';
import type { AccountSettings, MailSettings } from '../../accounts/settings.ts';
import type { Config } from '../../../base/config.ts';
import { boxKey } from '../../../platform/seal/box.ts';
import { watchKeys } from '../../../platform/seal/watch_keys.ts';

const readSecret = (file: string): string => (file === '' ? '' : readFileSync(file, 'utf8').trim());

type MailConfig = Pick<
  Config<'api'>,
  'smtpHost' | 'smtpPort' | 'smtpTls' | 'smtpFrom' | 'smtpUserFile' | 'smtpPasswordFile' | 'smtpCaFile'
>;

const mailSettings = (config: MailConfig): MailSettings | null =>
  config.smtpHost === ''
    ? null
    : {
        host: config.smtpHost,
        port: config.smtpPort,
        tls: config.smtpTls,
        from: config.smtpFrom || `probeyard@${config.smtpHost}`,
        user: readSecret(config.smtpUserFile),
        password: readSecret(config.smtpPasswordFile),
        ca: readSecret(config.smtpCaFile),
      };

export const accountSettings = (config: Config<'api'>, onError: (error: unknown) => void): AccountSettings => ({
  boxKeys: watchKeys(config.boxFile, boxKey, onError),
  publicUrl: config.publicUrl,
  mail: mailSettings(config),
  tokensViewable: config.tokensViewable,
  signUp: config.signUp,
  mostSubUsers: config.mostSubUsers,
  mostTokens: config.mostTokens,
  trustedHops: config.trustedHops,
});
