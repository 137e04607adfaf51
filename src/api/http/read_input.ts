/** Reads and checks the input by the endpoint's schema: the query of GET and DELETE, the body of POST and PUT. */
import type { Static, TSchema } from 'typebox';
import { makeReadBody, queryPairs } from './body.ts';
import type { Context, Handler } from './context.ts';
import { makeReader } from './input/read.ts';
import type { Side } from './side.ts';
import type { ReadUpload } from './upload.ts';

const hasBody = (ctx: Context): boolean => (ctx.request.length ?? 0) > 0 || ctx.get('Transfer-Encoding') !== '';

/** The checked input is in `ctx.state.checked`; `checkedBy` returns it with its type. */
/** `readUpload`: for an endpoint that takes a file in a multipart form. */
export function readInput(schema: TSchema, { credentials, emptyBody }: Side, readUpload?: ReadUpload): Handler[] {
  const readBody = readUpload?.(makeReadBody(credentials), credentials) ?? makeReadBody(credentials);
  const read = makeReader<unknown>(schema);
  const receive: Handler = function receiveInput(ctx, next) {
    if (ctx.method === 'GET' || ctx.method === 'DELETE')
      ctx.state.input = { form: 'query', pairs: queryPairs(ctx, credentials) };
    else if (emptyBody && !hasBody(ctx)) ctx.state.input = { form: 'json', value: {} };
    else return readBody(ctx, next);
    return next();
  };
  const check: Handler = function checkInput(ctx, next) {
    ctx.state.checked = read(ctx.state.input!);
    return next();
  };
  return [receive, check];
}

export const checkedBy = <T extends TSchema>(_schema: T, ctx: Context): Static<T> => ctx.state.checked as Static<T>;
