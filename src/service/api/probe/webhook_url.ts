/**
 * Parses the webhook address of a request: it follows the same rules as a source, and is checked before the request is
 * accepted.
 */
import { isSourceError } from '../../../source/error.ts';
import { parseSource } from '../../../source/address/parse.ts';
import type { Source } from '../../../source/source.ts';
import { ApiError, ERRORS, invalid } from '../errors.ts';
import { isRefusedLiteral, type SourceRules } from './source.ts';

const FIELD = 'webhook_url';

function parsed(text: string): Source {
  try {
    return parseSource(text);
  } catch (error) {
    // These messages never repeat a part of the address.
    if (isSourceError(error))
      throw invalid(
        FIELD,
        error.code === 'source-scheme' ? 'must begin with http:// or https://' : error.message.replace(/^url /, ''),
      );
    throw error;
  }
}

export function readWebhookUrl(method: string, text: string | null, rules: SourceRules): string | null {
  if (text === null) return null;
  if (method !== 'POST') throw invalid(FIELD, 'is accepted in a POST only');
  const address = parsed(text);
  if (address.scheme !== 'http' && address.scheme !== 'https')
    throw invalid(FIELD, 'must begin with http:// or https://');
  if (address.s3) throw invalid(FIELD, 'must not be an S3 address');
  if (isRefusedLiteral(address, rules))
    throw new ApiError('address-refused', { text: `${FIELD}: ${ERRORS['address-refused'].text}` });
  return text;
}
