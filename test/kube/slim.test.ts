import assert from 'node:assert/strict';
import { isFinished } from '../../src/platform/kube/conditions.ts';
import type { Pod } from '../../src/platform/kube/kinds.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { keptJob, slimBatch, slimSource, slimJob, slimPod } from '../../src/platform/kube/slim.ts';

const job = (status?: 'True' | 'False' | 'Unknown'): ProbeJob => ({
  apiVersion: 'probeyard.dev/v1alpha1',
  kind: 'ProbeJob',
  metadata: { name: 'j', labels: { a: 'b' }, managedFields: [{}] } as never,
  spec: {
    kind: 'msv',
    source: { sealed: 'x'.repeat(1000) },
    token: { id: 7, user: 3 },
    tools: [{ name: 'msv', version: 'latest' }],
  },
  ...(status === undefined
    ? {}
    : {
        status: {
          conditions: [
            { type: 'Succeeded', status, reason: 'R', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
          ],
        },
      }),
});

describe('what a cache keeps', () => {
  for (const [status, finished] of [
    [undefined, false],
    ['Unknown', false],
    ['True', true],
    ['False', true],
  ] as const) {
    it(`Succeeded ${status ?? 'missing'}: keeps ${finished ? 'kind and token, no source' : 'all of the spec'}`, () => {
      assert.equal(isFinished(job(status).status), finished);
      const slim = slimJob(job(status));
      assert.deepEqual(slim.spec, finished ? { kind: 'msv', source: {}, token: { id: 7, user: 3 } } : job().spec);
      assert.equal('managedFields' in slim.metadata, false);
      assert.deepEqual(slim.metadata.labels, { a: 'b' });
    });
  }

  const running = { attempts: 1, runner: { pod: 'r', uid: 'u' } };
  const metadata = { name: 'j', namespace: 'n', uid: 'u', resourceVersion: '7', labels: { a: 'b' } };

  it('of a job, keeps neither source nor tools, which the leader has', () => {
    const policy = { name: 'shared/web' };
    const spec = { ...job().spec, submittedAt: '2026-01-01T00:00:00Z', timeoutMs: 5, policy };
    const kept = keptJob({ ...job(), metadata, spec, status: running });
    assert.deepEqual(kept, {
      apiVersion: 'probeyard.dev/v1alpha1',
      kind: 'ProbeJob',
      metadata: { name: 'j', namespace: 'n', uid: 'u', resourceVersion: '7' },
      spec: { kind: 'msv', source: {}, token: { id: 7, user: 3 }, submittedAt: '2026-01-01T00:00:00Z', policy },
      status: running,
    });
  });

  it('of a comparison of two sources, keeps that there are two: it says which results it must have', () => {
    const two: ProbeJob = { ...job(), spec: { ...job().spec, kind: 'compare', other: { sealed: 'x' } } };
    assert.deepEqual(keptJob(two).spec.other, { sealed: '' });
    assert.equal('other' in keptJob(job()).spec, false);
  });

  it('of a chunk, keeps how many requests it may end', () => {
    const chunk: ProbeJob = { ...job(), spec: { ...job().spec, items: 7 } };
    assert.equal(keptJob(chunk).spec.items, 7);
  });

  it('of a deleted job, keeps that it is being deleted', () => {
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    assert.equal(
      keptJob({ ...job(), metadata: { ...metadata, deletionTimestamp } }).metadata.deletionTimestamp,
      deletionTimestamp,
    );
  });

  it('of a pod, keeps its node and status', () => {
    const pod = {
      metadata: { name: 'p', managedFields: [{}] },
      spec: { nodeName: 'n', containers: [{ name: 'agent' }], volumes: [{ name: 'v' }] },
      status: { phase: 'Running' },
    } as unknown as Pod;
    assert.deepEqual(slimPod(pod), {
      metadata: { name: 'p' },
      spec: { nodeName: 'n', containers: [] },
      status: { phase: 'Running' },
    });
  });

  it('of a ProbeBatch or ProbeSource, keeps nothing that its creator can make large', () => {
    const large = 'x'.repeat(60);
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`a.example/${n}`, large]));
    const queue = { 'kueue.x-k8s.io/queue-name': 'media' };
    const named = { apiVersion: 'probeyard.dev/v1alpha1', kind: 'ProbeBatch' };
    const slim = slimBatch({
      ...named,
      metadata: {
        name: 'b',
        namespace: 'n',
        uid: 'u',
        resourceVersion: '7',
        labels: { ...many, ...queue },
        annotations: many,
      },
      spec: { createdBy: large, suspend: true, request: { concurrency: 2, items: [{ url: large }] } },
    });
    assert.deepEqual(slim, {
      ...named,
      metadata: { name: 'b', namespace: 'n', uid: 'u', resourceVersion: '7', labels: queue },
      spec: { suspend: true, request: { concurrency: 2 } },
    });
    const source = { ...named, kind: 'ProbeSource' };
    assert.deepEqual(
      slimSource(() => ({ sha256: 'd' }))({
        ...source,
        metadata: { name: 's', namespace: 'n', uid: 'u', labels: { ...many, ...queue }, annotations: many },
        spec: { createdBy: large, request: { name: large } },
      }),
      { ...source, metadata: { name: 's', namespace: 'n', uid: 'u' }, spec: { request: { sha256: 'd' } } },
    );
  });
});
