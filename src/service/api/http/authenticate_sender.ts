/**
 * Authenticates who sends events of a source: by the key in the address, as senders of events may not set headers, or
 * by an API token that may write the source.
 */
import { timingSafeEqual } from 'node:crypto';
import { tokenSha256 } from '../../../platform/store/token_text.ts';
import { isUuid } from '../../../platform/store/uuid.ts';
import type { Deps } from '../deps.ts';
import { ApiError, notFound } from '../errors.ts';
import { makeAuthenticate, queryValue } from './authenticate.ts';
import { type Access, refusal } from './endpoint_access.ts';
import { makeGuessLimit } from './rate.ts';
import { type Handler, paramOf, remoteIp } from './request_context.ts';

export const SENDER_KEY = 'key';
const KEY = /^[\w-]{32}$/;

/** Of an account, at each replica: a bucket with many small objects sends a message for each. */
const EVENTS_PER_MINUTE = 6_000;

export function takeEventRate({ accountRates }: Pick<Deps, 'accountRates'>, account: number, count: number): void {
  const waitMs = accountRates.take(`events:${account}`, EVENTS_PER_MINUTE, count);
  if (waitMs > 0)
    throw new ApiError('rate-limited', {
      retryAfterS: waitMs / 1_000,
      text: `an account sends at most ${EVENTS_PER_MINUTE} events a minute; the next listing finds what they name`,
    });
}

const wrong = (): ApiError =>
  new ApiError('bad-credential', {
    text: 'key: is not the events_key of this source; POST /v1/source/{id}/key makes a new one',
  });

export function authenticateSender(deps: Deps, access: Access): Handler {
  const { store, accounts } = deps;
  const byToken = makeAuthenticate(deps, ['token']);
  const guesses = makeGuessLimit();
  return async function authenticateSource(ctx, next) {
    const id = paramOf(ctx).toLowerCase();
    const key = queryValue(ctx.querystring, SENDER_KEY);
    if (key === undefined) {
      await byToken(ctx, async () => {});
      const refused = refusal(access, ctx.state.caller!);
      if (refused !== null) throw new ApiError('no-permission', { text: refused });
    } else if (!KEY.test(key) || !isUuid(id)) throw wrong();
    const giveBack = guesses.take(remoteIp(ctx, accounts.settings.trustedHops));
    const source = isUuid(id) ? await store.sourceForEvents(id) : null;
    if (key === undefined) {
      if (source?.userId !== ctx.state.caller!.userId) throw notFound();
    } else if (!source || !timingSafeEqual(source.keySha256, tokenSha256(key))) throw wrong();
    giveBack();
    // A message without events counts as one. Its others are counted when they are read.
    takeEventRate(deps, source.rootUserId, 1);
    ctx.state.source = source;
    return next();
  };
}
