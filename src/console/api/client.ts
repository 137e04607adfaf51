/**
 * The one way to the API: typed by its schemas, authenticated by the session cookie that no script can read. Probe
 * endpoints take an API token instead.
 */
import { failureOf, offline, unreadable, type Failure } from './failure.ts';
import { query } from './query.ts';
import type { Calls } from '../../api_types.ts';

const BASE = '/frontend/api/v1/';

export type CallName = keyof Calls;
type Part<N extends CallName, P extends string> = P extends keyof Calls[N] ? Calls[N][P] : undefined;

export interface Given<N extends CallName> {
  /** Parts of the path, by their names. */
  params?: Record<string, string | number>;
  query?: Part<N, 'query'>;
  body?: Part<N, 'body'>;
  /** Instead of a body that is JSON. */
  text?: { type: string; content: string };
  /** An API token or a JWT, instead of the cookie. */
  bearer?: string;
  signal?: AbortSignal | undefined;
}
export type Answer<N extends CallName> = Calls[N]['answer'];

type OnSignedOut = () => void;
let onSignedOut: OnSignedOut = () => {};
/** Who is told when the session has ended. */
export function whenSignedOut(listener: OnSignedOut): void {
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

/** Management calls are named by their last part, all others by their whole path. */
const addressOf = (pattern: string, params: Given<CallName>['params'] = {}): string =>
  `${pattern.startsWith('/') ? '' : BASE}${pattern}`.replaceAll(/:(\w+)/g, (_, part: string) =>
    encodeURIComponent(params[part] ?? ''),
  );

/** The response as it is, of whatever status. Throws a Failure where there is none; an abort is thrown as it is. */
export async function ask<N extends CallName>(
  name: N,
  given: Given<N> = {},
  headers: Record<string, string> = {},
): Promise<Response> {
  const [method, pattern] = name.split(' ') as [string, string];
  const sent = sentBody(given);
  const { bearer, signal = null } = given;
  if (method !== 'GET') changes += 1;
  try {
    return await fetch(`${addressOf(pattern, given.params)}${query(given.query ?? {})}`, {
      method,
      credentials: bearer === undefined ? 'same-origin' : 'omit',
      cache: 'no-store',
      redirect: 'error',
      signal,
      ...sent,
      headers: {
        ...sent.headers,
        ...headers,
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

/** Throws a Failure; an abort is thrown as it is. */
export async function call<N extends CallName>(name: N, given: Given<N> = {}): Promise<Answer<N>> {
  const response = await ask(name, given);
  if (!response.ok) {
    const failure = await failureOf(response);
    // A wrong password is a 401, too, and ends no session; nor does a token that has ended.
    if (failure.kind === 'signed-out' && given.bearer === undefined && name !== 'POST auth/sign-in') signedOut();
    throw failure;
  }
  if (response.status === 204) return undefined as Answer<N>;
  return response.json().catch((error: unknown) => {
    throw error instanceof SyntaxError ? unreadable() : given.signal?.aborted ? error : offline();
  }) as Promise<Answer<N>>;
}
