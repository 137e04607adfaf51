/** The report of a request as one HTML file, and the links that show it to others. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import Type, { type Static } from 'typebox';
import { shownName } from '../../../media/tools/table.ts';
import { withWaivers } from '../../../media/policy/evaluate.ts';
import type { LogDetail } from '../../../platform/store/log.ts';
import type { ReportLink } from '../../../platform/store/report_links.ts';
import { tokenSha256 } from '../../../platform/store/token_text.ts';
import { latestEnd } from '../../accounts/caller.ts';
import { addressesIn, readKeptRequest } from '../../result/kept_request.ts';
import { unpackResult } from '../../result/unpack.ts';
import type { Packed } from '../../result/inflate.ts';
import { verdictOf } from '../../result/verdict.ts';
import type { Deps } from '../deps.ts';
import { ApiError, credentialEnded, notFound } from '../errors.ts';
import { changesOf, note, secrets, withEntry } from '../http/audit.ts';
import { endpoint } from '../http/endpoint.ts';
import { visibleUsers } from '../http/endpoint_access.ts';
import { callerOf, type Context, paramOf, uuidOf } from '../http/request_context.ts';
import { closed, component, orNull, time, UUID } from '../http/request_fields.ts';
import { pageHeaders } from '../pages/page_routes.ts';
import { outputTexts, resultFor } from '../probe/stored_result.ts';
import { waivedChecks, waiversOf, withoutNames } from '../waivers/applied.ts';
import { html } from './html.ts';
import { type PageInput, titleOf } from './report_page.ts';

const STYLE = readFileSync(new URL('report_page.css', import.meta.url), 'utf8');
const POLICY = {
  'style-src': `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  'img-src': 'data:',
};
/** A file has no headers: the same policy stands in it. */
const IN_FILE = Object.entries({ 'default-src': `'none'`, ...POLICY }).map((parts) => parts.join(' '));

/** `body` is HTML already. No script runs in it, wherever it is opened. */
export function sendHtml(ctx: Context, title: string, body: string): void {
  ctx.set({ ...pageHeaders({ ...POLICY, sandbox: '' }), 'X-Robots-Tag': 'noindex, nofollow' });
  ctx.type = 'text/html; charset=utf-8';
  const head = html`<meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${IN_FILE.join('; ')}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="referrer" content="no-referrer" />
    <meta name="robots" content="noindex, nofollow" />
    <link rel="icon" href="data:," />
    <title>${title}</title>`.text;
  ctx.body = `<!doctype html><html lang="en"><head>${head}<style>${STYLE}</style></head><body>${body}</body></html>\n`;
}

/** Of all outputs together: what is longer is for a program. */
const MOST_BYTES = 4 * 1024 * 1024;

async function partsOf(packed: Packed) {
  const unpacked = await unpackResult(packed);
  const { result } = unpacked;
  const { tools, report, timeline, pictures, comparison } = result;
  const ofTool = (tool: string) => tools.find(({ name, format }) => name === tool && format === 'json')?.output;
  const found = {
    report: report?.output,
    hls: ofTool('msv'),
    c2pa: ofTool('c2pa'),
    qc: ofTool('qc'),
    pictures: pictures?.output,
    timeline: timeline?.output,
  };
  const outputs: Record<string, string | null> = comparison ? { comparison: comparison.output } : {};
  let left = MOST_BYTES;
  const wanted = Object.entries(found).flatMap(([name, output]) => {
    if (!output) return [];
    outputs[name] = null;
    if (output.to - output.from > left) return [];
    left -= output.to - output.from;
    return [{ name, output }];
  });
  wanted.sort((a, b) => a.output.from - b.output.from);
  const texts = await outputTexts(
    unpacked,
    packed,
    wanted.map(({ output }) => output),
  );
  for (const [at, { name }] of wanted.entries()) outputs[name] = texts[at]!;
  return { result, outputs: outputs as PageInput['outputs'] };
}

const goneOf = ({ display, hasBody }: LogDetail): string => {
  if (display === '') return 'what was kept of this request is deleted';
  return hasBody ? 'the result is no longer kept' : 'the request ended without a result';
};

