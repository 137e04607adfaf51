/** Placeholder for a secret. */
export const HIDDEN = 'REDACTED';

/** An address without its fragment and without the values of its query. */
export function hideQuery(url: string): string {
  const at = url.indexOf('?');
  if (at === -1) return url;
  const query = url.slice(at + 1).split('#')[0]!;
  return `${url.slice(0, at)}?${query.split('&').map(hideValue).join('&')}`;
}

function hideValue(pair: string): string {
  const at = pair.indexOf('=');
  if (at !== -1) return `${pair.slice(0, at)}=${HIDDEN}`;
  // A query without names is a single value.
  return pair === '' ? '' : HIDDEN;
}
