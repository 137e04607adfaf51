/** The address holds every state of a page: its path below /app, and its query. */
import { makeCell, useCell } from './cell.ts';

const BASE = '/app';

export interface Place {
  path: string;
  query: URLSearchParams;
  /** What stands behind #: never sent to the server. */
  hash: string;
}

const read = (): Place => ({
  path: location.pathname.slice(BASE.length).replace(/\/+$/, '') || '/',
  query: new URLSearchParams(location.search),
  hash: location.hash.slice(1),
});

const place = makeCell<Place>(read());

export const usePlace = (): Place => useCell(place);
export const placeNow = (): Place => place.get();

export const hrefOf = (path: string, query?: URLSearchParams): string => {
  const text = query?.toString() ?? '';
  return `${BASE}${path}${text === '' ? '' : `?${text}`}`;
};

/** `replace`: what was typed into a filter is one step back, not one for each letter. */
export function go(path: string, query?: URLSearchParams, replace = false): void {
  const address = hrefOf(path, query);
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  place.set(read());
}

/** The query with some values changed; null and '' take a name out, and a list stands as one value each. */
export function changed(query: URLSearchParams, change: Record<string, string | string[] | null>): URLSearchParams {
  const out = new URLSearchParams(query);
  for (const [name, value] of Object.entries(change)) {
    out.delete(name);
    for (const one of [value].flat()) if (one !== null && one !== '') out.append(name, one);
  }
  return out;
}

/** The address of the same page with some values changed. */
export function hrefWith(change: Parameters<typeof changed>[1]): string {
  const { path, query } = placeNow();
  return hrefOf(path, changed(query, change));
}

/** The same page, with some values of its address changed. */
export function goWith(change: Parameters<typeof changed>[1], replace = true): void {
  const { path, query } = placeNow();
  go(path, changed(query, change), replace);
}

/** `/requests/:id` against `/requests/7` is `{id: '7'}`. */
export function match(pattern: string, path: string): Record<string, string> | null {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    if (!part.startsWith(':')) {
      if (part !== given[index]) return null;
      continue;
    }
    try {
      params[part.slice(1)] = decodeURIComponent(given[index]!);
    } catch {
      return null;
    }
  }
  return params;
}

/** Links are plain links; those that lead to a page of the console load nothing. */
function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = (event.target as Element).closest('a');
  if (!link || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (!link.pathname.startsWith(`${BASE}/`) || link.getAttribute('href')?.startsWith('#')) return;
  event.preventDefault();
  go(link.pathname.slice(BASE.length), new URLSearchParams(link.search));
}

export function startRouter(): void {
  addEventListener('popstate', () => place.set(read()));
  addEventListener('hashchange', () => place.set(read()));
  document.addEventListener('click', followLink);
}