/** `account`: who pays. */
async function sendReport(
  deps: Pick<Deps, 'store' | 'memory' | 'work'>,
  ctx: Context,
  row: LogDetail,
  { account, shared = null }: { account: number; shared?: PageInput['shared'] },
): Promise<void> {
  const { id, kind, state, error, display } = row;
  const stored = row.hasBody ? await resultFor(deps, ctx, row, partsOf, account) : null;
  const { result, outputs = {} } = stored?.value ?? {};
  const addresses = addressesIn(display);
  const asked = result && verdictOf(result, readKeptRequest(row).response.policy);
  const known = await waiversOf(deps, row, asked?.name ?? null);
  const waivers = shared ? withoutNames(known) : known;
  const verdict = asked && withWaivers(asked, waivers.rules);
  const policy =
    row.policy === 'skipped'
      ? null
      : { name: row.policyName, revision: row.policyRevision, outcome: row.policy, rules: [] };
  const tools = (result?.tools ?? []).map(({ name, side, ...tool }) => ({
    ...tool,
    name: side === undefined ? shownName(name) : `${shownName(name)} of ${side}`,
  }));
  const input: PageInput = {
    id,
    kind,
    state,
    error,
    addresses,
    outputs,
    shared,
    sent: row.submittedAt.toISOString(),
    ended: row.endedAt.toISOString(),
    tools: [...tools, ...(result?.report ? [result.report] : [])],
    policy: verdict ?? policy,
    waived: typeof outputs.qc === 'string' ? waivedChecks(outputs.qc, waivers) : [],
    gone: result ? null : goneOf(row),
  };
  sendHtml(ctx, titleOf(addresses), await deps.work.run('reportPage', input, { account, what: 'the report' }));
}

const ID = { id: Type.String({ format: 'uuid', description: 'The request id.' }) };
const HTML = { mediaType: 'text/html', schema: Type.String() };

export const reportOf = endpoint('GET media/log/:id/report', {
  id: 'readReport',
  summary: 'Read the report of a request as one HTML file',
  description:
    'To hand on and to print: the verdict, tracks, disagreements, HLS findings with their remedies, content ' +
    'checks, the timeline. ' +
    'The file needs nothing else: no script, no request elsewhere. It has no credentials: addresses are those of ' +
    'the log. Tables and drawings are bounded, and say how much more there is. Where the result has expired, the ' +
    'file says so.',
  params: ID,
  answer: { description: 'The report.', ...HTML },
  errors: { 404: 'The caller has no such request, or it has not ended.' },
  async work(deps, ctx) {
    const caller = callerOf(ctx);
    const row = await deps.store.readLog(uuidOf(ctx), (await visibleUsers(deps, caller)) ?? 'everyone');
    if (!row) throw notFound();
    ctx.set('Content-Disposition', `attachment; filename="report-${row.id}.html"`);
    await sendReport(deps, ctx, row, { account: caller.rootUserId });
  },
});

/** Of an account, over all its users. */
const MOST_LINKS = 100;
const HOUR_MS = 3_600_000;

const LINK = {
  id: Type.String({ format: 'uuid' }),
  request: Type.String({ format: 'uuid' }),
  'user-id': Type.Integer({ description: 'Who made it.' }),
  created: time(),
  expires: time(),
};
const MadeLink = component('MadeReportLink', {
  ...LINK,
  url: Type.String({ description: 'Its address, shown this once; without `publicUrl` the path of it.' }),
});
const ListedLink = component('ReportLink', LINK);

const shownLink = ({ id, requestId, userId, createdAt, expiresAt }: ReportLink): Static<typeof ListedLink> => ({
  id,
  request: requestId,
  'user-id': userId,
  created: createdAt.toISOString(),
  expires: expiresAt.toISOString(),
});

