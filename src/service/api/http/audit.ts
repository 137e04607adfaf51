/**
 * The audit log as endpoints see it. Each call that changes something leaves an entry, each that shows a secret, and
 * each that is denied to a known user: `endpoint()` sees to it. The work of an endpoint only notes on whom, and what
 * changed.
 */
import { isDeepStrictEqual } from 'node:util';
import { requestFields } from '../../../base/log.ts';
import type { AuditChange, NewAuditEntry } from '../../../platform/store/audit.ts';
import type { StoreCalls } from '../../../platform/store/store.ts';
import { isUuid } from '../../../platform/store/uuid.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { type AuditNote, type Context, type Handler, paramOf, remoteIp } from './request_context.ts';

type Parts = Pick<Deps, 'store' | 'accounts' | 'log' | 'accountRates'>;

// What changed.

/** What is secret or names a person: an entry says that it changed, and outlives the account. */
const REDACTED = new Set(['email', 'first-name', 'last-name', 'name']);

type Values = Readonly<Record<string, unknown>>;

const valueOf = (values: Values | null, field: string): unknown => {
  const value = values?.[field] ?? null;
  return value === '' ? null : value;
};

/** The fields that differ. Null: there was nothing before, or is nothing after. */
export function changesOf(before: Values | null, after: Values | null): AuditChange[] {
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...fields].flatMap((field): AuditChange[] => {
    const [was, is] = [valueOf(before, field), valueOf(after, field)];
    if (isDeepStrictEqual(was, is)) return [];
    if (REDACTED.has(field)) return [{ field, redacted: 'changed' }];
    return [{ field, ...(was === null ? {} : { before: was }), ...(is === null ? {} : { after: is }) }];
  });
}

/** What became of secrets. */
export const secrets = (redacted: 'changed' | 'shown', ...fields: string[]): AuditChange[] =>
  fields.map((field) => ({ field, redacted }));

// On whom: what the path names, unless the endpoint says otherwise.

const KINDS: Readonly<Record<string, string>> = {
  auth: 'user',
  log: 'request',
  probe: 'request',
  shared: 'policy',
  waivers: 'waiver',
};

/** Of `user/:id/status` with 7: `user/7`. An id that is none may be a secret that was sent by mistake. */
function subjectIn(path: string): (ctx: Context) => { subject?: string } {
  const [, segment = '', param] = /\/([a-z-]+)\/:(id|name)\b/.exec(path) ?? [];
  if (param === undefined) return () => ({});
  const kind = KINDS[segment] ?? segment;
  const isOne = (value: string): boolean =>
    param === 'id' ? /^[0-9]{1,15}$/.test(value) || isUuid(value) : /^[\x21-\x7e]{1,64}$/.test(value);
  return (ctx) => {
    const value = paramOf(ctx, param);
    return isOne(value) ? { subject: `${kind}/${param === 'id' ? value.toLowerCase() : value}` } : {};
  };
}

// The entry.

function noteOf(ctx: Context): AuditNote {
  if (!ctx.state.audit) throw new Error('this work must run in an endpoint');
  return ctx.state.audit;
}

type Noted = Partial<Pick<AuditNote, 'subject' | 'actor' | 'changes'>>;

/**
 * For the work of an endpoint: on whom it acts, what else it changes or shows, and who acts if there is no credential.
 */
export function note(ctx: Context, { changes = [], ...noted }: Noted): void {
  const own = noteOf(ctx);
  Object.assign(own, noted, { noted: true, changes: [...own.changes, ...changes] });
}

function entryOf({ accounts }: Parts, ctx: Context, denied?: ApiError): NewAuditEntry {
  const { caller, requestId } = ctx.state;
  const { action, subject = null, actor, changes } = noteOf(ctx);
  return {
    id: requestId,
    actorId: actor?.id ?? caller?.userId ?? null,
    accountId: actor?.rootId ?? caller?.rootUserId ?? null,
    tokenId: caller?.tokenId ?? null,
    sessionId: caller?.sessionId ?? null,
    address: remoteIp(ctx, accounts.settings.trustedHops),
    action,
    subject,
    outcome: denied ? 'denied' : 'done',
    code: denied?.code ?? null,
    changes,
  };
}

function logEntry({ log }: Parts, { id, actorId, tokenId, accountId, sessionId, ...entry }: NewAuditEntry): void {
  const who = { user: actorId, account: accountId, token: tokenId, session: sessionId };
  log.info({ audit: true, ...requestFields({ id }), ...who, ...entry }, 'audit');
}

/**
 * Makes the change and its entry in one transaction. The work waits for nothing but the calls of this store. `denied`:
 * what the caller is told, where the change is all that becomes of the call.
 */
export async function withEntry<T>(
  deps: Parts,
  ctx: Context,
  work: (store: StoreCalls) => Promise<T>,
  denied?: ApiError,
): Promise<T> {
  const audit = noteOf(ctx);
  let made: { result: T; entry: NewAuditEntry } | undefined;
  made = await deps.store.together(audit.action, async (store) => {
    // It was committed, and the answer was lost: a user is not made twice.
    if (made && (await store.hasAuditEntry(made.entry.id))) return made;
    audit.changes = [];
    const result = await work(store);
    const entry = entryOf(deps, ctx, denied);
    await store.addAuditEntry(entry);
    return (made = { result, entry });
  });
  audit.written = true;
  logEntry(deps, made.entry);
  return made.result;
}

/** Of an account on each replica: further ones are in the access log alone. */
const DENIALS_PER_MINUTE = 30;

const isDenied = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 401 || error.status === 403) && error.code !== 'quota';

/** Not waited for: how long a refusal takes must not tell whether an account exists. */
function recordDenied(deps: Parts, ctx: Context, error: ApiError): void {
  // What was noted was not done.
  const entry = { ...entryOf(deps, ctx, error), changes: [] };
  if (entry.accountId === null) return;
  if (deps.accountRates.take(`denied ${entry.accountId}`, DENIALS_PER_MINUTE) > 0) return;
  logEntry(deps, entry);
  deps.store
    .addAuditEntry(entry)
    .catch((err: unknown) => deps.log.warn({ err, ...requestFields({ id: entry.id }) }, 'cannot record a denied call'));
}

/** `changes`: each call of the endpoint leaves an entry. Otherwise only those that note something, or are denied. */
export function audited(
  deps: Parts,
  { action, path, changes }: { action: string; path: string; changes: boolean },
): Handler {
  const subjectOf = subjectIn(path);
  return async function audit(ctx, next) {
    const own: AuditNote = { action, ...subjectOf(ctx), changes: [], noted: changes, written: false };
    ctx.state.audit = own;
    try {
      await next();
    } catch (error) {
      if (isDenied(error) && !own.written) recordDenied(deps, ctx, error);
      throw error;
    }
    if (!own.noted || own.written) return;
    const entry = entryOf(deps, ctx);
    await deps.store.addAuditEntry(entry).catch((error: unknown) => {
      // Nobody is signed in without an entry.
      ctx.remove('Set-Cookie');
      throw error;
    });
    logEntry(deps, entry);
  };
}
