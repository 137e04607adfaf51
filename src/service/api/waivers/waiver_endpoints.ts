/** Waivers: findings of content checks, and rules of policies, that an account accepts. Make, list and revoke them. */
import Type, { type Static } from 'typebox';
import { MOST_WAIVERS } from '../../../base/limits.ts';
import { nearest } from '../../../base/nearest.ts';
import { hideQuery } from '../../../base/hide_query.ts';
import { LONGEST_NAME } from '../../../media/policy/limits.ts';
import type { Policy } from '../../../media/policy/schema.ts';
import { isTimed, WAIVABLE } from '../../../media/qc/words.ts';
import type { NewWaiver, Waiver } from '../../../platform/store/waivers.ts';
import type { Deps } from '../deps.ts';
import { ApiError, invalid, orNotFound } from '../errors.ts';
import { changesOf, note, secrets, withEntry } from '../http/audit.ts';
import { endpoint } from '../http/endpoint.ts';
import { LOWERED_TO, shown } from '../http/input/read_fields.ts';
import { type Context, tokenOf, uuidOf } from '../http/request_context.ts';
import {
  closed,
  component,
  flag,
  NEWEST,
  nonEmpty,
  optionalChoice,
  optionalText,
  optionalWhole,
  orNull,
  pageOfNewest,
  PLAIN,
  time,
  UUID,
} from '../http/request_fields.ts';
import { findNamed, MAX_SHARED_NAME, unknownPolicy } from '../policies/asked_policy.ts';
import { sourceRules } from '../probe/probe_request.ts';
import { readSource } from '../probe/request_source.ts';
import { TIME, timeOf } from '../records/query_filters.ts';
import { sourceSha256, withoutQuery } from './applied.ts';

const MOST_SOURCE = 2_048;
const MOST_REASON = 500;
const MOST_DAYS = 400;
const DAY_MS = 86_400_000;

const seconds = (description: string) => orNull(Type.Number({ minimum: 0, maximum: 1e9, default: null, description }));

const WaiverBody = closed({
  source: optionalText(
    MOST_SOURCE,
    'The address of the source. Its query does not count. With `rule`: only of this source; else of all.',
  ),
  request_id: orNull(
    Type.String({ pattern: UUID, default: null, description: 'In place of `source`: that of this request.' }),
  ),
  check: optionalChoice(WAIVABLE, 'The content check whose finding is waived; or give `policy` and `rule`.'),
  stream: optionalWhole(0, 9_999, 'With `check`: the index of the stream.'),
  from: seconds('With a check that finds passages: the start of the range in seconds.'),
  to: seconds('The end of the range. A passage that lies within the range, by half a second, is waived.'),
  policy: optionalText(
    MAX_SHARED_NAME,
    'The name of a policy: `house-x`, `shared/web-mp4`. It judges by any revision.',
  ),
  rule: optionalText(LONGEST_NAME, 'The name of a rule of `policy`.'),
  reason: nonEmpty(MOST_REASON, 'Why it is accepted. It stands in answers and in the audit log.', { pattern: PLAIN }),
  until: Type.String({ pattern: TIME, description: `RFC 3339, or a date; at most ${MOST_DAYS} days from now.` }),
});
type Body = Static<typeof WaiverBody>;

const WaiverSchema = component('Waiver', {
  id: Type.String({ format: 'uuid' }),
  source: orNull(Type.String({ description: 'Without its query; null: of all sources that the policy judges.' })),
  check: optionalChoice(WAIVABLE, 'Null: it is of a rule.'),
  stream: orNull(Type.Integer()),
  from: orNull(Type.Number({ description: 'In seconds; null: the check has no times.' })),
  to: orNull(Type.Number()),
  policy: orNull(Type.String({ description: 'Null: it is of a check.' })),
  rule: orNull(Type.String()),
  reason: Type.String(),
  by: orNull(Type.String({ description: 'Who made it; null: an erased user.' })),
  user_id: Type.Integer(),
  created_at: time(),
  until: time(),
  revoked_at: orNull(time('Null: nobody revoked it.')),
});

