/**
 * Accounts for attacks: users at any depth with their tokens, made in the database, and calls to the management
 * endpoints.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { hashPassword } from '../../src/platform/store/password.ts';
import type { Cluster } from '../cluster/fixture.ts';

export const PASSWORD = 'correct horse battery';

export interface Person {
  id: number;
  email: string;
  token: string;
}
export interface Called {
  status: number;
  text: string;
  json: Record<string, unknown>;
  headers: Headers;
}
interface Wanted {
  role?: 'admin' | 'user' | 'sub';
  parent?: Person;
  without?: readonly string[];
  requestsPerMinute?: number;
  password?: boolean;
  /** For pages that people look at. */
  email?: string;
}

export interface People {
  make(wanted?: Wanted): Promise<Person>;
  call(
    method: string,
    path: string,
    options?: { token?: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<Called>;
  /** Revokes their tokens, and suspends them. */
  close(): Promise<void>;
}

export function people(c: Cluster): People {
  const made: number[] = [];
  const text = (value: string) => `'${value.replaceAll("'", "''")}'`;
  return {
    async make({
      role = 'user',
      parent,
      without = [],
      requestsPerMinute,
      password = false,
      email = `test-${randomUUID()}@example.invalid`,
    } = {}) {
      const token = randomBytes(32).toString('hex');
      const sha = createHash('sha256').update(token).digest('hex');
      const id = Number(
        await c.sql(
          `with u as (
           insert into users (email, status, role, parent_id, permissions, requests_per_minute, password_hash)
           select ${text(email)}, 'active', '${role}', ${parent?.id ?? 'null'},
             array(select p from unnest(d.permissions) p where p <> all
             (array[${without.map(text).join(',')}]::text[])),
             ${requestsPerMinute ?? 'null'}, ${password ? text(await hashPassword(PASSWORD)) : 'null'}
           from users d join tokens t on t.user_id = d.id where t.is_default returning id)
         insert into tokens (user_id, name, sha256) select id, 'test',
         decode('${sha}', 'hex') from u returning user_id`,
        ),
      );
      made.push(id);
      return { id, email, token };
    },
    async call(method, path, { token, body, headers = {} } = {}) {
      const response = await fetch(`${c.url}/frontend/api/v1/${path}`, {
        method,
        headers: {
          'content-type': 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
        signal: AbortSignal.timeout(30_000),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const answer = await response.text();
      let json: Record<string, unknown> = {};
      try {
        json = JSON.parse(answer) as Record<string, unknown>;
      } catch {
        // An empty response or a page of a proxy. The text is returned.
      }
      return { status: response.status, text: answer, json, headers: response.headers };
    },
    async close() {
      if (made.length === 0) return;
      const ids = made.join(',');
      await c.sql(
        `update tokens set revoked_at = now() where user_id in (${ids}); ` +
          `update users set status = 'suspended' where id in (${ids})`,
      );
    },
  };
}
