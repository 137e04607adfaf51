/** The report behind a link, for readers without an account. */
import Type from 'typebox';
import { tokenSha256 } from '../../../platform/store/token_text.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { type Context, paramOf } from '../http/request_context.ts';
import { html } from './html.ts';
import { sendHtml, sendReport } from './report_endpoints.ts';

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

async function read(deps: Deps, ctx: Context): Promise<void> {
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
}

const HTML = { mediaType: 'text/html', schema: Type.String() };

export const sharedReport = endpoint(
  'GET /r/:secret',
  {
    id: 'readSharedReport',
    summary: 'Read the report behind a link',
    description: 'The page of `GET media/log/{id}/report`, with who shared it and until when. It needs no credential.',
    params: { secret: Type.String({ description: 'As in the address that was given when the link was made.' }) },
    input: 'ignored',
    answer: { description: 'The report.', ...HTML },
    answers: { 404: { description: 'The link has expired, was ended, or never was.', ...HTML } },
  },
  read,
);
