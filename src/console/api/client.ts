/** The one way to the API: typed by its schemas, authenticated by the session cookie that no script can read. */
import { failureOf, offline, type Failure } from './failure.ts';
import { query } from './query.ts';
import type { Calls } from './types.ts';

const BASE = '/frontend/api/v1/';

export type CallName = keyof Calls;
type Part<N extends CallName, P extends string> = P extends keyof Calls[N] ? Calls[N][P] : undefined;

export interface Given<N extends CallName> {
  /** Parts of the path, by their names. */
  params?: Record<string, string | number>;
  query?: Part<N, 'query'>;
  body?: Part<N, 'body'>;
  signal?: AbortSignal;
}
export type Answer<N extends CallName> = Calls[N]['answer'];

type OnSignedOut = () => void;
let onSignedOut: OnSignedOut = () => {};
/** Who is told when the session has ended. */
export function whenSignedOut(listener: OnSignedOut): void {
  onSignedOut = listener;
}

export const signedOut = (): void => onSignedOut();

export function isFailure(error: unknown): error is Failure {
  return typeof error === 'object' && error !== null && 'kind' in error;
}

/** Throws a Failure; an abort is thrown as it is. */
export async function call<N extends CallName>(name: N, given: Given<N> = {}): Promise<Answer<N>> {
  const [method, pattern] = name.split(' ') as [string, string];
  const path = pattern.replaceAll(/:(\w+)/g, (_, part: string) => encodeURIComponent(given.params?.[part] ?? ''));
  let response: Response;
  try {
    response = await fetch(`${BASE}${path}${query(given.query ?? {})}`, {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      signal: given.signal ?? null,
      ...(given.body === undefined
        ? {}
        : { body: JSON.stringify(given.body), headers: { 'Content-Type': 'application/json' } }),
    });
  } catch (error) {
    if (given.signal?.aborted) throw error;
    throw offline();
  }
  if (!response.ok) {
    const failure = await failureOf(response);
    // A wrong password is a 401, too, and ends no session.
    if (failure.kind === 'signed-out' && name !== 'POST auth/sign-in') signedOut();
    throw failure;
  }
  return (response.status === 204 ? undefined : await response.json()) as Answer<N>;
}
