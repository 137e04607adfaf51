/** ProbeSources: of which account and token their sources are, and how many replicas make one. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { NAMESPACES, PROBE_SOURCES } from '../../../src/platform/kube/client.ts';
import { ProbeSources } from '../../../src/service/api/source/probe_sources.ts';
import { MOST_SOURCES } from '../../../src/service/api/source/source_fields.ts';
import { until } from '../../until.ts';
import { useProbeSources } from './probe_source_rig.ts';

/** Bound to an account that is made afterwards. */
const TENANT = `team-${randomUUID().slice(0, 8)}`;
const ACCOUNT = 777_002;

describe('ProbeSources: their owners', function () {
  this.timeout(120_000);
  const rig = useProbeSources({ tenantNamespaces: [{ name: TENANT, account: ACCOUNT }] });
  const { create, read, requestOf, row, rows, untilEnded, untilProbed, untilReady } = rig;

  it('killed between the creation and the status, and two replicas: there is one source', async () => {
    const other = new ProbeSources(rig.api.wired.deps, rig.api.kube, { leads: true });
    const names = await Promise.all([1, 2, 3].map((n) => create(requestOf(`twice-${n}`))));
    const ids = await Promise.all(names.map(async (name) => (await untilReady(name, 'Running')).status!.id));
    await other.stop();
    const forged = { state: 'Refused', conditions: [], id: null, objects: 7 };
    await rig.api.kube.mergePatchStatus(PROBE_SOURCES, names[0]!, forged, { namespace: rig.api.namespace });
    const { status } = await untilReady(names[0]!, 'Running');
    assert.deepEqual([status?.id, status?.objects], [ids[0], 0]);
    // As if the one that created it had been killed before it noted of what.
    await rig.api.stored.sql('update followed_objects set request_sha256 = null where name = $1', [names[1]]);
    await until('it is noted', async () => {
      const [{ noted }] = (await rig.api.stored.sql<{ noted: boolean }>(
        'select request_sha256 is not null noted from followed_objects where name = $1',
        [names[1]],
      )) as [{ noted: boolean }];
      return noted;
    });
    assert.equal(Number((await rig.api.stored.sql<{ n: string }>('select count(*) n from sources'))[0]!.n), 3);
  });

  it('as many sources as an account may have: it waits for room', async () => {
    const others = [];
    for (let n = 0; n < MOST_SOURCES; n++)
      others.push(await rig.sources.create({ bucket: { url: `s3://full-${n}/` } }));
    const rate = () =>
      rig.api.stored.sql('select * from rate_limits where scope = $1 and id = $2', ['token', rig.api.tokenId]);
    const before = await rate();
    const name = await create(requestOf('full'));
    await untilReady(name, 'TooManySources');
    assert.deepEqual(await rate(), before, 'to wait is no request of the token');
    for (const { id } of others) await rig.sources.call(`/${id}`, { method: 'DELETE' });
    await untilEnded('there is room', async () => (await read(name)).status?.state === 'Running');
  });

  it('stopped, as its token is revoked: it goes on with the next one of the account', async () => {
    const { id: old } = await rig.api.newToken();
    await rig.api.stored.sql('update tokens set user_id = $2, is_default = false where id = $1', [
      rig.api.tokenId,
      rig.api.userId,
    ]);
    await rig.api.stored.sql('update tokens set user_id = $2, is_default = true where id = $1', [old, rig.api.userId]);
    const name = await create(requestOf('revoked'));
    const { id } = (await untilReady(name, 'Running')).status!;
    await untilProbed(id!, 'revoked', new Map([['a.mp4', '1']]), 1);
    await rig.api.stored.sql('update tokens set revoked_at = now(), is_default = false where id = $1', [old]);
    await rig.api.stored.sql(`update sources set list_at = now() where id = $1`, [id]);
    await untilReady(name, 'TokenInactive');
    await rig.api.stored.makeDefault(rig.api.tokenId);
    await untilReady(name, 'Running');
    assert.deepEqual([(await row(id!)).tokenId, (await rows(name))[0]?.id], [rig.api.tokenId, id]);
  });

  it('stopped, as the key of its fields is lost: it goes on with those of its object', async () => {
    const idle = { every: null, existing: false };
    const [lost, other] = [await create(requestOf('lost', idle)), await create(requestOf('other', idle))];
    const [id, otherId] = [
      (await untilReady(lost, 'Running')).status!.id!,
      (await untilReady(other, 'Running')).status!.id!,
    ];
    const { body } = await row(otherId);
    await rig.api.stored.sql('update sources set body = $2, list_at = now() where id = $1', [id, body]);
    await until('its fields are sealed anew', async () => !(await row(id)).body.equals(body));
    assert.equal((await row(id)).state, 'running');
  });

  it('in the namespace of a tenant: it is of its account, and begins anew if that is another one', async () => {
    await rig.api.kube.create(NAMESPACES, { metadata: { name: TENANT } });
    const name = await create(requestOf('tenant'), { createdBy: 'alice' }, TENANT);
    await untilReady(name, 'TokenInactive', TENANT);
    const { id: token } = await rig.api.newToken();
    await rig.api.stored.sql(
      `insert into users (id, email, status, role, permissions, requests_per_minute) overriding system value
        values ($1, 'tenant@source.test', 'active', 'user', array['read:media', 'write:media'], 1000000)`,
      [ACCOUNT],
    );
    await rig.api.stored.sql('update tokens set user_id = $2 where id = $1', [token, ACCOUNT]);
    const { id } = (await untilReady(name, 'Running', TENANT)).status!;
    assert.equal((await row(id!)).userId, ACCOUNT);
    const settings = { ...rig.api.wired.deps.settings, tenantNamespaces: [{ name: TENANT, account: rig.api.userId }] };
    const rebound = new ProbeSources({ ...rig.api.wired.deps, settings }, rig.api.kube, { leads: true });
    await untilEnded('it is another one', async () => (await rows(name)).some((one) => one.user_id === rig.api.userId));
    await rebound.stop();
    assert.ok((await rows(name)).every((one) => one.id !== id));
    await rig.api.kube.delete(PROBE_SOURCES, name, { namespace: TENANT });
  });
});
