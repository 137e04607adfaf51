/** What a token runs, counted as processes of the node: a status does not show them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { leaderPod, pidsOf } from '../faults/load.ts';
import { cluster, eventually, type Cluster } from './fixture.ts';

/** In a pod: no other ffprobe of this machine is counted. */
const isTool = (pid: string): boolean => {
  const read = (file: string): string => readFileSync(`/proc/${pid}/${file}`, 'latin1');
  try {
    return /\/ffprobe\0/.test(read('cmdline')) && read('cgroup').includes('kubepods');
  } catch {
    return false;
  }
};
const toolsOfNode = (): number => readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isTool(name)).length;

describe('tools of the node', function () {
  this.timeout(120_000);
  let c: Cluster;
  before(async () => {
    c = await cluster();
  });
  after(() => c.close());

  /** Counts until it is stopped. */
  const counting = () => {
    let most = 0;
    const stop = new AbortController();
    const done = (async () => {
      while (!stop.signal.aborted) {
        most = Math.max(most, toolsOfNode());
        await delay(5);
      }
    })();
    return async (): Promise<number> => {
      stop.abort();
      await done;
      return most;
    };
  };
  const slowOrigin = () =>
    c.origin((_request, response) => {
      setTimeout(() => response.writeHead(404).end(), 300);
    });

  it('of a token that may run one job, one tool runs on the node', async () => {
    const { url } = await slowOrigin();
    const { token } = await c.newToken(1);
    await eventually('the node runs no tool', 30, () => toolsOfNode() === 0);
    const stop = counting();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => c.probe({ url: `${url}/none.mp4`, only: 'ffprobe' }, { token })),
    );
    assert.equal(await stop(), 1);
    assert.deepEqual(
      answers.map(({ status }) => status),
      Array.from({ length: 5 }, () => 404),
    );
  });

  it('callers who hang up at once leave no tool, and never more than their limit', async () => {
    const { url } = await slowOrigin();
    const { token } = await c.newToken(1);
    await eventually('the node runs no tool', 30, () => toolsOfNode() === 0);
    const stop = counting();
    for (let call = 0; call < 12; call++) {
      const hangUp = new AbortController();
      const gone = c.probe({ url: `${url}/none.mp4`, only: 'ffprobe' }, { token, signal: hangUp.signal });
      await delay(4 + 2 * call);
      hangUp.abort();
      await assert.rejects(gone);
    }
    await eventually('the node runs no tool', 7, () => toolsOfNode() === 0);
    assert.ok((await stop()) <= 1);
  });

  it('a leader that is stopped for 8 s lets nothing more begin when it goes on', async () => {
    const { url } = await slowOrigin();
    const { token } = await c.newToken(1);
    const pids = pidsOf('PY_POD_NAME', await leaderPod(c));
    assert.notEqual(pids.length, 0);
    await eventually('the node runs no tool', 30, () => toolsOfNode() === 0);
    const stop = counting();
    const asked = Array.from({ length: 4 }, () => c.probe({ url: `${url}/none.mp4`, only: 'ffprobe' }, { token }));
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    try {
      await delay(8_000);
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    }
    const answers = await Promise.all(asked);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 404, 404, 404],
    );
    assert.ok((await stop()) <= 1);
  });
});
