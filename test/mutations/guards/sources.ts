import { without, type Guard } from '../guard.ts';

const guard = () => import('../../../src/source/address/guard.ts');
const ranges = () => import('../../../src/source/address/ranges.ts');
const redact = () => import('../../../src/source/address/redact.ts');
const GUARD = 'test/source/guard.test.ts';
const REDACT = 'test/source/redact.test.ts';

export const sources: readonly Guard[] = [
  without('private, local and reserved addresses are refused', GUARD, ranges, 'isPublic4', () => () => true),
  without('private, local and reserved IPv6 addresses are refused', GUARD, ranges, 'isPublic6', () => () => true),
  without('an IPv4 address inside an IPv6 one is checked', GUARD, ranges, 'embeddedIPv4', () => () => undefined),
  without(
    'redirects, playlists and parts are checked like the source',
    'test/source/proxy_guard.test.ts',
    guard,
    'makeGuard',
    (original) => (options) => original({ ...options, allow: [{ cidr: '0.0.0.0/0' }, { cidr: '::/0' }] }),
  ),
  without(
    'credentials go to the named authority alone',
    'test/source/proxy_credentials.test.ts',
    () => import('../../../src/source/address/target.ts'),
    'sameAuthority',
    () => () => true,
  ),
  without(
    'headers of a source cannot frame or forge a request',
    'test/source/proxy_headers.test.ts',
    () => import('../../../src/source/headers.ts'),
    'headersProblem',
    () => () => undefined,
  ),
  without(
    'a chunk of an uploaded file is opened in its own place alone',
    'test/source/upload.test.ts',
    () => import('../../../src/source/upload/chunks.ts'),
    'chunkCipher',
    () => () => ({
      seal: (plain: Buffer) => Buffer.concat([plain, Buffer.alloc(16)]),
      open: (stored: Buffer) => stored.subarray(0, -16),
    }),
  ),
  without(
    'a playlist leads nowhere but through the proxy',
    'test/source/playlist.test.ts',
    () => import('../../../src/source/playlist/mapping.ts'),
    'rewriteReference',
    () => (reference) => reference,
  ),
  without(
    'a credential among the parameters is a stand-in',
    'test/source/parameters.test.ts',
    () => import('../../../src/source/playlist/parameters.ts'),
    'isCredential',
    () => () => false,
  ),
  without('query values are hidden', REDACT, redact, 'redactUrl', () => (text) => text),
  without('secrets are struck out of what tools print', REDACT, redact, 'redactor', () => () => (text) => text),
  without(
    'a source is shown without its secrets',
    REDACT,
    redact,
    'displaySource',
    () =>
      ({ url }) =>
        url,
  ),
  without(
    'a sealed source opens for its own request and token',
    'test/seal/seal.test.ts',
    () => import('../../../src/platform/seal/seal.ts'),
    'openSealed',
    (original) => (sealed, _binding, keys) => {
      const header = Buffer.from(sealed.split('.')[0]!, 'base64url').toString();
      const { rid, tid } = JSON.parse(header) as { rid: string; tid: number };
      return original(sealed, { requestId: rid, tokenId: tid }, keys);
    },
  ),
  without(
    'a kept secret opens as what it was sealed for',
    'test/seal/box.test.ts',
    () => import('../../../src/platform/seal/box.ts'),
    'openBox',
    (original) => (sealed, _purpose, keys) => {
      const header = Buffer.from(sealed).toString('latin1').split('.')[0]!;
      const { for: purpose } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { for: string };
      return original(sealed, purpose, keys);
    },
  ),
];
