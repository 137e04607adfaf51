/** Endpoints that take a file: it is removed with the response, unless its request goes on without the caller. */
import type { Deps } from '../deps.ts';
import { refuseQuery } from './body.ts';
import { tokenOf, type Handler } from './context.ts';
import { withoutDeadline } from './http_server.ts';
import { readForm } from './upload_form.ts';

export type ReadUpload = (otherwise: Handler, credentials: readonly string[]) => Handler;

export const makeReadUpload =
  ({ uploads, log }: Pick<Deps, 'uploads' | 'log'>): ReadUpload =>
  (otherwise, credentials) =>
    async function readUpload(ctx, next) {
      if (!uploads || !ctx.request.is('multipart/form-data')) return otherwise(ctx, next);
      refuseQuery(ctx, credentials);
      const { rootUserId, limits } = tokenOf(ctx);
      withoutDeadline(ctx.req);
      const { pairs, upload } = await readForm(ctx.req, {
        spool: uploads.spool,
        account: rootUserId,
        maxBytes: Math.min(uploads.maxBytes, limits.fileBytes),
        hashed: ctx.get('Idempotency-Key') !== '',
        pace: uploads.pace,
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
