/** Calls of the API, typed by its schemas: what each takes and answers, and where it is sent. */
import type { Calls } from './api_types.ts';

const MANAGEMENT = '/frontend/api/v1/';

export type CallName = keyof Calls;
type Part<N extends CallName, P extends string> = P extends keyof Calls[N] ? Calls[N][P] : undefined;
/** What is undefined is not sent. */
type Sent<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof T]: object extends Pick<T, K> ? Sent<T[K]> | undefined : Sent<T[K]> }
    : T;
export type Body<N extends CallName> = Sent<Part<N, 'body'>>;
export type Query<N extends CallName> = Sent<Part<N, 'query'>>;
export type Answer<N extends CallName> = Calls[N]['answer'];

/** `params`: parts of the path, by their names. */
export type Params = Readonly<Record<string, string | number>>;

/** Management calls are named by their last part, all others by their whole path. */
export function targetOf(name: CallName, params: Params = {}): { method: string; path: string } {
  const [method, pattern] = name.split(' ') as [string, string];
  const path = `${pattern.startsWith('/') ? '' : MANAGEMENT}${pattern}`;
  return { method, path: path.replaceAll(/:(\w+)/g, (_, part: string) => encodeURIComponent(params[part] ?? '')) };
}

/** A query as the API reads it: objects in brackets, lists by repetition. */
export function queryPairs(query: object): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  function add(name: string, value: unknown): void {
    if (value === undefined || value === null) return;
    if (Array.isArray(value)) for (const one of value) add(name, one);
    else if (typeof value === 'object') for (const [key, one] of Object.entries(value)) add(`${name}[${key}]`, one);
    else pairs.push([name, String(value as string | number | boolean)]);
  }
  for (const [name, value] of Object.entries(query)) add(name, value);
  return pairs;
}
