/** What a request carries from one middleware to the next. */
import type { DefaultContext, Middleware, ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/caller.ts';
import type { Rate, TokenRecord } from '../../store/records.ts';
import { isUuid } from '../../store/uuid.ts';
import { notFound, type ErrorCode } from '../errors.ts';
import type { Pair } from './input/pairs.ts';

export interface State {
  requestId: string;
  /** Set where the credential is an API token. */
  token?: TokenRecord;
  /** Set where the call was counted: goes into the headers of every answer. */
  rate?: Rate;
  /** What was sent, before it is checked. */
  input?: Input;
  /** Who calls, whether by a cookie, and the checked input. */
  caller?: Caller;
  byCookie?: boolean;
  checked?: unknown;
  /** Set where the answer is an error. */
  code?: ErrorCode;
}

/** Texts (queries, forms) are turned into the types of the schema; JSON is taken as it is. */
export type Input = { form: 'query' | 'form'; pairs: Pair[] } | { form: 'json'; value: unknown };

export type Handler = Middleware<State, DefaultContext>;
export type Context = ParameterizedContext<State, DefaultContext>;

/** For middlewares behind authenticate that accept API tokens only. */
export function tokenOf(ctx: Context): TokenRecord {
  if (!ctx.state.token) throw new Error('this middleware must run after authenticate');
  return ctx.state.token;
}

/** For middlewares behind authenticate. */
export function callerOf(ctx: Context): Caller {
  if (!ctx.state.caller) throw new Error('this middleware must run after authenticate');
  return ctx.state.caller;
}

export const paramOf = (ctx: Context, name = 'id'): string => String((ctx['params'] as Record<string, string>)[name]);

/** A malformed id is a 404, like one that does not exist. */
export function idOf(ctx: Context): number {
  const text = paramOf(ctx);
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw notFound();
  return Number(text);
}

export function uuidOf(ctx: Context): string {
  const text = paramOf(ctx).toLowerCase();
  if (!isUuid(text)) throw notFound();
  return text;
}

/** The address of the caller: the peer, or what as many proxies in front as are trusted have added. */
export function remoteIp(ctx: Pick<Context, 'get' | 'req'>, trustedHops: number): string {
  const peer = (ctx.req.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  if (trustedHops === 0) return peer;
  const forwarded = ctx
    .get('X-Forwarded-For')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  // Each trusted proxy adds one at the end; what stands before those is whatever the caller wrote.
  return (forwarded.at(-trustedHops) ?? forwarded[0] ?? peer).slice(0, 64);
}
