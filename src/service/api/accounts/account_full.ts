/** The error of an account that has reached its limit of users or tokens. */
import type { AccountSettings } from '../../accounts/settings.ts';
import type { AccountFull } from '../../../platform/store/users.ts';
import { ApiError } from '../errors.ts';

export function accountFull(
  what: AccountFull,
  { mostSubUsers, mostTokens }: Pick<AccountSettings, 'mostSubUsers' | 'mostTokens'>,
): ApiError {
  return what === 'sub-users'
    ? new ApiError('too-many-users', { text: `the account has reached its limit of ${mostSubUsers} sub-users` })
    : new ApiError('too-many-tokens', {
        text: `the account has reached its limit of ${mostTokens} API tokens over all its users`,
      });
}
