/** State that middlewares pass on. */
import type { DefaultContext, Middleware, ParameterizedContext } from 'koa';
import type { Caller } from '../../accounts/caller.ts';
import type { AuditChange } from '../../../platform/store/audit.ts';
import type { Rate, TokenRecord } from '../../../platform/store/records.ts';
import type { SourceForEvents } from '../../../platform/store/sources.ts';
import type { RequestTrace } from '../../../platform/tracing/request_trace.ts';
import { siteOf } from '../../accounts/networks.ts';
import type { Payer } from '../../result/pace.ts';
import { isUuid } from '../../../platform/store/uuid.ts';
import { notFound, type ApiError, type ErrorCode } from '../errors.ts';
import type { Body } from './read_input.ts';
import type { Pair } from './input/read_fields.ts';
import type { Upload } from './upload_form.ts';

/** What the entry of a call in the audit log will say (audit.ts). */
export interface AuditNote {
  action: string;
  /** A kind and an id: `user/7`. */
  subject?: string;
  /** Who, where the call has no credential. */
  actor?: { id: number; rootId: number };
  changes: readonly AuditChange[];
  /** Whether the call leaves an entry, and whether it has. */
  noted: boolean;
  written: boolean;
}

export interface State {
  requestId: string;
  /** Set for an API token. */
  token?: TokenRecord;
  /** Set if the call was counted; reported in the headers of every response. */
  rate?: Rate;
  /** The body as received, and the raw input, before it is checked. */
  body?: Body | undefined;
  input?: Input;
  /** The caller, whether the credential is a cookie, and the checked input. */
  caller?: Caller;
  byCookie?: boolean;
  checked?: unknown;
  /** The file that came with the call; `kept`: its request needs it after the response, and removes it. */
  upload?: Upload & { kept: boolean };
  /** Aborted when the caller disconnects (`untilClosed`). */
  gone?: AbortSignal;
  /** Set for a probe request that is traced. */
  trace?: RequestTrace;
  audit?: AuditNote;
  code?: ErrorCode;
  /** Set for a message of events. */
  source?: SourceForEvents;
  /** Shows an error to a person, in place of JSON. */
  errorPage?: (error: ApiError) => void;
}

/** Text input (queries, forms) is converted to the types of the schema; JSON is used unchanged. */
export type Input = { form: 'query' | 'form'; pairs: Pair[] } | { form: 'json'; value: unknown };

export type Handler = Middleware<State, DefaultContext>;
export type Context = ParameterizedContext<State, DefaultContext>;

/** Who asks for a probe, and how: a call, or what stands for one. */
export interface Asker {
  method: string;
  state: Pick<State, 'token' | 'rate' | 'trace' | 'upload'>;
}

/** For middlewares after authenticate that accept API tokens only. */
export function tokenOf({ state }: Pick<Asker, 'state'>): TokenRecord {
  if (!state.token) throw new Error('this middleware must run after authenticate');
  return state.token;
}

/** For middlewares after authenticate. */
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

/** The caller's address: the peer, or the address added by the trusted proxies in front. */
export function remoteIp(ctx: Pick<Context, 'get' | 'req'>, trustedHops: number): string {
  const peer = (ctx.req.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  if (trustedHops === 0) return peer;
  const forwarded = ctx
    .get('X-Forwarded-For')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  // Each trusted proxy appends one address; those before are written by the caller.
  return (forwarded.at(-trustedHops) ?? forwarded[0] ?? peer).slice(0, 64);
}

/** Who pays for the work of a call: the account, or the address of a caller who is not authenticated. */
export const payerOf = (ctx: Context, trustedHops: number): Payer =>
  ctx.state.source?.rootUserId ?? ctx.state.caller?.rootUserId ?? siteOf(remoteIp(ctx, trustedHops));

// `Prefer: respond-async` (RFC 7240): the caller does not want to hold the connection until the request has ended.

/** Longer headers are ignored: no genuine client sends that many preferences. */
const MOST = 4_096;
const QUOTED = /"(?:[^"\\]|\\.)*"/g;

export function prefersAsync(ctx: Pick<Context, 'method' | 'get'>): boolean {
  const header = ctx.get('Prefer');
  if (ctx.method !== 'POST' || header.length > MOST) return false;
  return header
    .replaceAll(QUOTED, '')
    .split(',')
    .some((preference) => preference.split(';')[0]!.trim().toLowerCase() === 'respond-async');
}

export const PREFERENCE_APPLIED = 'Preference-Applied';

// `X-Ignored-Fields`: fields that were accepted without effect.

export const IGNORED_HEADER = 'X-Ignored-Fields';

const MOST_NAMES = 32;
const LONGEST_NAME = 64;

/**
 * Appends to names that are already set. Callers choose the names, so characters that are invalid in a header become
 * `?`.
 */
export function nameIgnored(ctx: Context, names: readonly string[]): void {
  if (names.length === 0) return;
  const before = ctx.response.get(IGNORED_HEADER) as string | undefined;
  const shown = names.slice(0, MOST_NAMES).map((name) => name.replaceAll(/[^\w.-]/gu, '?').slice(0, LONGEST_NAME));
  ctx.set(IGNORED_HEADER, [...(before ? [before] : []), ...shown].join(', '));
}
