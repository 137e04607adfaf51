/**
 * The one way to the API: typed by its schemas, authenticated by the session cookie that no script can read. Probe
 * endpoints take an API token instead.
 */
import { failureOf, offline, unreadable, type Failure } from './failure.ts';
import {
  queryPairs,
  targetOf,
  type Answer,
  type Body,
  type CallName,
  type Params,
  type Query,
} from '../../api_calls.ts';

export interface Given<N extends CallName> {
  params?: Params;
  query?: Query<N>;
  body?: Body<N>;
  /** Instead of a body that is JSON. */
  text?: { type: string; content: string };
  /** The same call with the same key has the same answer: what is sent again does nothing twice. */
  idempotencyKey?: string;
  /** An API token or a JWT, instead of the cookie. */
  bearer?: string;
  signal?: AbortSignal | undefined;
}

let onSignedOut = (): void => {};
/** Who is told when the session has ended. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

export const signedOut = (): void => onSignedOut();

let changes = 0;
/** Moves on with each call that may change what others answer: when it is sent, and when it has ended. */
export const changesMade = (): number => changes;

export function isFailure(error: unknown): error is Failure {
  return typeof error === 'object' && error !== null && 'kind' in error;
}

function sentBody({ body, text }: { body?: unknown; text?: Given<CallName>['text'] }) {
  if (text) return { body: text.content, headers: { 'Content-Type': text.type } };
  return body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
}

/** What is empty in a form is not sent. */
export function queryOf(query: object): string {
  const pairs = queryPairs(query).filter(([, value]) => value !== '');
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

/** The response as it is, of whatever status. Throws a Failure where there is none; an abort is thrown as it is. */
export async function ask<N extends CallName>(
  name: N,
  given: Given<N> = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const { method, path } = targetOf(name, given.params);
  const sent = sentBody(given);
  const { bearer, idempotencyKey, signal = null } = given;
  if (method !== 'GET') changes += 1;
  try {
    return await fetch(`${path}${queryOf(given.query ?? {})}`, {
      method,
      credentials: bearer === undefined ? 'same-origin' : 'omit',
      cache: 'no-store',
      redirect: 'error',
      signal,
      ...sent,
      headers: {
        ...sent.headers,
        ...headers,
        ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
        ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }),
      },
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw offline();
  } finally {
    if (method !== 'GET') changes += 1;
  }
}

/** The response of a call that succeeded. Throws a Failure; an abort is thrown as it is. */
export async function answered<N extends CallName>(name: N, given: Given<N> = {}): Promise<Response> {
  const response = await ask(name, given);
  if (response.ok) return response;
  const failure = await failureOf(response);
  // A wrong password is a 401, too, and ends no session; nor does a token that has ended.
  if (failure.kind === 'signed-out' && given.bearer === undefined && name !== 'POST auth/sign-in') signedOut();
  throw failure;
}

/** What it answered. Throws as `answered` does. */
export async function call<N extends CallName>(name: N, given: Given<N> = {}): Promise<Answer<N>> {
  const response = await answered(name, given);
  if (response.status === 204) return undefined as Answer<N>;
  return response.json().catch((error: unknown) => {
    throw error instanceof SyntaxError ? unreadable() : given.signal?.aborted ? error : offline();
  }) as Promise<Answer<N>>;
}
