/**
 * The next leader takes over while no token can be read. Jobs created with kubectl have no other record of their
 * limits.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { startReflector } from '../../src/platform/kube/reflector.ts';
import { WAITING, type ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { NAMESPACE, eventually, fixtures, stateOf, type Cluster } from '../cluster/fixture.ts';
import { leaderKilled, postgresRefuses } from './injections.ts';
import { settled } from './load.ts';
import { writeDown } from './note.ts';
import { wholeCluster } from './whole.ts';

const LIMIT = 3;
const JOBS = 6;

describe('the leader is killed while Postgres is away, with more jobs created by kubectl than may run', function () {
  this.timeout(300_000);
  let c: Cluster;
  let given = '';
  const names = Array.from({ length: JOBS }, () => `away-${randomUUID().slice(0, 8)}`);
  before(async () => {
    c = await wholeCluster();
    // The jobs need three runners at once.
    await settled(c);
    given = await c.sql(`select coalesce(concurrency::text, 'null') from tokens where is_default`);
    await c.sql(`update tokens set concurrency = ${LIMIT} where is_default`);
  });
  after(async () => {
    if (!c) return;
    if (given !== '') await c.sql(`update tokens set concurrency = ${given} where is_default`);
    await c.kubectl('-n', NAMESPACE, 'delete', 'probejobs', ...names, '--ignore-not-found', '--wait=false');
    await c.close();
  });

  it('no more jobs run at once than the limit, and running ones are not started again', async () => {
    const held = Promise.withResolvers<void>();
    const clip = await readFile(join(fixtures, 'tiny.mp4'));
    // Sends the head at once, because a silent source would be abandoned before the fault is over.
    const origin = await c.origin(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': clip.length }).flushHeaders();
      await held.promise;
      response.end(clip);
    });
    const jobs = new Map<string, ProbeJob>();
    let most = 0;
    const look = (job: ProbeJob): void => {
      if (!names.includes(job.metadata.name)) return;
      jobs.set(job.metadata.name, job);
      most = Math.max(most, running().length);
    };
    const running = () =>
      [...jobs.values()].filter((job) => stateOf(job) === 'Running' && job.status?.completedAt === undefined);
    const watch = startReflector<ProbeJob>({
      client: c.kube,
      type: PROBE_JOBS,
      namespace: NAMESPACE,
      handlers: { add: look, update: look, delete: (job) => void jobs.delete(job.metadata.name) },
    });
    await watch.synced;
    try {
      const create = async (name: string): Promise<void> => {
        const spec = {
          kind: 'file' as const,
          source: { url: `${origin.url}/tiny.mp4` },
          tools: [{ name: 'ffprobe' as const, version: 'latest' }],
        };
        await c.kube.create(PROBE_JOBS, { metadata: { name, namespace: NAMESPACE }, spec });
      };
      await Promise.all(names.map(create));
      await eventually(`${LIMIT} run, and the others wait`, 90, async () => {
        // Admitted before the leader learned the changed limit, which is not what this test is about: once more.
        if (running().length > LIMIT) {
          await c.kubectl('-n', NAMESPACE, 'delete', 'probejobs', ...names, '--wait');
          await eventually('the deleted jobs are gone', 30, () => jobs.size === 0);
          most = 0;
          await Promise.all(names.map(create));
        }
        // The reason that a waiting job shows is that of its first second: the pool may have been growing then.
        const states = [...jobs.values()].map(stateOf);
        const waits = states.filter((state) => WAITING.some((reason) => reason === state));
        assert.deepEqual([running().length, waits.length], [LIMIT, JOBS - LIMIT], states.join());
        return true;
      });
      const first = running().map(({ metadata: { name } }) => name);
      await Promise.all([postgresRefuses(c), leaderKilled(c)]);
      // The new leader is ready once a new job waits or runs.
      const probe = `away-${randomUUID().slice(0, 8)}`;
      names.push(probe);
      await create(probe);
      await eventually(
        'the new leader has taken in a further job',
        60,
        () => stateOf(jobs.get(probe) ?? ({} as ProbeJob)) !== '',
      );
      held.resolve();
      await eventually(
        'every job has an end',
        90,
        () => jobs.size === names.length && [...jobs.values()].every(({ status }) => status?.completedAt !== undefined),
      );
      assert.ok(most <= LIMIT, `${most} ran at once, the limit is ${LIMIT}`);
      for (const name of first) {
        const job = jobs.get(name) ?? assert.fail(`${name} is gone`);
        assert.equal(job.status?.attempts, 1, name);
        // ffprobe may have timed out on a source that was silent for so long, which is an end as well.
        assert.match(stateOf(job), /^(?:Completed|ToolFailed)$/, name);
      }
      const uids = [...jobs.values()].map(({ metadata: { uid } }) => `'${uid}'`).join(',');
      const recorded = await eventually('every end is recorded', 30, async () => {
        const count = Number(await c.sql(`select count(*) from requests where id in (${uids}) and state <> 'open'`));
        return count === names.length && count;
      });
      await writeDown({ requests: names.length, recorded, statuses: {}, doubles: 0, most, limit: LIMIT });
      console.log(
        `      at most ${most} of ${LIMIT} at once; ends: ${[...jobs.values()].map((job) => stateOf(job)).join(', ')}`,
      );
    } finally {
      held.resolve();
      await watch.stop();
    }
    await settled(c);
  });
});