const shownWaiver = ({ userId, createdAt, until, revokedAt, check, ...rest }: Waiver): Static<typeof WaiverSchema> => ({
  ...rest,
  check: check as Static<typeof WaiverSchema>['check'],
  user_id: userId,
  created_at: createdAt.toISOString(),
  until: until.toISOString(),
  revoked_at: revokedAt?.toISOString() ?? null,
});

// Making one.

type Fingerprint = Pick<Body, 'check' | 'stream' | 'from' | 'to' | 'policy' | 'rule'>;

function noneOf(fields: Readonly<Record<string, unknown>>, beside: string): void {
  for (const [field, value] of Object.entries(fields))
    if (value !== null) throw invalid(field, `has no effect with ${beside}`);
}

function checkedRange({ check, from, to }: Fingerprint): void {
  if (check === null) return;
  if (!isTimed(check)) return noneOf({ from, to }, `check ${check}: its findings have no times`);
  if (from === null) throw invalid('from', `is required with check ${check}`);
  if (to === null) throw invalid('to', `is required with check ${check}`);
  if (to < from) throw invalid('to', 'must not be before from');
}

async function checkedRule({ store }: Deps, account: number, policy: string, rule: string): Promise<void> {
  const found = await findNamed(store, policy, account);
  if (!found) throw invalid('policy', `"${shown(policy)}" ${await unknownPolicy(store, policy, account)}`);
  const names = (JSON.parse(found.document) as Policy).rules.map(({ name }) => name);
  if (names.includes(rule)) return;
  const near = nearest(rule, names);
  throw invalid('rule', `"${shown(rule)}" is not in the policy${near === undefined ? '' : `; did you mean ${near}?`}`);
}

async function fingerprintOf(deps: Deps, account: number, body: Body, source: string | null): Promise<Fingerprint> {
  const { check, stream, from, to, policy, rule } = body;
  const fingerprint = { check, stream, from, to, policy, rule };
  if ((check === null) === (rule === null))
    throw new ApiError('invalid-field', { text: 'exactly one of check and rule is required' });
  if (rule !== null) {
    noneOf({ stream, from, to }, 'rule');
    if (policy === null) throw invalid('policy', 'is required with rule');
    await checkedRule(deps, account, policy, rule);
    return fingerprint;
  }
  noneOf({ policy }, 'check');
  if (source === null) throw invalid('source', 'is required with check, or request_id');
  if (stream === null) throw invalid('stream', 'is required with check');
  checkedRange(fingerprint);
  return fingerprint;
}

/** As the log shows it: a file that was sent has its name alone. */
async function sourceOf(deps: Deps, ctx: Context, { source, request_id: id }: Body): Promise<string | null> {
  const token = tokenOf(ctx);
  if (id !== null) {
    noneOf({ source }, 'request_id');
    const record = await deps.store.readRequest(id.toLowerCase(), { userId: token.userId });
    if (!record || record.display === '') throw invalid('request_id', 'is not a request of the caller on record');
    if (record.display.includes('\n')) throw invalid('request_id', 'must be a request of one source');
    const shownSource = withoutQuery(record.display);
    if (shownSource.length > MOST_SOURCE) throw invalid('request_id', `has an address over ${MOST_SOURCE} characters`);
    return shownSource;
  }
  return source === null
    ? null
    : withoutQuery(hideQuery(readSource(source, sourceRules(deps.settings, token), 'source').url));
}

/** Without the source, which no entry of the audit log has. */
const entryOf = ({ check, stream, from, to, policy, rule, reason, until }: Waiver) => ({
  policy,
  rule,
  check,
  stream,
  from,
  to,
  reason,
  until: until.toISOString(),
});

const film = 'https://media.example.com/film.mp4';

