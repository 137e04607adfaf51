/** A request from its sending to its end, by the calls that any program with a token can make. */
import { asToken } from '../api/gateway.ts';
import { ask, call, isFailure } from '../api/client.ts';
import { failureOf, type Failure } from '../api/failure.ts';
import type { Accepted, Standing } from '../../api_types.ts';
import type { Body } from './form.ts';

/** Answered at once with the id of the request. */
export async function send(body: Body, bearer: string): Promise<string> {
  const sending = async (): Promise<string> => {
    const text = { type: 'application/json', content: JSON.stringify(body) };
    const response = await ask('POST /v1/probe/file', { bearer, text }, { Prefer: 'respond-async' });
    if (!response.ok) throw await failureOf(response);
    const { metadata } = (await response.json()) as Accepted;
    return metadata.request_id;
  };
  return asToken(sending());
}

/** How a request stands; `failure`: it ended, and not with a result. */
export type Followed = { standing: Standing } | { ended: true; failure: Failure | null };

/** Ended requests are in the log; a refusal to say anything is not an end. */
async function hasEnded(id: string): Promise<boolean> {
  const { log } = await call('GET media/log', { query: { request: id } });
  return log.length > 0;
}

export async function follow(id: string, bearer: string, signal: AbortSignal): Promise<Followed> {
  const response = await ask('GET /v1/probe/:id', { params: { id }, bearer, signal });
  if (response.status === 202) return { standing: (await response.json()) as Standing };
  if (response.ok) {
    // The page of the request reads the result, and not by this token.
    await response.body?.cancel();
    return { ended: true, failure: null };
  }
  const failure = await failureOf(response);
  if (response.status === 401) return asToken(Promise.reject(failure));
  if (await hasEnded(id)) return { ended: true, failure };
  throw failure;
}

/** It may have ended meanwhile: then there is nothing to cancel. */
export async function cancel(id: string, bearer: string): Promise<void> {
  try {
    await asToken(call('POST /v1/probe/:id/cancel', { params: { id }, bearer }));
  } catch (error) {
    if (!isFailure(error) || error.status !== 409) throw error;
  }
}

/** At first a request moves within moments; later a look each two seconds is enough. */
export const pauseAfter = (looks: number): number => Math.min(2_000, 250 * 1.5 ** Math.min(looks, 10));
