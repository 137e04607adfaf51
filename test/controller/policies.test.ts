/** Policies on their way through a controller: shared ones into the record, documents to runners, verdicts to jobs. */
import assert from 'node:assert/strict';
import type { Go } from '../../src/platform/bus/messages.ts';
import { judgedStatus, policyLine, wrongPolicy } from '../../src/service/controller/collect/collect.ts';
import { policyDocuments } from '../../src/service/controller/leader/policies.ts';
import { PROBE_JOBS, PROBE_POLICIES } from '../../src/platform/kube/client.ts';
import { conditionOf } from '../../src/platform/kube/conditions.ts';
import type { PolicyRequest, ProbeJob, ProbeJobSpec } from '../../src/platform/kube/probe_job.ts';
import { canonicalPolicy } from '../../src/media/policy/canonical.ts';
import type { PolicyResult, Policy } from '../../src/media/policy/schema.ts';
import { StoreError } from '../../src/platform/store/errors.ts';
import { SHARED } from '../../src/platform/store/policies.ts';
import type { Store } from '../../src/platform/store/store.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster } from './cluster_parts.ts';
import { success } from './simulated_runners.ts';
import type { TextBody } from '../result/text_body.ts';

const rule = (is: string): Policy => ({ rules: [{ name: 'wrapper', field: 'container.format', is }] });
const MOVING = { account: SHARED, name: 'moving', userId: null };
const MOST = { policies: 100, revisions: 10, documents: 1_000, bytes: 1_000_000 };

const failing = ({ name, revision }: Pick<PolicyResult, 'name' | 'revision'>): PolicyResult => ({
  name,
  revision,
  outcome: 'fail',
  rules: [
    { name: 'wrapper', level: 'fail', outcome: 'fail', message: 'container.format is avi; expected mp4' },
    { name: 'rate', level: 'fail', outcome: 'pass', message: 'frame_rate is 25' },
  ],
});

