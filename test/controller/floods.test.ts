import assert from 'node:assert/strict';
import pino from 'pino';
import { floods } from '../../src/service/controller/floods.ts';
import type { KubeClient, Pod } from '../../src/platform/kube/client.ts';

describe('a runner that floods the bus', () => {
  const pod = { metadata: { name: 'runner-1', uid: 'u', labels: { 'probeyard.dev/pool': 'short' } } } as unknown as Pod;

  function rig({ kickFails, deletesFail = 0 }: { kickFails?: Error; deletesFail?: number } = {}) {
    const deleted: unknown[] = [];
    const kicked: string[] = [];
    const ended: string[][] = [];
    const lines: string[] = [];
    const end = floods({
      kube: {
        delete: (async (_type: unknown, name: string, options: object) => {
          if (deletesFail-- > 0) throw new Error('the API server is away');
          deleted.push([name, options]);
        }) as unknown as KubeClient['delete'],
      },
      log: pino(
        {},
        {
          write: (line: string) => {
            lines.push(line);
          },
        },
      ),
      metrics: {
        podEnded: (...args) => {
          ended.push(args);
        },
      },
      namespace: 'runners',
      podOf: (uid) => (uid === 'u' ? pod : undefined),
      kick: async (uid) => {
        kicked.push(uid);
        if (kickFails) throw kickFails;
      },
    });
    return { end, deleted, kicked, ended, lines };
  }

  it('is disconnected, and its pod deleted at once, a single time', async () => {
    const { end, deleted, kicked, ended, lines } = rig();
    await Promise.all([end('u', 'results'), end('u', 'heartbeats')]);
    assert.deepEqual(deleted, [['runner-1', { namespace: 'runners', uid: 'u', gracePeriodSeconds: 0 }]]);
    assert.deepEqual([kicked, ended], [['u'], [['short', 'flood']]]);
    assert.match(lines.join(''), /runner floods NATS, ending its pod/);
  });

  it('loses its pod in any of its lives', async () => {
    const { end, deleted, kicked } = rig();
    await end('u_7', 'heartbeats');
    assert.deepEqual([deleted.length, kicked], [1, ['u']]);
  });

  it('loses its pod even if it cannot be disconnected', async () => {
    const { end, deleted } = rig({ kickFails: new Error('no answer') });
    await end('u', 'chunks');
    assert.equal(deleted.length, 1);
  });

  it('loses its pod once the API server deletes it, which is counted once', async () => {
    const { end, deleted, ended, lines } = rig({ deletesFail: 2 });
    for (let time = 0; time < 3; time++) await end('u', 'connections');
    assert.deepEqual([deleted.length, ended], [1, [['short', 'flood']]]);
    assert.equal(lines.filter((line) => line.includes('cannot end the pod of a flooding runner')).length, 2);
  });

  it('is ignored if its pod is unknown', async () => {
    const { end, deleted, kicked } = rig();
    await end('other', 'chunks');
    assert.deepEqual([deleted, kicked], [[], []]);
  });
});