export const makeReportLink = endpoint('POST media/log/:id/link', {
  id: 'makeReportLink',
  summary: 'Make a link to the report of a request',
  description:
    'Whoever has the address reads the report without an account, until the link expires or is ended, or its ' +
    'maker may no longer read the request. Of the requests of the caller and their sub-users. A link that is made ' +
    'with an API token, or with a JWT from `auth/jwt`, ends with that credential. An account has at most ' +
    `${MOST_LINKS} links.`,
  params: ID,
  body: closed({
    hours: Type.Integer({ minimum: 1, maximum: 720, default: 168, description: 'How long it works, in hours.' }),
  }),
  also: [409],
  answer: { status: 201, description: 'The link.', schema: MadeLink },
  /** Administrators, too, share only what is of themselves and their sub-users. */
  async work(deps, ctx, { hours }) {
    const { store, accounts } = deps;
    const caller = callerOf(ctx);
    const { userId, signedIn, tokenId, sessionId } = caller;
    const row = await store.readLog(uuidOf(ctx), await store.usersUnder(userId));
    if (!row || row.display === '') throw notFound();
    const [id, secret, now] = [randomUUID(), randomBytes(32).toString('base64url'), Math.floor(store.clock.now())];
    const expiresAt = new Date(Math.min(now + hours * HOUR_MS, latestEnd(caller)?.getTime() ?? Infinity));
    const madeBy = signedIn ? { tokenId: null, sessionId: null } : { tokenId, sessionId };
    const link = { id, requestId: row.id, userId, createdAt: new Date(now), expiresAt };
    await withEntry(deps, ctx, async (calls) => {
      const outcome = await calls.makeReportLink({ ...link, madeBy, sha256: tokenSha256(secret) }, MOST_LINKS);
      if (outcome === 'maker-ended') throw credentialEnded();
      if (outcome === 'too-many') throw new ApiError('too-many-links');
      const made = { request: row.id, expires: expiresAt.toISOString() };
      note(ctx, { subject: `link/${id}`, changes: [...changesOf(null, made), ...secrets('shown', 'url')] });
    });
    const url = `${accounts.settings.publicUrl.replace(/\/$/, '')}/r/${secret}`;
    return { ...shownLink(link), url };
  },
});

export const listReportLinks = endpoint('GET media/link', {
  id: 'listReportLinks',
  summary: 'List links to reports',
  description: 'Those that work, of the caller and their sub-users, newest first; for administrators of everyone.',
  query: closed({
    request: orNull(Type.String({ pattern: UUID, default: null, description: 'Of this request.' })),
  }),
  answer: { description: 'The links.', schema: closed({ links: Type.Array(ListedLink) }) },
  async work(deps, ctx, asked) {
    const users = await visibleUsers(deps, callerOf(ctx));
    return { links: (await deps.store.listReportLinks(users, asked.request)).map(shownLink) };
  },
});

export const endReportLink = endpoint('DELETE media/link/:id', {
  id: 'endReportLink',
  summary: 'End a link to a report',
  params: { id: Type.String({ format: 'uuid', description: 'The id of the link.' }) },
  answer: { status: 204, description: 'It no longer works.' },
  async work(deps, ctx) {
    const users = await visibleUsers(deps, callerOf(ctx));
    await withEntry(deps, ctx, async (store) => {
      if (!(await store.endReportLink(uuidOf(ctx), users))) throw notFound();
    });
  },
});

// The report behind a link, for readers without an account.

/** Of all links of an account. Each costs up to 0.1 s of its pace. */
const READS_PER_MINUTE = 120;

/** Links that have expired, were ended, or never were look the same. */
const NO_LINK = html`<main>
  <h1>This link does not work</h1>
  <p>It has expired, was ended by the one who made it, or is not complete. Ask them for another one.</p>
</main>`.text;

async function linkedRequest({ store }: Deps, ctx: Context) {
  const link = await store.readReportLink(tokenSha256(paramOf(ctx, 'secret')));
  if (link?.maker.status !== 'active' || !link.maker.permissions.includes('read:media')) return null;
  const row = await store.readLog(link.requestId, await store.usersUnder(link.userId));
  return row && row.display !== '' ? { link, row } : null;
}

export const sharedReport = endpoint('GET /r/:secret', {
  id: 'readSharedReport',
  summary: 'Read the report behind a link',
  description: 'The page of `GET media/log/{id}/report`, with who shared it and until when. It needs no credential.',
  params: { secret: Type.String({ description: 'As in the address that was given when the link was made.' }) },
  input: 'ignored',
  answer: { description: 'The report.', ...HTML },
  answers: { 404: { description: 'The link has expired, was ended, or never was.', ...HTML } },
  async work(deps, ctx) {
    const found = await linkedRequest(deps, ctx);
    if (!found) {
      ctx.status = 404;
      return sendHtml(ctx, 'This link does not work', NO_LINK);
    }
    const { rootUserId: account, maker, expiresAt } = found.link;
    const { allowed, retryAfterMs } = await deps.store.takeRate('link', account, READS_PER_MINUTE);
    if (!allowed) throw new ApiError('rate-limited', { retryAfterS: retryAfterMs / 1000 });
    const shared = { by: maker.name, until: expiresAt.toISOString() };
    await sendReport(deps, ctx, found.row, { account, shared });
  },
});
