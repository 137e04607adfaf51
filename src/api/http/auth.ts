/**
 * Who asks: an API token in the header or, where there is none, in the query. The first present decides; a bad one
 * never falls through.
 */
import { createHash } from 'node:crypto';
import type { TokenRecord } from '../../store/records.ts';
import { type Context, type Handler, remoteIp } from './context.ts';
import type { Deps } from '../deps.ts';
import { forbidden, unauthorized } from '../errors.ts';

const TOKEN = /^[A-Za-z0-9]{64}$/;

/** Without the query's parser: a query that cannot be read is told to authenticated callers only. */
function queryToken(querystring: string): string | undefined {
  const given = querystring.split('&').filter((part) => part.startsWith('token='));
  if (given.length === 0) return undefined;
  // Given twice it is none: which one would decide?
  return given.length === 1 ? given[0]!.slice('token='.length) : '';
}

function credentialOf(ctx: Pick<Context, 'get' | 'querystring'>): string {
  const header = ctx.get('Authorization');
  const given = header === '' ? queryToken(ctx.querystring) : (/^Bearer +([^ ]+) *$/i.exec(header)?.[1] ?? '');
  if (given === undefined)
    throw unauthorized(
      'no-credential',
      'an API token is needed, as Authorization: Bearer <token> or as the query parameter token',
    );
  if (!TOKEN.test(given)) throw unauthorized('bad-credential', 'the API token is not valid');
  return given;
}

const isLive = (record: TokenRecord | null, now: number): record is TokenRecord =>
  record !== null && (record.expiresAt === null || record.expiresAt.getTime() > now);

/** Judges a found token; `now` is the store's clock. */
function judge(record: TokenRecord | null, permission: string, now: number): TokenRecord {
  if (!isLive(record, now)) throw unauthorized('bad-credential', 'the API token is not valid');
  if (record.userStatus !== 'active') throw forbidden('account-inactive', `the account is ${record.userStatus}`);
  if (!record.permissions.includes(permission))
    throw forbidden('no-permission', `the API token lacks the permission ${permission}`);
  return record;
}

export const auth =
  ({ tokens, accounts, store }: Pick<Deps, 'tokens' | 'accounts' | 'store'>) =>
  (permission: string): Handler =>
  async (ctx, next) => {
    const sha256 = createHash('sha256').update(credentialOf(ctx)).digest();
    const record = await tokens.get(sha256, remoteIp(ctx, accounts.settings.trustedHops));
    const now = store.clock.now();
    // Known, whatever he may: his rate counts what he is refused, too.
    if (isLive(record, now)) ctx.state.token = record;
    judge(record, permission, now);
    return next();
  };
