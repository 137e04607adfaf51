/** Limits, permissions and status that a user gets from every account above, by token and by session, at any depth. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import type { TokenRecord } from '../../src/platform/store/records.ts';
import { anOpenInput, type StoreFixture, startStore } from './fixture.ts';

const ALL = ['read:media', 'read:statistics', 'write:media', 'write:sub-user'];

interface Person {
  id: number;
  tokenId: number;
}

describe('store: a user four accounts deep', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  /** A root user, their sub-user, the sub-user of that one, and so on. */
  let chain: [Person, Person, Person, Person];

  const make = async (parent: Person | null): Promise<Person> => {
    const [user] = await fixture.sql<{ id: string }>(
      `insert into users (email, status, role, parent_id, permissions) values ($1, 'active', $2, $3, $4) returning id`,
      [`${randomUUID()}@example.org`, parent ? 'sub' : 'user', parent?.id ?? null, ALL],
    );
    const [token] = await fixture.sql<{ id: string }>(
      'insert into tokens (user_id, sha256) values ($1, $2) returning id',
      [user!.id, randomBytes(32)],
    );
    return { id: Number(user!.id), tokenId: Number(token!.id) };
  };
  const give = (person: Person, column: string, value: unknown) =>
    fixture.sql(`update users set ${column} = $2 where id = $1`, [person.id, value]);
  const recordOf = async (person: Person): Promise<TokenRecord> =>
    (await fixture.store.tokenLimits([person.tokenId])).get(person.tokenId)!;
  const callerOf = async (person: Person) => {
    const id = randomUUID();
    const expiresAt = new Date(Date.now() + 60_000);
    await fixture.store.openSession({
      id,
      userId: person.id,
      tokenId: null,
      parentId: null,
      permissions: null,
      remoteIp: '',
      userAgent: '',
      expiresAt,
    });
    return fixture.store.sessionCaller(id, person.id);
  };

  before(async () => {
    fixture = await startStore();
  });
  after(() => fixture.close());
  beforeEach(async () => {
    const top = await make(null);
    const second = await make(top);
    const third = await make(second);
    chain = [top, second, third, await make(third)];
  });

  const COLUMNS = [
    ['requests_per_minute', 'requestsPerMinute', 3],
    ['concurrency', 'concurrency', 2],
    ['queue_timeout_ms', 'queueTimeoutMs', 1000],
    ['file_bytes', 'fileBytes', 99],
  ] as const;
  for (const [column, key, value] of COLUMNS) {
    for (const at of [0, 1, 2, 3] as const) {
      it(`${column}: the limit of account ${at} applies to all accounts below, and to none above`, async () => {
        await give(chain[at], column, value);
        const limits = await Promise.all(chain.map(async (person) => (await recordOf(person)).limits[key]));
        const free = (await recordOf({ id: 0, tokenId: fixture.admin.tokenId })).limits[key];
        assert.deepEqual(
          limits,
          chain.map((_, depth) => (depth >= at ? value : free)),
        );
      });
    }
  }

  it('a limit larger than that of an account above has no effect', async () => {
    await give(chain[1], 'concurrency', 3);
    await give(chain[3], 'concurrency', 50);
    assert.equal((await recordOf(chain[3])).limits.concurrency, 3);
  });

  for (const at of [0, 1, 2] as const) {
    it(`a permission that account ${at} loses is lost by all accounts below, by token and session`, async () => {
      await give(
        chain[at],
        'permissions',
        ALL.filter((name) => name !== 'write:media'),
      );
      await give(chain[at], 'restrictions', ['read:statistics']);
      for (const [depth, person] of chain.entries()) {
        const expected = depth >= at ? ['read:media', 'write:sub-user'] : ALL;
        assert.deepEqual((await recordOf(person)).permissions, expected, `token at ${depth}`);
        assert.deepEqual((await callerOf(person))?.permissions, expected, `session at ${depth}`);
      }
    });

    it(`suspending account ${at} suspends all accounts below, by token and session`, async () => {
      await give(chain[at], 'status', 'suspended');
      for (const [depth, person] of chain.entries()) {
        const expected = depth >= at ? 'suspended' : 'active';
        assert.equal((await recordOf(person)).userStatus, expected, `token at ${depth}`);
        assert.equal((await callerOf(person))?.userStatus, expected, `session at ${depth}`);
      }
    });

    it(`the monthly quota of account ${at} counts the requests of all accounts below`, async () => {
      await give(chain[at], 'monthly_quota', JSON.stringify({ 'request-count': 2 }));
      const open = async (person: Person) => {
        const { quotas, rootUserId } = await recordOf(person);
        const input = anOpenInput(fixture.store, {
          userId: person.id,
          tokenId: person.tokenId,
          quotas: { of: quotas, rootUserId },
        });
        return (await fixture.store.openRequest(input)).outcome;
      };
      assert.deepEqual(
        [await open(chain[3]), await open(chain[at]), await open(chain[3]), await open(chain[at])],
        ['opened', 'opened', 'over-quota', 'over-quota'],
      );
      if (at > 0) assert.equal(await open(chain[0]), 'opened');
    });
  }
});
