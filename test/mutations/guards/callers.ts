/** Who may call, how often, and what is read of a call: credentials, permissions, limits, bodies. contract 1, 2, 6, 7. */
import type { Mutation } from '../mutation.ts';

const CREDENTIALS = 'test/api/management/credentials.test.ts';
const MADE = 'test/api/management/made_credentials.test.ts';
const ROLES = 'test/api/management/roles.test.ts';
const TOKENS = 'test/api/management/tokens.test.ts';
const ACCOUNTS = 'test/api/management/accounts.test.ts';
const REFUSED = 'test/api/refused.test.ts';
const HOSTILE = 'test/api/hostile_bodies.test.ts';
const QUOTA = 'test/store/quota.test.ts';
const REQUESTS = 'test/store/requests.test.ts';
const READ = 'test/api/input/read.test.ts';

export const callers: readonly Mutation[] = [
  { guard: 'a JWT is signed by one algorithm', file: 'src/accounts/jwt.ts', from: 'algorithms: [ALGORITHM], ', to: '', test: CREDENTIALS, grep: 'JWTs that are not ours' },
  { guard: 'a JWT is verified by a key of ours', file: 'src/accounts/jwt.ts', from: "if (!key) throw new errors.JWKSNoMatchingKey();", to: "if (!key) return JSON.parse(Buffer.from(jwt.split('.')[0]!, 'base64url').toString()).jwk;", test: CREDENTIALS, grep: 'JWTs that are not ours' },
  { guard: 'a JWT of a mail opens no session', file: 'src/accounts/jwt.ts', from: 'issuer: await issuer(), audience, requiredClaims', to: 'issuer: await issuer(), requiredClaims', test: CREDENTIALS, grep: 'JWTs that are not ours' },
  { guard: 'a JWT of another installation is none', file: 'src/accounts/jwt.ts', from: 'issuer: await issuer(), audience, requiredClaims', to: 'audience, requiredClaims', test: CREDENTIALS, grep: 'JWTs that are not ours' },
  { guard: 'a JWT without an end is none', file: 'src/accounts/jwt.ts', from: "requiredClaims: ['exp', ", to: 'requiredClaims: [', test: CREDENTIALS, grep: 'JWTs that are not ours' },
  { guard: 'a session that was ended is no session', file: 'src/accounts/accounts.ts', from: 'if (!caller) return null;\n      const { userStatus', to: "if (!caller) return { userId: claims.userId, rootUserId: claims.userId, role: 'user', status: 'active', permissions: [], by: 'jwt', tokenId: null, sessionId: claims.id, expiresAt: null, signedIn: true };\n      const { userStatus", test: CREDENTIALS, grep: 'sessions: listed' },
  { guard: 'the first credential present decides', file: 'src/api/management/authenticate.ts', from: "return { kind: 'jwt', value, from: 'header' };\n    throw bad();", to: "return { kind: 'jwt', value, from: 'header' };", test: CREDENTIALS, grep: 'the first present decides' },
  { guard: 'the cookie is out of reach of scripts', file: 'src/api/management/cookie.ts', from: 'HttpOnly; SameSite=Lax', to: 'SameSite=Lax', test: CREDENTIALS, grep: 'the cookie: out of reach' },
  { guard: 'a cookie that another host of the domain planted does not win', file: 'src/api/management/authenticate.ts', from: "cookieValue(ctx.get('Cookie'), HOST_COOKIE) ?? ", to: '', test: CREDENTIALS, grep: 'a planted cookie' },
  { guard: 'a change with the cookie comes from this site', file: 'src/api/management/same_site.ts', from: 'if (changes && (ctx.state.byCookie', to: 'if (false && (ctx.state.byCookie', test: CREDENTIALS, grep: 'changes with the cookie' },
  { guard: 'a JWT that was made by a token may no more than the token', file: 'src/accounts/session.ts', from: 'permissions: within?.permissions ?? null', to: 'permissions: null', test: CREDENTIALS, grep: 'no more and no longer than the token' },
  { guard: 'a JWT ends with the token that made it, rotated too', file: 'src/store/migrations/0046_made_credentials_end.sql', from: 'update sessions set ended_at = now() where token_id = any(ended) and ended_at is null;', to: '', test: MADE, grep: 'all that was made with it' },
  { guard: 'a token ends with the session whose JWT made it', file: 'src/store/migrations/0046_made_credentials_end.sql', from: 'where made_in = any(ended) and revoked_at is null', to: 'where false', test: MADE, grep: 'takes along what its JWT made' },
  { guard: 'a credential that ends makes none that ends later', file: 'src/api/management/tokens/fields.ts', from: 'if (latest !== null && (end', to: 'if (false && (end', test: MADE, grep: 'makes no token that ends later' },
  { guard: 'a credential that ends is shown none that ends later', file: 'src/accounts/authority.ts', from: 'return latest === null || (expiresAt', to: 'return true || (expiresAt', test: MADE, grep: 'is shown and rotates' },
  { guard: 'an expired token is none, on the management side', file: 'src/api/management/authenticate.ts', from: 'record.expiresAt.getTime() <= deps.store.clock.now()', to: 'false', test: TOKENS, grep: 'revoked, rotated, expired' },
  { guard: 'an expired token is none, at the gateway', file: 'src/api/auth.ts', from: '|| record.expiresAt.getTime() > now);', to: '|| true);', test: REFUSED, grep: 'whose token has expired' },
  { guard: 'an account that is not active calls nothing, at the gateway', file: 'src/api/auth.ts', from: "if (record.userStatus !== 'active') throw", to: 'if (false) throw', test: REFUSED, grep: 'whose account is suspended' },
  { guard: 'an account that is not active calls nothing, on the management side', file: 'src/api/management/authenticate.ts', from: "if (caller.status !== 'active') throw", to: 'if (false) throw', test: ROLES, grep: 'suspended and pending accounts' },
  { guard: 'the probe endpoints need their permission', file: 'src/api/auth.ts', from: 'if (!record.permissions.includes(permission)) throw', to: 'if (false) throw', test: REFUSED, grep: 'without the permission' },
  { guard: 'a revoked token is forgotten at once', file: 'src/api/token_cache.ts', from: 'if (entry) entry.at = STALE;', to: '', test: 'test/api/token_cache.test.ts' },
  { guard: 'an address that sends unknown tokens has a limit', file: 'src/api/guess_limit.ts', from: 'if (waitMs > 0) throw', to: 'if (false) throw', test: 'test/api/guess_limit.test.ts' },
  { guard: 'an answer that was on its way when a token changed is not kept', file: 'src/api/token_cache.ts', from: 'if (asked === generation) keep', to: 'if (true) keep', test: 'test/api/token_cache.test.ts' },
  { guard: 'the table decides who is let in', file: 'src/api/management/permitted.ts', from: 'if (refused !== null) throw', to: 'if (false) throw', test: ROLES, grep: 'is let in where the table says so' },
  { guard: 'a line of the table: erasing a user is for administrators', file: 'src/api/management/access.ts', from: "'DELETE user/:id': admin('write:admin')", to: "'DELETE user/:id': caller", test: ROLES, grep: 'stands in docs/permissions.md' },
  { guard: 'what belongs to another is 404', file: 'src/api/management/users/find.ts', from: 'seesEveryone(caller) ? null : caller.userId', to: 'null', test: ROLES, grep: 'is not there' },
  { guard: 'filters by what belongs to another are 404', file: 'src/api/management/owners.ts', from: 'if (userIds.some(mayNot) || known.length', to: 'if (known.length', test: ROLES, grep: 'filters by what is another' },
  { guard: 'a token of another is 404', file: 'src/api/management/tokens/find.ts', from: 'seesEveryone(caller) ? null : caller.userId', to: 'null', test: ROLES, grep: 'is not there' },
  { guard: 'a request of another is 404', file: 'src/store/requests.ts', from: 'const where = `id = $1 and ($2::bigint is null or user_id = $2 or', to: 'const where = `id = $1 and ($2::bigint is null or true or user_id = $2 or', test: 'test/api/probe_read.test.ts', grep: 'is for the own requests only' },
  { guard: 'only the root user changes administrators', file: 'src/accounts/authority.ts', from: "return caller.role === 'root' || (target.role !== 'root' && target.role !== 'admin');", to: 'return true;', test: ROLES, grep: 'only the root user changes administrators' },
  { guard: 'an administrator sets no limits of the root user, nor of another administrator', file: 'src/api/management/users/find.ts', from: 'const user = await findOwn(deps, ctx, caller);\n  if (user.id', to: 'const user = await findSeen(deps, ctx, caller);\n  if (user.id', test: ROLES, grep: 'limits: an administrator' },
  { guard: 'nobody but the root user sets their own limits', file: 'src/api/management/users/find.ts', from: "caller.role !== 'root') throw", to: 'false) throw', test: ROLES, grep: 'limits: an administrator' },
  { guard: 'nobody gives what he does not have', file: 'src/accounts/authority.ts', from: '!caller.permissions.includes(name) || ', to: '', test: 'test/accounts/authority.test.ts' },
  { guard: 'a narrowed token reaches no wider one', file: 'src/accounts/authority.ts', from: 'return may.every((name) => caller.permissions.includes(name));', to: 'return true;', test: TOKENS, grep: 'a narrowed token' },
  { guard: 'an administrator by a narrowed token is a user', file: 'src/accounts/caller.ts', from: "isAdmin(caller) && caller.permissions.includes('read:admin')", to: 'isAdmin(caller)', test: ROLES, grep: 'by a token without the permissions' },
  { guard: 'a token narrows what its user has, and never widens it', file: 'src/store/limits.ts', from: 'Math.min(token[key] ?? base, base)', to: 'token[key] ?? base', test: 'test/store/tokens.test.ts', grep: 'limits of a token' },
  { guard: 'a sub-user has no permission that an account above lacks', file: 'src/store/limits.ts', from: ' && above.every((may) => may.includes(name))', to: '', test: 'test/store/tokens.test.ts', grep: 'permissions' },
  { guard: 'limits of every account above hold', file: 'src/store/limits.ts', from: '[user, ...above].flatMap', to: '[user].flatMap', test: 'test/store/chain.test.ts', grep: 'concurrency' },
  { guard: 'a quota counts everyone below its user', file: 'src/store/migrations/0043_quota_chain.sql', from: "or parent_ids @> array[(quota->>'user')::bigint]", to: '', test: 'test/store/chain.test.ts', grep: 'monthly quota' },
  { guard: 'wrong passwords are counted', file: 'src/api/management/auth/sign_in.ts', from: "await attempts.take('password:network', network);", to: '', test: ACCOUNTS, grep: 'too many wrong passwords' },
  { guard: 'a caller has one limit for a /64 of IPv6', file: 'src/accounts/networks.ts', from: "address.kind() === 'ipv4' ? v4Bits : 64;", to: "address.kind() === 'ipv4' ? v4Bits : 128;", test: 'test/accounts/networks.test.ts' },
  { guard: 'a mark of a browser is bound to the password', file: 'src/accounts/known_browsers.ts', from: 'update(passwordHash)', to: "update('')", test: 'test/api/management/attempts.test.ts', grep: 'of before the password' },
  { guard: 'an unknown address takes as long as a wrong password', file: 'src/accounts/passwords.ts', from: 'await verifyPassword(password, hash ?? await dummy)', to: '(hash !== null && await verifyPassword(password, hash))', test: 'test/accounts/passwords.test.ts' },
  { guard: 'a code of a mail counts once', file: 'src/store/account_codes.ts', from: "purpose = 'reset' and used_at is null and", to: "purpose = 'reset' and", test: ACCOUNTS, grep: 'accounts by mail' },
  { guard: 'mails go nowhere without TLS', file: 'src/accounts/mailer.ts', from: "requireTLS: settings.tls === 'starttls'", to: 'requireTLS: false', test: ACCOUNTS, grep: 'goes nowhere without TLS' },
  { guard: 'the rate of a token holds over all replicas', file: 'src/store/migrations/0003_requests.sql', from: "where greatest(r.tat, clock_timestamp()) + step <= clock_timestamp() + interval '1 minute'\n", to: '\n', test: REQUESTS, grep: 'lets a minute' },
  { guard: 'refused calls count, too', file: 'src/api/count_refused.ts', from: 'throw taken.allowed ? error : rateLimited(taken.retryAfterMs);', to: 'throw error;', test: REFUSED, grep: 'calls over the rate of a token' },
  { guard: 'management has a rate of its own', file: 'src/api/management/rate.ts', from: 'if (!taken.allowed) throw', to: 'if (false) throw', test: TOKENS, grep: 'more than 600 calls' },
  { guard: 'a quota that is used up refuses', file: 'src/store/migrations/0032_quota.sql', from: "if exceeded is null then return; end if;\n  outcome", to: "return;\n  outcome", test: QUOTA, grep: 'running requests count' },
  { guard: 'near a quota requests are counted one after the other', file: 'src/store/migrations/0032_quota.sql', from: "perform pg_advisory_xact_lock(hashtext('probeyard.quota'), hashint8(p_root));", to: '', test: QUOTA, grep: 'of forty at once' },
  { guard: 'running requests count for a quota', file: 'src/store/migrations/0032_quota.sql', from: "requests := requests + (select count(*) from requests r", to: "requests := requests + (select 0 * count(*) from requests r", test: QUOTA, grep: 'running requests count' },
  { guard: 'an idempotency key means one endpoint and one body', file: 'src/api/idempotency.ts', from: 'update(`${endpoint}\\n${canonical(request)}`)', to: 'update(endpoint)', test: 'test/api/probe_file.test.ts', grep: 'with an Idempotency-Key' },
  { guard: 'a queue that is full refuses early', file: 'src/api/queue_room.ts', from: "throw new GatewayError(429, 'queue-full'", to: "void new GatewayError(429, 'queue-full'", test: 'test/api/outcomes/replicas.test.ts', grep: 'refuse early' },
  { guard: 'a body is at most a megabyte', file: 'src/api/body.ts', from: 'textLimit: MAX_BYTES,', to: "textLimit: '50mb',", test: REFUSED, grep: 'bodies' },
  { guard: 'a name that stands twice in JSON is refused', file: 'src/api/body.ts', from: 'if (twice !== undefined) throw', to: 'if (false) throw', test: HOSTILE },
  { guard: 'text that is no UTF-8 is refused', file: 'src/api/body.ts', from: "{ fatal: true }", to: '{}', test: HOSTILE },
  { guard: 'a field that nobody knows is refused', file: 'src/api/schema/probe_file.ts', from: '  { additionalProperties: false },', to: '  {},', test: READ },
  { guard: 'a field of a form that stands twice is refused', file: 'src/api/input/nested.ts', from: "if (present !== undefined) throw invalid(shown(outer), 'is given more than once');", to: '', test: READ },
  { guard: 'a text that cannot be kept is refused', file: 'src/api/input/check.ts', from: 'if (place) throw', to: 'if (false) throw', test: 'test/api/input/texts.test.ts', grep: 'every text field' },
  { guard: 'a form has only so many fields', file: 'src/api/input/pairs.ts', from: 'if (pairs.length >= MAX_PAIRS) throw', to: 'if (false) throw', test: READ },
  { guard: 'no name of a field is a prototype', file: 'src/api/input/nested.ts', from: 'const out = Object.create(null) as Nested;', to: 'const out = {} as Nested;', test: READ },
  { guard: 'what is too large is lowered to what is offered', file: 'src/api/input/check.ts', from: 'if (value > limit) (at', to: 'if (false) (at', test: READ },
  { guard: 'an error of ours says nothing of the inside', file: 'src/api/error_handler.ts', from: '?? inside(message, error);', to: "?? new GatewayError(500, 'internal', message);", test: 'test/api/error_handler.test.ts', grep: '500' },
  { guard: 'an error of the framework keeps its status', file: 'src/api/error_handler.ts', from: 'return frameworkError(error) ?? ', to: 'return ', test: 'test/api/error_handler.test.ts', grep: 'keeps it' },
  { guard: 'a part that is away is 503', file: 'src/api/error_handler.ts', from: 'if (isAway(error)) return', to: 'if (false) return', test: 'test/api/error_handler.test.ts', grep: '503 with Retry-After' },
  { guard: 'an answer leads to no other site', file: 'src/api/management/fields.ts', from: '/^\\/(?![/\\\\])[^\\\\]*$/.test(url)', to: 'true', test: TOKENS, grep: 'headers that are set from input' },
  { guard: 'what an API keeps sealed is bound to the token', file: 'src/accounts/make_token.ts', from: "await box.seal(token, 'token', id)", to: "await box.seal(token, 'token', 0)", test: TOKENS, grep: 'made with a name' },
  { guard: 'of outputs in other formats a browser runs nothing', file: 'src/api/answer.ts', from: "if (made.contentType !== JSON_TYPE) ctx.set", to: 'if (false) ctx.set', test: 'test/api/outcomes/outcomes.test.ts', grep: 'which no browser runs' },
];
