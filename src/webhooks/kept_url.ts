/**
 * The address of a webhook as the record keeps it. One with user info is sealed, and bound to its request; what may be
 * shown stands in clear before it, so that lists need no key. Its scheme does not exist, so that a replica of the
 * version before fails the attempt, and sends it nowhere.
 */
import type { Box } from '../accounts/box.ts';
import { parseSource } from '../source/address/parse.ts';
import { redactUrl } from '../source/address/redact.ts';

const PREFIX = 'sealed+';

export async function keptUrl(url: string, requestId: string, box: Pick<Box, 'seal'>): Promise<string> {
  if (parseSource(url).credentials === undefined) return url;
  const sealed = await box.seal(url, 'webhook-url', requestId);
  return `${PREFIX}${redactUrl(url)}#${sealed.toString('latin1')}`;
}

const isSealed = (kept: string): boolean => kept.startsWith(PREFIX);

/** Addresses that are kept in clear, with user info by the version before, open as they are. */
export const openUrl = async (kept: string, requestId: string, box: Pick<Box, 'open'>): Promise<string> =>
  isSealed(kept) ? box.open(Buffer.from(kept.slice(kept.indexOf('#') + 1), 'latin1'), 'webhook-url', requestId) : kept;

export const shownUrl = (kept: string): string =>
  redactUrl(isSealed(kept) ? kept.slice(PREFIX.length, kept.indexOf('#')) : kept);
