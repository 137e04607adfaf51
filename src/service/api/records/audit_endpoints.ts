/** The audit log: a page of it, and all of it as lines of JSON. */
import Type, { type Static } from 'typebox';
import { AUDIT_OUTCOMES, type AuditEntry, type AuditFilter } from '../../../platform/store/audit.ts';
import { seesEveryone } from '../../accounts/caller.ts';
import type { Deps } from '../deps.ts';
import { invalid } from '../errors.ts';
import { endpoint, withoutNull } from '../http/endpoint.ts';
import { exportPages, inLines } from '../http/export_pages.ts';
import { callerOf, type Context } from '../http/request_context.ts';
import {
  anyOf,
  closed,
  component,
  ids,
  listAnswer,
  listSchema,
  oneOf,
  orNull,
  pageOf,
  Pagination,
  sortBy,
} from '../http/request_fields.ts';
import { timeRange, timesOf } from './query_filters.ts';

const texts = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: '^[^\\u0000]*$' }), { default: [], description });

const FILTERS = {
  time: timeRange('When the calls were made.', 'the oldest entry'),
  'user-id': ids('Calls of these users, also of erased ones. Default: of all that the caller can see.'),
  action: texts('These operations, as `setUserStatus`: their names in this description.'),
  subject: texts('Calls on these, as `user/7`, `api-token/12` or `policy/delivery`.'),
  outcome: anyOf(AUDIT_OUTCOMES, 'done: what was asked for was done. denied: the caller may not.'),
};

const ExportQuery = closed(FILTERS);

const Change = component('AuditChange', {
  field: Type.String(),
  before: Type.Optional(Type.Unknown({ description: 'Absent: there was no value.' })),
  after: Type.Optional(Type.Unknown({ description: 'Absent: there is no value.' })),
  redacted: Type.Optional(
    oneOf(['changed', 'shown'], { description: 'What became of a secret or a name. Their values are not recorded.' }),
  ),
});
const Entry = component('AuditEntry', {
  id: Type.String({ format: 'uuid', description: 'The X-Request-Id of the call.' }),
  time: Type.String({ format: 'date-time' }),
  'user-id': orNull(Type.Integer({ description: 'Who. Absent: a command in a pod.' })),
  email: orNull(Type.String({ description: 'Of the user; absent if they are erased.' })),
  'token-id': orNull(Type.Integer({ description: 'The API token that called, or that the JWT was made with.' })),
  'session-id': orNull(Type.String({ format: 'uuid', description: 'The session of the JWT that called.' })),
  address: Type.String({ description: 'From where. Empty: from within the cluster.' }),
  action: Type.String({ description: 'The operation.' }),
  subject: orNull(Type.String({ description: 'On what: a kind and an id.' })),
  outcome: oneOf(AUDIT_OUTCOMES, { title: 'AuditOutcome' }),
  code: orNull(Type.String({ description: 'Why it was denied.' })),
  changes: Type.Array(Change),
});

const shownEntry = (entry: AuditEntry): Static<typeof Entry> => ({
  id: entry.id,
  time: entry.at.toISOString(),
  'user-id': entry.actorId,
  email: entry.email,
  'token-id': entry.tokenId,
  'session-id': entry.sessionId,
  address: entry.address,
  action: entry.action,
  subject: entry.subject,
  outcome: entry.outcome,
  code: entry.code,
  changes: [...entry.changes],
});

/** Calls of the caller and of users below; of the whole account for its root user, of everybody for administrators. */
async function filterOf(
  { store }: Deps,
  ctx: Context,
  { time, action, subject, outcome, 'user-id': actors }: Static<typeof ExportQuery>,
): Promise<AuditFilter> {
  const caller = callerOf(ctx);
  const { from, to } = timesOf('time', time);
  if (from && to && from > to) throw invalid('time.from', 'must not be after time.to');
  const all = seesEveryone(caller);
  const ofAccount = caller.userId === caller.rootUserId;
  return {
    accountId: all ? null : caller.rootUserId,
    // Those who were erased are below nobody.
    visible: all || ofAccount ? null : await store.usersUnder(caller.userId),
    actors,
    actions: action,
    subjects: subject,
    outcomes: outcome,
    from,
    to,
  };
}

const VISIBLE =
  'Who changed what, who saw a secret, and who was denied. A user sees their own calls and those of users below; the ' +
  'root user of an account those of the whole account, of erased users, too; an administrator those of everybody. ' +
  'Secrets and names are not in it.';

export const auditList = endpoint('GET audit', {
  id: 'listAudit',
  summary: 'List the audit log',
  query: closed({ ...FILTERS, pagination: Pagination, sort: sortBy(['time'], 'time', 'desc') }),
  description: VISIBLE,
  answer: { description: 'A page of entries, newest first.', schema: listSchema('entries', Entry) },
  async work(deps, ctx, { pagination, sort, ...filter }) {
    const page = { order: sort.order, ...pageOf(pagination) } as const;
    const { rows, total } = await deps.store.listAudit(await filterOf(deps, ctx, filter), page);
    return listAnswer('entries', rows.map(shownEntry), { filter, pagination, sort }, { total });
  },
});

const BATCH = 500;

async function* pagesOf({ store }: Deps, filter: AuditFilter): AsyncGenerator<AuditEntry[], void> {
  for (let after: AuditEntry['id'] | null = null, more = true; more;) {
    const rows: AuditEntry[] = await store.auditAfter(filter, after, BATCH);
    yield rows;
    more = rows.length === BATCH;
    after = rows.at(-1)?.id ?? after;
  }
}

export const auditExport = endpoint('GET audit/export', {
  id: 'exportAudit',
  summary: 'Export the audit log',
  query: ExportQuery,
  description: `${VISIBLE} A line of JSON for each entry, oldest first; an answer that is cut is incomplete.`,
  answer: { description: 'All entries.', mediaType: 'application/x-ndjson', schema: Entry },
  async work(deps, ctx, asked) {
    const filter = await filterOf(deps, ctx, asked);
    await exportPages(ctx, {
      file: 'audit.ndjson',
      type: 'application/x-ndjson',
      head: '',
      write: inLines((row) => `${JSON.stringify(shownEntry(row), withoutNull)}\n`),
      pages: pagesOf(deps, filter),
      pace: deps.paceOf(callerOf(ctx).rootUserId),
    });
  },
});