describe('policies in the controller', function () {
  this.timeout(120_000);
  let cluster: Cluster;
  afterEach(() => cluster?.stop());

  const account = (): number => cluster.servers.stored.admin.userId;
  const finished = (name: string): Promise<ProbeJob> =>
    until(`${name} has its end`, async () => {
      const job = await cluster.kube.get(PROBE_JOBS, name);
      return job.status?.completedAt === undefined ? undefined : job;
    });

  describe('shared policies', () => {
    const apply = (name: string, spec: object) =>
      cluster.kube.create(PROBE_POLICIES, { metadata: { name }, spec: spec as never });
    const validity = async (name: string, generation: number) =>
      until(`${name} is read at generation ${generation}`, async () => {
        const { status } = await cluster.kube.get(PROBE_POLICIES, name);
        return status?.observedGeneration === generation
          ? { ...status, valid: conditionOf(status, 'Valid') }
          : undefined;
      });

    it('are recorded revision by revision, and an invalid one changes nothing', async () => {
      cluster = await startCluster();
      const { store } = cluster.servers.stored;
      await cluster.controller();
      await apply('copied', rule('mp4'));
      const first = await validity('copied', 1);
      assert.deepEqual(
        [first.valid?.status, first.revision, first.digest, first.rules],
        ['True', 1, canonicalPolicy(rule('mp4')).digest, 1],
      );
      await cluster.kube.mergePatch(PROBE_POLICIES, 'copied', { spec: rule('mkv') });
      assert.equal((await validity('copied', 2)).revision, 2);
      await cluster.kube.mergePatch(PROBE_POLICIES, 'copied', {
        spec: { rules: [{ name: 'wrapper', field: 'container.formt', is: 'mp4' }] },
      });
      const wrong = await validity('copied', 3);
      assert.deepEqual([wrong.valid?.status, wrong.valid?.reason, wrong.revision], ['False', 'Invalid', 2]);
      assert.match(wrong.valid?.message ?? '', /^spec\.rules\[0\]\.field: .*did you mean format/);
      assert.equal((await store.findPolicy(SHARED, 'copied'))?.revision, 2);
      await cluster.kube.delete(PROBE_POLICIES, 'copied');
      await until(
        'the policy is deleted from Postgres',
        async () => (await store.findPolicy(SHARED, 'copied')) === null,
      );
    });

    it('deleted without a leader, they are removed by the next term', async () => {
      cluster = await startCluster();
      const { store } = cluster.servers.stored;
      const of = { account: SHARED, name: 'long-gone', userId: null };
      await store.putPolicy(of, canonicalPolicy(rule('mp4')), MOST);
      await cluster.controller();
      await until(
        'the policy is deleted from Postgres',
        async () => (await store.findPolicy(SHARED, 'long-gone')) === null,
      );
    });
  });

  describe('policy of a job', () => {
    const orders: Go[] = [];
    /** What the runner reports on the policy that it was given. */
    let says: (order: Go) => PolicyResult | undefined;

    beforeEach(async () => {
      orders.length = 0;
      says = ({ assignment: { policy } }) => policy && failing(policy);
      cluster = await startCluster({
        runners: {
          result(order): TextBody {
            orders.push(order);
            const policy = says(order);
            return { ...success(order), ...(policy ? { policy } : {}) };
          },
        },
      });
    });

    const kept = async (policy: Policy): Promise<string> => {
      const { digest, document } = canonicalPolicy(policy);
      await cluster.servers.stored.store.keepPolicyDocument(account(), { digest, document }, MOST);
      return digest;
    };
    const recorded = async ({ name }: ProbeJob['metadata']) =>
      (await cluster.servers.stored.store.endsFor([name]))[0]?.policyOutcome;
    const submit = async (policy: PolicyRequest): Promise<ProbeJob> => {
      const { id } = await cluster.submit({ spec: { policy } });
      return finished(id);
    };

    it('is read from the record for the runner, and its verdict is in the status', async () => {
      const digest = await kept(rule('mp4'));
      await cluster.controller();
      const { status } = await submit({ name: 'web', revision: 3, digest });
      assert.deepEqual(orders[0]?.assignment.policy, { name: 'web', revision: 3, document: rule('mp4') });
      assert.equal(orders[0]?.assignment.report.enabled, true);
      assert.equal(orders[0]?.assignment.report.frames, undefined);
      assert.deepEqual(status?.policy, { name: 'web', revision: 3, outcome: 'fail', failed: ['wrapper'] });
      assert.match(status?.summary ?? '', /^policy web revision 3: fail \(wrapper\); ffprobe 7\.0: ok/);
    });

    it('has pictures read where it asks for what only these say', async () => {
      const digest = await kept({ rules: [{ name: 'wrapper', field: 'video[0].captions', exists: true }] });
      await cluster.controller();
      await submit({ name: 'web', revision: 3, digest });
      assert.equal(orders[0]?.assignment.report.frames, 'always');
    });

    for (const [what, change] of [
      ['changed', (store: Store) => store.putPolicy(MOVING, canonicalPolicy(rule('mkv')), MOST)],
      ['removed', (store: Store) => store.deletePolicy(SHARED, MOVING.name)],
    ] as const)
      it(`a shared policy is ${what} while its job waits: the revision at submission is evaluated`, async () => {
        const { store } = cluster.servers.stored;
        const { digest, document } = canonicalPolicy(rule('mp4'));
        await store.putPolicy(MOVING, { digest, document }, MOST);
        const { revision } = (await store.findPolicy(SHARED, MOVING.name))!;
        const { id } = await cluster.submit({ spec: { policy: { name: `shared/${MOVING.name}`, revision, digest } } });
        await change(store);
        await cluster.controller();
        const { status } = await finished(id);
        assert.deepEqual(orders[0]?.assignment.policy?.document, rule('mp4'));
        assert.deepEqual(status?.policy, {
          name: `shared/${MOVING.name}`,
          revision,
          outcome: 'fail',
          failed: ['wrapper'],
        });
      });

    it('without a verdict in the result, the status says Unknown', async () => {
      const digest = await kept(rule('mp4'));
      says = () => undefined;
      await cluster.controller();
      const { status, metadata } = await submit({ name: 'web', revision: 3, digest });
      assert.deepEqual(status?.policy, { name: 'web', revision: 3, outcome: 'unknown' });
      assert.equal(await recorded(metadata), 'unknown');
    });

    it('a result with a verdict for another policy than the runner got is refused', async () => {
      const digest = await kept(rule('mp4'));
      says = () => failing({ name: 'other', revision: 3 });
      await cluster.controller();
      const { status, metadata } = await submit({ name: 'web', revision: 3, digest });
      assert.match(status?.summary ?? '', /the runner sent an unreadable result/, JSON.stringify(status));
      assert.equal(status?.policy?.outcome, 'unknown');
      assert.equal(await recorded(metadata), 'unknown');
    });

    it('is refused if it is not in the record, or belongs to another account', async () => {
      const { digest, document } = canonicalPolicy(rule('foreign'));
      const other = await cluster.newAccount();
      await cluster.servers.stored.store.keepPolicyDocument(other, { digest, document }, MOST);
      await cluster.controller();
      const { status } = await submit({ name: 'web', revision: 1, digest });
      assert.equal(conditionOf(status, 'Succeeded')?.reason, 'InvalidRequest');
      assert.match(status?.summary ?? '', /^spec\.policy\.digest: policy not found/);
      assert.deepEqual(orders, []);
    });

    const byHand = async (name: string, spec: Partial<ProbeJobSpec>): Promise<ProbeJob> => {
      const source = { url: 'https://media.example.org/a.mp4' };
      await cluster.kube.create(PROBE_JOBS, { metadata: { name }, spec: { kind: 'file', source, ...spec } });
      return finished(name);
    };

    it('a job created with kubectl gets a shared policy, with the versions that it requires', async () => {
      const { store } = cluster.servers.stored;
      const pinned: Policy = { ...rule('mp4'), uses: { mediainfo: '24.06' } };
      await cluster.kube.create(PROBE_POLICIES, { metadata: { name: 'web-mp4' }, spec: pinned as never });
      await cluster.controller();
      await until('it is copied', () => store.findPolicy(SHARED, 'web-mp4'));
      const { status, metadata } = await byHand('judged', { policy: { name: 'shared/web-mp4' } });
      const { revision } = (await store.findPolicy(SHARED, 'web-mp4'))!;
      assert.deepEqual(status?.policy, { name: 'shared/web-mp4', revision, outcome: 'fail', failed: ['wrapper'] });
      const [end] = await store.endsFor([metadata.uid!]);
      assert.deepEqual(
        [end?.policyName, end?.policyRevision, end?.policyOutcome],
        ['shared/web-mp4', revision, 'fail'],
      );
      await store.deletePolicy(SHARED, 'web-mp4');
    });

    it('costs no attempt while Postgres cannot say its document: the job waits with its runner', async () => {
      const { store } = cluster.servers.stored;
      const digest = await kept(rule('mp4'));
      let refusals = 6;
      const policyDocument: Store['policyDocument'] = async (...which) => {
        if (log.some(({ msg }) => msg === 'admitted') && refusals-- > 0)
          throw new StoreError('unreachable', 'policy_document: connect ECONNREFUSED');
        // Larger than the cache: it is read again for the runner.
        return `${await store.policyDocument(...which)}${' '.repeat(8 * 1024 * 1024)}`;
      };
      const { log } = await cluster.controller({ store: { ...store, policyDocument } });
      const { status } = await submit({ name: 'web', revision: 3, digest });
      assert.deepEqual([status?.policy?.outcome, status?.attempts, refusals], ['fail', 1, -1]);
      assert.equal(orders.length, 1);
    });

    for (const [what, policy, message] of [
      [
        'an unknown policy',
        { name: 'shared/nothing-like-it' },
        /^spec\.policy\.name: "shared\/nothing-like-it" does not exist/,
      ],
      ['the policy of an account', { name: 'house' }, /^spec\.policy\.name: "house" is not a shared policy/],
    ] as const)
      it(`a job created with kubectl is refused if it names ${what}`, async () => {
        await cluster.controller();
        const { status, metadata } = await byHand('refused', { policy });
        assert.equal(conditionOf(status, 'Succeeded')?.reason, 'InvalidRequest');
        assert.match(status?.summary ?? '', message);
        const [end] = await cluster.servers.stored.store.endsFor([metadata.uid!]);
        assert.equal(end?.reason, 'InvalidRequest');
      });
  });
});

