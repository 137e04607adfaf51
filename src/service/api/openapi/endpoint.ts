/** `GET /openapi.json`, and the same at `/frontend/api/v1/openapi.json`. Needs no authentication. */
import { createHash } from 'node:crypto';
import type { Handler } from '../http/context.ts';
import { methods } from '../http/middleware.ts';
import { openapiDocument } from './document.ts';
import type { Operation } from './operation.ts';

export function openapi(operations: readonly Operation[]): Handler[] {
  const text = JSON.stringify(openapiDocument(operations));
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  return [
    methods('GET', 'HEAD'),
    function answerDescription(ctx) {
      ctx.set('Cache-Control', 'no-cache');
      ctx.set('ETag', etag);
      ctx.type = 'application/json';
      ctx.status = 200;
      if (
        ctx
          .get('If-None-Match')
          .split(',')
          .some((tag) => tag.trim().replace(/^W\//, '') === etag)
      )
        ctx.status = 304;
      else ctx.body = text;
    },
  ];
}
