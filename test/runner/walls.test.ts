import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isBeatOf } from '../../src/platform/bus/claims.ts';
import { isUserNamespace, watchWalls } from '../../src/service/runner/walls.ts';
import { until } from '../until.ts';

describe('walls that the agent reports', () => {
  it('the initial user namespace is not a wall', () => {
    assert.equal(isUserNamespace('         0          0 4294967295\n'), false);
    assert.equal(isUserNamespace('         0  524288000      65536\n'), true);
  });

  it('the network is a wall if the API server is unreachable, and none if it is reachable', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'probeyard-walls-'));
    const uidMapFile = join(folder, 'uid_map');
    writeFileSync(uidMapFile, '0 524288000 65536\n');
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    try {
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) };
      const open = watchWalls({ toolWall: () => 'watched', env, uidMapFile, settleMs: 0 });
      await until('the wall was checked', () => open().NetworkEnforced !== undefined);
      assert.deepEqual(open(), { UserNamespace: true, NetworkEnforced: false, SyscallFilter: true });
      server.close();
      await once(server, 'close');
      const closed = watchWalls({ toolWall: () => 'filtered', env, uidMapFile, settleMs: 0 });
      await until('the wall was checked', () => closed().NetworkEnforced !== undefined);
      assert.deepEqual(closed(), { UserNamespace: true, NetworkEnforced: true, SyscallFilter: false });
    } finally {
      server.close();
      rmSync(folder, { recursive: true });
    }
  });

  it('what a former life found is not tested again, and reported from the start', () => {
    const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' };
    for (const networkEnforced of [true, false]) {
      const walls = watchWalls({
        toolWall: () => undefined,
        env,
        uidMapFile: '/nowhere',
        settleMs: 0,
        networkEnforced,
      });
      assert.deepEqual(walls(), { NetworkEnforced: networkEnforced });
    }
  });

  it('an unknown wall is left out', () => {
    assert.deepEqual(watchWalls({ toolWall: () => undefined, env: {}, uidMapFile: '/nowhere' })(), {});
  });

  it('a heartbeat with malformed walls is dropped', () => {
    const beat = {
      protocol: 1,
      pod: 'p',
      uid: 'u',
      namespace: 'r',
      pool: 'short',
      generation: 'g',
      phase: 'idle',
      epoch: 0,
      jobsDone: 0,
      ageMs: 0,
      idleMs: 0,
    };
    assert.equal(isBeatOf('py.hb.u', { ...beat, walls: { UserNamespace: true } }), true);
    assert.equal(isBeatOf('py.hb.u', beat), true);
    for (const walls of [
      { UserNamespace: 'yes' },
      'all',
      null,
      Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`w${i}`, true])),
    ])
      assert.equal(isBeatOf('py.hb.u', { ...beat, walls }), false);
  });
});
