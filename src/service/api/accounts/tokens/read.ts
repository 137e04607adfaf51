/** `GET auth/api-token/{id}`: one token; its owner sees the text, if the operator allows it. */
import Type from 'typebox';
import { TOKEN_PATTERN } from '../../../../platform/store/token_text.ts';
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { ShownToken, shownToken } from '../shown_token.ts';
import { findToken } from './find.ts';

export const TokenParam = Type.String({
  description: 'The id of the token, or the token itself.',
  pattern: `^([0-9]{1,16}|${TOKEN_PATTERN})$`,
});

async function read(deps: Deps, ctx: Context): Promise<void> {
  const { token, reachable } = await findToken(deps, ctx, callerOf(ctx));
  const shown = await shownToken(deps, token, { owner: reachable });
  if (!shown) throw notFound();
  ctx.body = shown;
}

export const readToken = endpoint(
  'GET auth/api-token/:id',
  {
    id: 'readApiToken',
    tag: 'auth',
    summary: 'Read an API token',
    params: { id: TokenParam },
    answer: {
      description:
        'The token. `token` and `webhook-secret` are null for anyone but the owner, and for a credential of the ' +
        'owner that has fewer permissions or ends earlier.',
      schema: ShownToken,
    },
  },
  read,
);
