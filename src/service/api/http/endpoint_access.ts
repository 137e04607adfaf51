/**
 * Permissions of all endpoints. Endpoints are checked against these tables, OpenAPI and docs/permissions.md are
 * generated from them, and the tests call every row with every role.
 */
import { NAMED_ONLY, type Permission } from '../../../platform/store/permissions.ts';
import { ENDPOINT_ROWS, endpointPath, type EndpointPath } from '../../../media/tools/table.ts';
import { isAdmin, seesEveryone, type Caller } from '../../accounts/caller.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { callerOf, type Handler } from './request_context.ts';

// The two kinds of endpoints, and what each accepts.

/** Path prefix of the management endpoints; everything else belongs to the probe endpoints. */
export const BASE = '/frontend/api/v1';
export const isManagement = (path: string): boolean => path === BASE || path.startsWith(`${BASE}/`);

export type CredentialKind = 'token' | 'jwt';

export interface Side {
  security: 'gateway' | 'management';
  credentials: readonly CredentialKind[];
  /** Whether a POST or PUT without a body counts as one without fields. */
  emptyBody: boolean;
  /** Whether answers leave out fields without a value, in place of null. */
  leavesOut: boolean;
}

const GATEWAY: Side = { security: 'gateway', credentials: ['token'], emptyBody: false, leavesOut: false };
const MANAGEMENT: Side = {
  security: 'management',
  credentials: ['token', 'jwt'],
  emptyBody: true,
  leavesOut: true,
};

export const sideOf = (path: string): Side => (isManagement(path) ? MANAGEMENT : GATEWAY);

export interface Access {
  /**
   * `anyone`: no authentication. `caller`: any authenticated caller. `admin`: administrators only. `sender`: who has
   * the key of a source, or may write it.
   */
  who: 'anyone' | 'caller' | 'admin' | 'sender';
  /** Required in addition. */
  permission?: Permission;
}

const anyone: Access = { who: 'anyone' };
const authenticated: Access = { who: 'caller' };
const having = (permission: Permission): Access => ({ who: 'caller', permission });
const admin = (permission: Permission): Access => ({ who: 'admin', permission });

export const ACCESS = {
  'POST auth/sign-up': anyone,
  'POST auth/verify': anyone,
  'POST auth/sign-in': anyone,
  'POST auth/sign-in/link': anyone,
  'GET auth/sso': anyone,
  'GET auth/sso/:name': anyone,
  'GET auth/sso/:name/callback': anyone,
  'POST auth/sso/:name/device': anyone,
  'POST auth/sso/:name/token': anyone,
  'POST auth/reset': anyone,
  'POST auth/reset/confirm': anyone,
  'DELETE auth/sign-out': authenticated,
  'GET auth/session': authenticated,
  'DELETE auth/session': authenticated,
  'DELETE auth/session/:id': authenticated,
  'POST auth/jwt': authenticated,
  'PUT auth/current/password': authenticated,
  'PUT auth/:id/password': having('write:sub-user'),
  'GET auth/api-token': having('read:profile'),
  'POST auth/api-token': having('write:user'),
  'GET auth/api-token/:id': having('read:profile'),
  'PUT auth/api-token/:id': having('write:user'),
  'DELETE auth/api-token/:id': having('write:user'),
  'GET user': having('read:sub-user'),
  'GET user/current': having('read:profile'),
  'PUT user/current': having('write:user'),
  'POST user/current': having('write:sub-user'),
  'GET user/:id': having('read:user'),
  'PUT user/:id': having('write:user'),
  'POST user/:id': having('write:sub-user'),
  'DELETE user/:id': admin('write:admin'),
  'PUT user/:id/status': admin('write:admin'),
  'GET user/:id/limits': admin('read:admin'),
  'PUT user/:id/limits': admin('write:admin'),
  'GET user/:id/labels': admin('read:admin'),
  'PUT user/:id/labels': admin('write:admin'),
  'GET cluster': admin('read:admin'),
  'GET audit': having('read:audit'),
  'GET audit/export': having('read:audit'),
  'GET media/log': having('read:media'),
  'GET media/log/:id': having('read:media'),
  'DELETE media/log/:id': having('write:media'),
  'GET media/log/:id/report': having('read:media'),
  /** A link shows what its maker may read, to whoever has it. */
  'POST media/log/:id/link': having('read:media'),
  'GET media/link': having('read:media'),
  'DELETE media/link/:id': having('read:media'),
  'GET statistics/usage': having('read:statistics'),
  'GET statistics/queue': having('read:statistics'),
  'GET statistics/requests': having('read:statistics'),
  'GET statistics/sources': having('read:statistics'),
  'GET statistics/summary': having('read:statistics'),
  'GET statistics/chargeback': admin('read:admin'),
  'GET media/webhook': having('read:media'),
  'POST media/webhook/:id/retry': having('write:webhook'),
} as const satisfies Record<string, Access>;

const OF_TOOLS = Object.fromEntries(
  ENDPOINT_ROWS.map(endpointPath).flatMap((path) =>
    ['GET', 'POST'].map((method) => [`${method} ${path}`, having('write:media')]),
  ),
) as Record<`${'GET' | 'POST'} ${EndpointPath}`, Access>;

