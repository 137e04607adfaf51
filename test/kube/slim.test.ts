import assert from 'node:assert/strict';
import { isFinished } from '../../src/kube/conditions.ts';
import type { Pod } from '../../src/kube/kinds.ts';
import type { ProbeJob } from '../../src/kube/probe_job.ts';
import { slimJob, slimPod } from '../../src/kube/slim.ts';

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
});
