import assert from 'node:assert/strict';
import type { Bus } from '../../src/platform/bus/connect.ts';
import { endRequest } from '../../src/service/controller/leader/ends.ts';
import { policyDocuments } from '../../src/service/controller/leader/policies.ts';
import { ServedNamespaces } from '../../src/platform/kube/served_namespaces.ts';
import { takeIn } from '../../src/service/controller/leader/resolve_job.ts';
import { Refusal } from '../../src/service/controller/leader/job.ts';
import { recordEnd } from '../../src/service/controller/collect/record_end.ts';
import type { KubeClient } from '../../src/platform/kube/client.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { makeLog } from '../../src/base/log.ts';
import { aCloseInput, anOpenInput, type StoreFixture, startStore } from '../store/fixture.ts';
import { noCredentials } from './no_credentials.ts';

/** An error of class 22 from a real Postgres, even for values that the store lets through. */
const REFUSE = `
  create function refuse() returns trigger language plpgsql as $$ begin
    if new.error = 'poison' or new.display = 'poison' then raise exception 'poison' using errcode = '22021'; end if;
    return new;
  end $$;
  create trigger refuse before insert or update on requests for each row execute function refuse()`;

describe('the end of a request with a value that Postgres refuses', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  before(async () => {
    fixture = await startStore();
    await fixture.sql(REFUSE);
  });
  after(() => fixture.close());

  it('is recorded as an internal error', async () => {
    const open = anOpenInput(fixture.store);
    await fixture.store.openRequest(open);
    const { closed, waiter, end, refused } = await recordEnd(fixture.store, aCloseInput(open, { error: 'poison' }));
    assert.deepEqual(
      [closed, waiter, end.reason, end.body, refused?.code],
      [true, 'api-1', 'InternalError', null, 'bad-data'],
    );
    const [row] = await fixture.store.endsFor([open.id]);
    assert.deepEqual(
      [row?.status, row?.reason, row?.error, row?.hasBody],
      [500, 'InternalError', 'the result could not be recorded', false],
    );
  });

  it('is not retried by the leader, and its waiting caller gets a response', async () => {
    const open = anOpenInput(fixture.store);
    await fixture.store.openRequest(open);
    const told: unknown[] = [];
    const bus = { publish: (_: string, notice: unknown) => told.push(notice) } as unknown as Bus;
    const job = { id: open.id, key: open.id, submittedAt: open.submittedAt, attempt: 1, status: undefined };
    const finish = await endRequest(
      { store: fixture.store, bus, log: makeLog('test', { logLevel: 'fatal', podName: 'test' }) },
      job,
      { status: 504, reason: 'DeadlineExceeded', error: 'poison' },
      AbortSignal.timeout(20_000),
    );
    assert.deepEqual([finish.reason, finish.summary], ['InternalError', 'the result could not be recorded']);
    assert.deepEqual(
      told.map((notice) => (notice as { status: number }).status),
      [500],
    );
  });

  const handMade = (spec: object): ProbeJob =>
    ({
      apiVersion: 'probeyard.dev/v1alpha1',
      kind: 'ProbeJob',
      metadata: {
        name: 'by-hand',
        namespace: 'probeyard',
        uid: crypto.randomUUID(),
        creationTimestamp: new Date().toISOString(),
      },
      spec: { kind: 'file', tools: [{ name: 'ffprobe', version: 'latest' }], ...spec },
    }) as unknown as ProbeJob;
  const state = () => ({
    documents: policyDocuments(fixture.store),
    tokens: { of: async () => undefined, byHand: () => fixture.store.defaultToken() },
    served: new ServedNamespaces({ namespace: 'probeyard', tenantNamespaces: [] }),
    takeByHand: () => true,
    deps: {
      store: fixture.store,
      kube: {} as KubeClient,
      intake: { keys: () => ({ keys: [] }), s3Hosts: [], named: noCredentials },
      pools: { availableTools: () => [], forJob: () => undefined },
    },
  });
  const refusal = async (job: ProbeJob): Promise<Refusal> => {
    const error: unknown = await takeIn(state(), job).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof Refusal, String(error));
    return error;
  };

  it('a job created with kubectl with U+0000 in its address is refused, and its end is recorded', async () => {
    const job = handMade({ source: { url: 'https://exa\0mple.org/a.mp4', display: 'x\0y' } });
    const { status } = await refusal(job);
    assert.equal(status, 400);
    assert.equal((await fixture.store.readRequest(job.metadata.uid ?? ''))?.display, 'x\uFFFDy');
  });

  it('a job created with kubectl that cannot be recorded is refused with a clear error', async () => {
    const { status, message } = await refusal(handMade({ source: { url: 'nonsense', display: 'poison' } }));
    assert.deepEqual([status, message], [400, 'a value of the job cannot be stored']);
  });
});
