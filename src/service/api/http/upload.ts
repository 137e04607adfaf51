/** Endpoints that take a file: it is removed with the response, unless its request goes on without the caller. */
import type { Deps } from '../deps.ts';
import { overQuota } from '../errors.ts';
import { refuseQuery } from './body.ts';
import { tokenOf, type Context, type Handler } from './context.ts';
import { withoutDeadline } from './http_server.ts';
import { takeRequestRate } from './rate.ts';
import { readForm } from './upload_form.ts';

export type ReadUpload = (otherwise: Handler, credentials: readonly string[]) => Handler;

type Parts = Pick<Deps, 'uploads' | 'store' | 'queueRoom' | 'paceOf' | 'log'>;

/** Refuses what would be refused after the last byte. Counts the call, and the request that it opens no second time. */
async function admit(deps: Parts, ctx: Context): Promise<void> {
  const { id: tokenId, userId, rootUserId, quotas } = tokenOf(ctx);
  deps.queueRoom.check(rootUserId);
  await takeRequestRate(deps, ctx);
  const exceeded = await deps.store.usedUpQuota({ tokenId, userId, quotas: { of: quotas, rootUserId } });
  if (exceeded !== null) throw overQuota(exceeded);
}

export const makeReadUpload = (deps: Parts): ReadUpload => {
  const { uploads, log } = deps;
  return (otherwise, credentials) =>
    async function readUpload(ctx, next) {
      if (!uploads || !ctx.request.is('multipart/form-data')) return otherwise(ctx, next);
      refuseQuery(ctx, credentials);
      const { rootUserId, limits } = tokenOf(ctx);
      await admit(deps, ctx);
      withoutDeadline(ctx.req);
      const { pairs, upload } = await readForm(ctx.req, {
        spool: uploads.spool,
        account: rootUserId,
        maxBytes: Math.min(uploads.maxBytes, limits.fileBytes),
        hashed: ctx.get('Idempotency-Key') !== '',
        pace: uploads.pace,
        charge: deps.paceOf(rootUserId),
      });
      ctx.state.input = { form: 'form', pairs };
      if (!upload) return next();
      ctx.state.upload = { ...upload, kept: false };
      try {
        return await next();
      } finally {
        if (!ctx.state.upload.kept)
          await upload.remove().catch((error: unknown) => log.warn({ err: error }, 'cannot remove an upload'));
      }
    };
};
