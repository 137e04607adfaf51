/** `GET auth/session`: the caller's sessions. */
import Type from 'typebox';
import { callerOf, type Context } from '../../http/context.ts';
import type { Deps } from '../../deps.ts';
import { endpoint } from '../../http/endpoint.ts';
import { checkedBy } from '../../http/read_input.ts';

const UA_TYPES = ['browser', 'mobile', 'cli', 'other'] as const;
const Query = Type.Object(
  { 'include-expired': Type.Boolean({ default: false, description: 'Include sessions that ended within 30 days.' }) },
  { additionalProperties: false },
);
const Session = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    created: Type.String({ format: 'date-time' }),
    expire: Type.String({ format: 'date-time' }),
    'remote-ip': Type.String(),
    'ua-type': Type.Unsafe<(typeof UA_TYPES)[number]>({ type: 'string', enum: [...UA_TYPES] }),
    'user-agent': Type.String(),
  },
  { additionalProperties: false, title: 'Session' },
);
const Answer = Type.Object({ sessions: Type.Array(Session) }, { additionalProperties: false });

function uaType(userAgent: string): (typeof UA_TYPES)[number] {
  if (/Mobile|Android|iPhone|iPad/.test(userAgent)) return 'mobile';
  if (userAgent.startsWith('Mozilla/')) return 'browser';
  return /^(curl|Wget|HTTPie|python|Go-http|node|okhttp|axios)/i.test(userAgent) ? 'cli' : 'other';
}

async function listSessions({ store }: Deps, ctx: Context): Promise<void> {
  const found = await store.listSessions(callerOf(ctx).userId, {
    includeExpired: checkedBy(Query, ctx)['include-expired'],
  });
  ctx.body = {
    sessions: found.map(({ id, createdAt, expiresAt, remoteIp, userAgent }) => ({
      id,
      created: createdAt.toISOString(),
      expire: expiresAt.toISOString(),
      'remote-ip': remoteIp,
      'ua-type': uaType(userAgent),
      'user-agent': userAgent,
    })),
  };
}

export const sessions = endpoint(
  'GET auth/session',
  {
    id: 'listSessions',
    tag: 'auth',
    summary: 'List your sessions',
    query: Query,
    answer: { description: 'Sessions, newest first.', schema: Answer },
  },
  listSessions,
);
