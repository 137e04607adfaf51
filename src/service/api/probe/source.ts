/**
 * Parses a source, and rejects immediately what can never be fetched. Host names are checked later, when the socket is
 * opened.
 */
import { isIP } from 'node:net';
import { isSourceError } from '../../../source/error.ts';
import { makeGuard } from '../../../source/address/guard.ts';
import { parseSource } from '../../../source/address/parse.ts';
import { originUrl, placeOf } from '../../../source/protocols/table.ts';
import type { Source } from '../../../source/source.ts';
import type { SourceException } from '../../../base/source_settings.ts';
import { ApiError, ERRORS } from '../errors.ts';

export interface SourceRules {
  allow: readonly SourceException[];
  deny: readonly string[];
  s3Hosts?: readonly string[];
}

export function isRefusedLiteral(source: Source, rules: SourceRules): boolean {
  const { host, port } = placeOf(originUrl(source));
  return (
    isIP(host) !== 0 && makeGuard({ allow: rules.allow, denyExtra: rules.deny }).check(host, port, host) === 'refused'
  );
}

/** `field`: its name in errors. */
export function readSource(text: string, rules: SourceRules, field = 'url'): Source {
  let source: Source;
  try {
    source = parseSource(text, { s3Hosts: rules.s3Hosts ?? [] });
  } catch (error) {
    // These messages never repeat a part of the address.
    if (isSourceError(error))
      throw new ApiError('invalid-source', {
        text: error.message.startsWith('url') ? error.message.replace(/^url/, field) : `${field}: ${error.message}`,
      });
    throw error;
  }
  if (isRefusedLiteral(source, rules)) {
    throw new ApiError('address-refused', { text: `${field}: ${ERRORS['address-refused'].text}` });
  }
  return source;
}
