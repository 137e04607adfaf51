import { without, type Guard } from '../guard.ts';

const authority = () => import('../../../src/service/accounts/authority.ts');
const AUTHORITY = 'test/accounts/authority.test.ts';
const CREDENTIALS = 'test/api/accounts/credentials.test.ts';

export const callers: readonly Guard[] = [
  without(
    'an endpoint needs its permission',
    'test/api/accounts/roles.test.ts',
    () => import('../../../src/service/api/http/endpoint_access.ts'),
    'refusal',
    () => () => null,
  ),
  without('a caller changes nobody above them', AUTHORITY, authority, 'mayChange', () => () => true),
  without('nobody gives a permission that they do not have', AUTHORITY, authority, 'notToGive', () => () => undefined),
  without('a narrowed credential gets no wider one', AUTHORITY, authority, 'reachesNoFurther', () => () => true),
  without(
    'a credential gets none that ends later',
    'test/api/accounts/made_credentials.test.ts',
    authority,
    'endsNoLater',
    () => () => true,
  ),
  without(
    'another site changes nothing with the cookie',
    CREDENTIALS,
    () => import('../../../src/service/api/http/middleware.ts'),
    'sameSite',
    () => () => (_ctx, next) => next(),
  ),
  without(
    'a JWT is verified by a key of ours',
    CREDENTIALS,
    () => import('../../../src/service/accounts/jwt.ts'),
    'makeJwts',
    (original) => (settings) => ({
      ...original(settings),
      verify: (_audience, text) => {
        const body = JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString()) as Record<
          string,
          string
        >;
        return Promise.resolve({ id: body['jti']!, userId: Number(body['sub']) });
      },
    }),
  ),
  without(
    'attempts are limited',
    'test/api/accounts/attempts.test.ts',
    () => import('../../../src/service/accounts/attempts.ts'),
    'makeAttempts',
    (original) =>
      (...given) => ({ ...original(...given), take: () => Promise.resolve() }),
  ),
  without(
    'a sub-user has no permission that an account above lacks',
    'test/store/tokens.test.ts',
    () => import('../../../src/platform/store/limits.ts'),
    'effectivePermissions',
    () => (_token, user) => user,
  ),
  without(
    'a literal address that is refused is told at once',
    'test/api/hostile_urls.test.ts',
    () => import('../../../src/service/api/probe/request_source.ts'),
    'readSource',
    (original) => (text, rules) =>
      original(text, { ...rules, allow: [{ cidr: '0.0.0.0/0' }, { cidr: '::/0' }], deny: [] }),
  ),
];
