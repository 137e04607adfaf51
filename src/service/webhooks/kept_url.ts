/**
 * The stored address of a webhook. One with user info is sealed and bound to its request. Its displayable form precedes
 * it in plain text, so lists need no key. No address begins with the prefix, because it is no scheme.
 */
import type { Box } from '../accounts/box.ts';
import { parseSource } from '../../source/address/parse.ts';
import { redactUrl } from '../../source/address/redact.ts';

const PREFIX = 'sealed+';

export async function keptUrl(url: string, requestId: string, box: Pick<Box, 'seal'>): Promise<string> {
  if (parseSource(url).credentials === undefined) return url;
  const sealed = await box.seal(url, 'webhook-url', requestId);
  return `${PREFIX}${redactUrl(url)}#${sealed.toString('latin1')}`;
}

const isSealed = (kept: string): boolean => kept.startsWith(PREFIX);

export const openUrl = async (kept: string, requestId: string, box: Pick<Box, 'open'>): Promise<string> =>
  isSealed(kept) ? box.open(Buffer.from(kept.slice(kept.indexOf('#') + 1), 'latin1'), 'webhook-url', requestId) : kept;

export const shownUrl = (kept: string): string =>
  redactUrl(isSealed(kept) ? kept.slice(PREFIX.length, kept.indexOf('#')) : kept);