/** Probe endpoints: only API tokens may call them. */
export const PROBE_ACCESS = {
  'GET /v1/probe/file': having('write:media'),
  'POST /v1/probe/file': having('write:media'),
  'GET /v1/probe/qc': having('write:media'),
  'POST /v1/probe/qc': having('write:media'),
  ...OF_TOOLS,
  'GET /v1/probe/:id': having('read:media'),
  'POST /v1/probe/:id/cancel': having('write:media'),
  'GET /v1/probe/:id/timeline': having('read:media'),
  'GET /v1/probe/:id/pictures': having('read:media'),
  'POST /v1/batch': having('write:media'),
  'GET /v1/batch': having('read:media'),
  'GET /v1/batch/:id': having('read:media'),
  'GET /v1/batch/:id/items': having('read:media'),
  'GET /v1/batch/:id/results': having('read:media'),
  'GET /v1/batch/:id/diff': having('read:media'),
  'POST /v1/batch/:id/pause': having('write:media'),
  'POST /v1/batch/:id/resume': having('write:media'),
  'POST /v1/batch/:id/cancel': having('write:media'),
  'POST /v1/source': having('write:media'),
  'GET /v1/source': having('read:media'),
  'GET /v1/source/:id': having('read:media'),
  'DELETE /v1/source/:id': having('write:media'),
  'POST /v1/source/:id/pause': having('write:media'),
  'POST /v1/source/:id/resume': having('write:media'),
  'POST /v1/source/:id/list': having('write:media'),
  'POST /v1/source/:id/key': having('write:media'),
  'POST /v1/source/:id/events': { who: 'sender', permission: 'write:media' },
  'GET /v1/versions': having('read:media'),
  'GET /v1/samples': having('read:media'),
  'POST /v1/compare': having('write:media'),
  'POST /v1/compare/report': having('read:media'),
  'GET /v1/probe/:id/policy': having('read:media'),
  'GET /v1/policy': having('read:media'),
  // These must precede the paths with a policy name as a parameter.
  'GET /v1/policy/shared/:name': having('read:media'),
  'POST /v1/policy/shared/:name/evaluate': having('read:media'),
  'GET /v1/policy/:name': having('read:media'),
  'PUT /v1/policy/:name': having('write:policy'),
  'DELETE /v1/policy/:name': having('write:policy'),
  'POST /v1/policy/:name/evaluate': having('read:media'),
  'GET /v1/waivers': having('read:media'),
  'POST /v1/waivers': having('write:policy'),
  'DELETE /v1/waivers/:id': having('write:policy'),
  /** The secret in its address is the credential. */
  'GET /r/:secret': anyone,
  'GET /.well-known/oauth-protected-resource': anyone,
  'GET /.well-known/oauth-protected-resource/mcp': anyone,
  /** Its tools call other endpoints, which check their own permissions. */
  'POST /mcp': authenticated,
} as const satisfies Record<string, Access>;

/**
 * Each POST, PUT and DELETE of the management, policy and waiver endpoints leaves an entry in the audit log. These do
 * not, for the reason given. Requests of the other endpoints are in the log.
 */
export const UNAUDITED: Readonly<Record<string, string>> = {
  'POST auth/sign-up': 'anyone may call it, and is answered alike; the account begins with auth/verify',
  'POST auth/reset': 'anyone may call it, and is answered alike; the password changes by auth/reset/confirm',
  'POST auth/sso/:name/device': 'anyone may call it, and nothing is changed',
  'POST auth/sso/:name/token': 'it is asked again and again; the answer with a token leaves an entry',
  'POST /v1/policy/:name/evaluate': 'changes nothing',
  'POST /v1/policy/shared/:name/evaluate': 'changes nothing',
};

/** `path`: the complete one. */
export const leavesEntry = (name: string, path: string): boolean =>
  !name.startsWith('GET ') && (isManagement(path) || /^\/v1\/(?:policy|waivers)\b/.test(path)) && !(name in UNAUDITED);

/** Null: the call is allowed. */
export function refusal(access: Access, who: Pick<Caller, 'role' | 'permissions'>): string | null {
  if (access.who === 'admin' && !isAdmin(who)) return 'only administrators may call this';
  if (access.permission !== undefined && !who.permissions.includes(access.permission))
    return access.permission === NAMED_ONLY
      ? `missing permission: ${NAMED_ONLY}, which a new token has only if its permissions name it`
      : `missing permission: ${access.permission}`;
  return null;
}

export const permitted = (access: Access): Handler =>
  function checkPermission(ctx, next) {
    const refused = refusal(access, callerOf(ctx));
    if (refused !== null) throw new ApiError('no-permission', { text: refused });
    return next();
  };

/** Users whose data a caller sees: the caller and all accounts below. Null: everyone's. */
export const visibleUsers = async ({ store }: Pick<Deps, 'store'>, caller: Caller): Promise<number[] | null> =>
  seesEveryone(caller) ? null : store.usersUnder(caller.userId);
