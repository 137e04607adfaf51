/** The refusal where an account has as many users or tokens as it may. */
import type { AccountSettings } from '../../accounts/settings.ts';
import type { AccountFull } from '../../store/users.ts';
import { GatewayError } from '../errors.ts';

export function accountFull(
  what: AccountFull,
  { mostSubUsers, mostTokens }: Pick<AccountSettings, 'mostSubUsers' | 'mostTokens'>,
): GatewayError {
  return what === 'sub-users'
    ? new GatewayError(409, 'too-many-users', `the account has as many sub-users as it may, ${mostSubUsers}`)
    : new GatewayError(
        409,
        'too-many-tokens',
        `the account has as many API tokens as it may over all its users, ${mostTokens}`,
      );
}
