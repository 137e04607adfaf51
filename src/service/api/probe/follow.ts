/**
 * Follows an open request to its end: creates the job, notifies the leader and waits for the end, unless the wait is
 * aborted.
 */
import type { Ended } from '../../../platform/bus/messages.ts';
import { TEXTS } from '../../result/texts.ts';
import { cancel } from './cancel.ts';
import type { Context } from '../http/context.ts';
import { createOrEnd } from './create_job.ts';
import type { Deps } from '../deps.ts';
import { recordOwnEnd } from './own_end.ts';
import type { OpenedRequest } from './open.ts';
import type { ProbeRequest } from './request.ts';
import { ApiError } from '../errors.ts';

type Why = 'hung-up' | 'overdue' | 'drained';
class Stopped extends Error {
  readonly why: Why;
  constructor(why: Why) {
    super(`the wait ended: ${why}`);
    this.why = why;
  }
}

const OVERDUE = { status: 500, reason: 'DeadlineExceeded', error: TEXTS.DeadlineExceeded } as const;

/** The end of a request whose caller waits in `ctx`. */
export async function follow(
  deps: Deps,
  ctx: Context,
  request: OpenedRequest,
  limits: ProbeRequest['limits'],
): Promise<Ended> {
  const { drain, waiting, settings } = deps;
  const stop = new AbortController();
  const hungUp = (): void => stop.abort(new Stopped('hung-up'));
  const drained = (): void => stop.abort(new Stopped('drained'));
  const overdue = setTimeout(
    () => stop.abort(new Stopped('overdue')),
    limits.queueTimeoutMs + limits.timeoutMs + settings.graceMs,
  );
  ctx.res.once('close', hungUp);
  drain.over.addEventListener('abort', drained);
  if (drain.over.aborted) drained();
  else if (ctx.res.closed || (ctx.req.destroyed && !ctx.req.complete)) hungUp();

  let creating: Promise<Ended | null> = Promise.resolve(null);
  try {
    const end = waiting.wait(request.id, stop.signal);
    // The promise that loses the race below must not be an unhandled rejection.
    end.catch(() => {});
    if (stop.signal.aborted) return await end;
    if (!request.job) {
      // Its notice goes to the first caller, and may already have been sent.
      void waiting.lookNow();
      return await end;
    }
    deps.tellEarly({ job: request.id, namespace: settings.namespace, spec: request.job.spec });
    creating = createOrEnd(deps, request, request.job, { withinMs: limits.queueTimeoutMs, signal: stop.signal });
    // A create without a response may still have created the job: then the job's end counts.
    return await Promise.race([end, creating.then((own) => own ?? end)]);
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    return await stopped(deps, request, error.why, creating);
  } finally {
    clearTimeout(overdue);
    ctx.res.off('close', hungUp);
    drain.over.removeEventListener('abort', drained);
  }
}

async function stopped(deps: Deps, request: OpenedRequest, why: Why, creating: Promise<unknown>): Promise<Ended> {
  const mine = request.job !== null;
  switch (why) {
    case 'drained':
      throw new ApiError('draining', {
        text: `this server is shutting down; read the result at /v1/probe/${request.id}`,
      });
    case 'hung-up':
      // During a shutdown the replica closes connections, so a disconnect is not the caller's wish.
      if (mine && !deps.drain.started) {
        await creating.catch(() => {});
        await cancel(deps, request);
      }
      throw new ApiError('hung-up');
    case 'overdue': {
      if (!mine) throw new ApiError('ended', { text: OVERDUE.error, detail: OVERDUE.reason, reason: OVERDUE.reason });
      const end = await recordOwnEnd(deps.store, request, OVERDUE);
      if (end.reason === OVERDUE.reason && !end.hasBody) await cancel(deps, request);
      return end;
    }
  }
}
