/**
 * Makes an API token: the record keeps its hash, a sealed copy where its owner may see it again, and a secret for
 * webhooks.
 */
import type { Store } from '../store/store.ts';
import type { Maker } from '../store/api_tokens.ts';
import { NO_GIVEN_LIMITS, type GivenLimits } from '../store/limits.ts';
import { tokenSha256 } from '../store/token_text.ts';
import type { Box } from './box.ts';
import type { AccountSettings } from './settings.ts';
import { newTokenText, newWebhookSecret } from './token_text.ts';

/** Live ones of a user: each has limits of its own, so their number is one, too. */
export const MOST_TOKENS = 100;

export interface TokenAsked extends Partial<GivenLimits> {
  userId: number;
  name: string;
  permissions?: readonly string[] | null;
  monthlyQuota?: unknown;
  expiresAt?: Date | null;
  /** Of whom it ends with; left out: it is the account's own. */
  madeBy?: Maker;
}

export interface TokenParts {
  store: Pick<Store, 'nextTokenId' | 'makeToken'>;
  box: Box;
  settings: Pick<AccountSettings, 'tokensViewable' | 'mostTokens'>;
}

/** What the record keeps of a token's text. */
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
 * A text where there is none: the user or the account has as many as allowed, or the credential that makes it has ended
 * meanwhile.
 */
export async function makeApiToken(
  parts: TokenParts,
  asked: TokenAsked,
): Promise<{ id: number; token: string } | 'too-many' | 'account-full' | 'maker-ended'> {
  const { store, box } = parts;
  const id = await store.nextTokenId();
  const token = newTokenText();
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