export const makeWaiver = endpoint('POST /v1/waivers', {
  id: 'makeWaiver',
  summary: 'Waive a finding',
  description:
    'Accepts a finding of content checks in a source, or that a rule of a policy does not hold, until a time. ' +
    'Answers and results that are read back show it as waived while the waiver is in force; reports and the log ' +
    `stay as they were. All users of an account share its waivers; it has at most ${MOST_WAIVERS} in force.`,
  body: WaiverBody,
  bodyExamples: {
    check: {
      summary: 'A black passage',
      value: {
        source: film,
        check: 'black',
        stream: 0,
        from: 0,
        to: 12.5,
        reason: 'Slate, agreed with the distributor',
        until: '2027-01-31',
      },
    },
    rule: {
      summary: 'A rule of a policy, for all sources',
      value: { policy: 'shared/web-mp4', rule: 'container', reason: 'Archive material', until: '2027-01-31' },
    },
  },
  also: [409],
  answer: { status: 201, description: 'The waiver.', schema: WaiverSchema },
  async work(deps, ctx, body) {
    const { rootUserId, userId } = tokenOf(ctx);
    const { id, submittedAt } = deps.store.newRequest();
    const until = timeOf(body.until, 'until');
    if (until <= submittedAt) throw invalid('until', 'must be in the future');
    if (until.getTime() - submittedAt.getTime() > MOST_DAYS * DAY_MS)
      throw invalid('until', `must be at most ${MOST_DAYS} days from now`);
    const source = await sourceOf(deps, ctx, body);
    const waiver: NewWaiver = {
      id,
      account: rootUserId,
      userId,
      source,
      sourceSha256: source === null ? null : sourceSha256(source),
      ...(await fingerprintOf(deps, rootUserId, body, source)),
      reason: body.reason,
      createdAt: submittedAt,
      until,
    };
    const made = await withEntry(deps, ctx, async (store) => {
      const stored = await store.makeWaiver(waiver, MOST_WAIVERS);
      if (!stored) throw new ApiError('too-many-waivers');
      const changes = [...changesOf(null, entryOf(stored)), ...(source === null ? [] : secrets('changed', 'source'))];
      note(ctx, { subject: `waiver/${id}`, changes });
      return stored;
    });
    return shownWaiver(made);
  },
});

// Listing and revoking them.

export const listWaivers = endpoint('GET /v1/waivers', {
  id: 'listWaivers',
  summary: 'List waivers',
  description:
    "Those of the caller's account, the newest first. Of those that have ended, the newest " +
    `${MOST_WAIVERS} are kept.`,
  query: closed({
    ended: flag(false, 'Also those that were revoked, or whose time is over.'),
    limit: Type.Integer({ minimum: 1, default: 100, [LOWERED_TO]: 1000, description: 'Rows; at most 1,000.' }),
    before: NEWEST.before,
  }),
  answer: {
    description: 'A page of waivers.',
    schema: closed({ waivers: Type.Array(WaiverSchema), next: orNull(Type.String({ format: 'uuid' })) }),
  },
  async work({ store }, ctx, { ended, limit, before }) {
    const found = await store.listWaivers(tokenOf(ctx).rootUserId, { ended, before, limit: limit + 1 });
    const { rows, next } = pageOfNewest(found, limit);
    return { waivers: rows.map(shownWaiver), next };
  },
});

export const revokeWaiver = endpoint('DELETE /v1/waivers/:id', {
  id: 'revokeWaiver',
  summary: 'Revoke a waiver',
  params: { id: Type.String({ format: 'uuid', description: 'The id of the waiver.' }) },
  answer: { description: 'It is no longer in force.' },
  async work(deps, ctx) {
    await withEntry(deps, ctx, async (store) => {
      const revoked = orNotFound(await store.revokeWaiver(tokenOf(ctx).rootUserId, uuidOf(ctx)));
      note(ctx, { changes: changesOf(entryOf(revoked), null) });
    });
  },
});
