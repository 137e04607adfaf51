/** The refusal where an account has as many users or tokens as it may. */
import type { AccountSettings } from '../../accounts/settings.ts';
import type { AccountFull } from '../../store/users.ts';
import { ApiError } from '../errors.ts';

export function accountFull(
  what: AccountFull,
  { mostSubUsers, mostTokens }: Pick<AccountSettings, 'mostSubUsers' | 'mostTokens'>,
): ApiError {
  return what === 'sub-users'
    ? new ApiError('too-many-users', { text: `the account has as many sub-users as it may, ${mostSubUsers}` })
    : new ApiError('too-many-tokens', {
        text: `the account has as many API tokens as it may over all its users, ${mostTokens}`,
      });
}
