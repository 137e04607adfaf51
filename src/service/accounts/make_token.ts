/**
 * Creates an API token: the record stores its hash, a sealed copy if its owner may see it again, and a secret for
 * webhooks.
 */
import type { Store } from '../../platform/store/store.ts';
import type { Maker } from '../../platform/store/api_tokens.ts';
import { NO_GIVEN_LIMITS, type GivenLimits } from '../../platform/store/limits.ts';
import { tokenSha256 } from '../../platform/store/token_text.ts';
import type { Box } from './box.ts';
import type { AccountSettings } from './settings.ts';
import { newTokenText, newWebhookSecret } from './token_text.ts';

/** Live tokens of a user. Their number is limited because each has limits of its own. */
export const MOST_TOKENS = 100;

export interface TokenAsked extends Partial<GivenLimits> {
  userId: number;
  name: string;
  permissions?: readonly string[] | null;
  monthlyQuota?: unknown;
  expiresAt?: Date | null;
  /** The credentials that it expires with; absent: it belongs to the account. */
  madeBy?: Maker;
}

export interface TokenParts {
  store: Pick<Store, 'nextTokenId' | 'makeToken'>;
  box: Box;
  settings: Pick<AccountSettings, 'boxKeys' | 'tokensViewable' | 'mostTokens'>;
}

export const keptToken = async (
  { box, settings }: { box: Box; settings: Pick<AccountSettings, 'tokensViewable'> },
  id: number,
  token: string,
): Promise<{ sha256: Buffer; sealed: Buffer | null }> => ({
  sha256: tokenSha256(token),
  sealed: settings.tokensViewable ? await box.seal(token, 'token', id) : null,
});

const NOBODY: Maker = { tokenId: null, sessionId: null };

/**
 * Returns a text on refusal: the user or the account has reached its number of tokens, or the creating credential has
 * ended meanwhile.
 */
export async function makeApiToken(
  parts: TokenParts,
  asked: TokenAsked,
): Promise<{ id: number; token: string } | 'too-many' | 'account-full' | 'maker-ended'> {
  const { store, box } = parts;
  const id = await store.nextTokenId();
  const token = newTokenText(parts.settings.boxKeys());
  const made = await store.makeToken(
    {
      ...NO_GIVEN_LIMITS,
      permissions: null,
      monthlyQuota: null,
      expiresAt: null,
      madeBy: NOBODY,
      ...asked,
      id,
      ...(await keptToken(parts, id, token)),
      webhookSecret: await box.seal(newWebhookSecret(), 'webhook', id),
    },
    { ofUser: MOST_TOKENS, ofAccount: parts.settings.mostTokens },
  );
  return made === 'made' ? { id, token } : made;
}