describe('cache of policy documents', () => {
  const document = (index: number) => JSON.stringify({ rules: [{ name: `rule ${index}`, is: 'x'.repeat(1_000) }] });

  it('is bounded in bytes, and evicts the least recently used', async () => {
    const read: string[] = [];
    const documents = policyDocuments(
      {
        policyDocument: async (_, digest) => {
          read.push(digest);
          return document(Number(digest));
        },
      },
      3_200,
    );
    for (const digest of ['1', '2', '3', '1', '4', '1']) await documents.of({ account: 1, digest });
    assert.deepEqual(read, ['1', '2', '3', '4']);
    assert.ok(documents.bytes() <= 3_200);
    await documents.of({ account: 1, digest: '2' });
    assert.equal(read.at(-1), '2');
  });

  it('is separate for each account', async () => {
    const documents = policyDocuments({
      policyDocument: async (account) => (account === 1 ? document(1) : null),
    });
    assert.notEqual(await documents.of({ account: 1, digest: 'a' }), undefined);
    assert.equal(await documents.of({ account: 2, digest: 'a' }), undefined);
  });
});

describe('verdict in a result', () => {
  const body = (policy?: PolicyResult): TextBody => ({ tools: [], ioUsage: 0, ...(policy ? { policy } : {}) });
  const named = failing({ name: 'web', revision: 2 });

  for (const [what, asked, told, wrong] of [
    ['none, and none asked for', undefined, undefined, undefined],
    ['for the policy of the job', { name: 'web', revision: 2, digest: 'd' }, named, undefined],
    ['for the revision that a job created with kubectl started with', { name: 'web' }, named, undefined],
    ['for an inline policy', { digest: 'd' }, { ...named, name: null, revision: null }, undefined],
    ['missing', { name: 'web', revision: 2, digest: 'd' }, undefined, undefined],
    ['not asked for', undefined, named, /does not name/],
    ['for a policy of another name', { name: 'own', revision: 2, digest: 'd' }, named, /another policy/],
    ['for another revision', { name: 'web', revision: 3, digest: 'd' }, named, /another policy/],
    ['with a name for an inline policy', { digest: 'd' }, named, /another policy/],
  ] as const)
    it(`${what}: ${wrong === undefined ? 'taken' : 'refused'}`, () => {
      const said = wrongPolicy(asked, body(told as PolicyResult | undefined));
      if (wrong === undefined) assert.equal(said, undefined);
      else assert.match(String(said), wrong);
    });

  it('with very many failed rules is summarised by the first of them', () => {
    const rules = Array.from({ length: 50 }, (_, index) => ({ ...named.rules[0]!, name: `rule\n${index}` }));
    const status = judgedStatus({ name: 'web' }, body({ ...named, rules }))!;
    assert.equal(status.failed?.length, 20);
    assert.equal(policyLine(status), 'policy web revision 2: fail (rule 0, rule 1, rule 2 and 17 more)');
  });
});
