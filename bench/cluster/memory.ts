/** The memory of one idle warm pod, for its agent and its launcher, as accounted by the kernel. */
import { readFileSync } from 'node:fs';
import { RUNNERS } from '../../test/cluster/fixture.ts';
import { pidsOf } from '../../test/faults/load.ts';
import type { Measurement } from '../measurement.ts';
import { summary } from '../statistics.ts';
import { ready, runnerPods } from './pool.ts';
import { withCluster } from './rig.ts';

const kb = (text: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
function memoryOf(pid: number): { rss: number; pss: number } {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return { rss: kb(rollup, 'Rss') / 1024, pss: kb(rollup, 'Pss') / 1024 };
}

/**
 * The agent has the name of its pod in its environment. The launcher of the same pod is found by the pod's uid in its
 * cgroup.
 */
function launcherOf(uid: string): number | undefined {
  return pidsOf('PATH', '/app/bin').find(
    (pid) =>
      readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(uid) &&
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('/app/bin/launcher'),
  );
}

const isNode = (pid: number): boolean => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('/app/bin/node');

function cgroupMb(pid: number): number | undefined {
  const groups = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
  const v1 = /^\d+:memory:(.+)\/[^/]+$/m.exec(groups)?.[1];
  const paths = v1 === undefined ? [] : [`/sys/fs/cgroup/memory${v1}/memory.usage_in_bytes`];
  const v2 = /^0::(.+)\/[^/]+$/m.exec(groups)?.[1];
  if (v2 !== undefined) paths.push(`/sys/fs/cgroup${v2}/memory.current`);
  for (const path of paths) {
    try {
      return Number(readFileSync(path, 'utf8')) / 2 ** 20;
    } catch {
      // The other version of cgroups.
    }
  }
  return undefined;
}

export const memory: Measurement = {
  name: 'memory',
  title: 'memory of one warm pod that no tenant has touched',
  measure: (report) =>
    withCluster(async (c) => {
      await ready(c, 1);
      const found: { rss: number; pss: number; cgroup: number | undefined }[] = [];
      for (const pod of await runnerPods(c)) {
        // A pod that has run jobs holds their memory. It is listed separately, because the untouched ones are on
        // standby.
        const served = (
          await c.kubectl('-n', RUNNERS, 'logs', pod.metadata.name, '-c', 'agent').catch(() => 'job done')
        ).includes('job done');
        const agent = pidsOf('PY_POD_NAME', pod.metadata.name).find(isNode);
        const launcher = launcherOf(pod.metadata.uid ?? '');
        if (agent === undefined || launcher === undefined) continue;
        const [a, l] = [memoryOf(agent), memoryOf(launcher)];
        if (!served) found.push({ rss: a.rss + l.rss, pss: a.pss + l.pss, cgroup: cgroupMb(agent) });
        report(
          `${pod.metadata.name}${served ? ' (has served)' : ''}: agent ${a.rss.toFixed(1)} MB ` +
            `resident (${a.pss.toFixed(1)} its share), launcher ${l.rss.toFixed(1)} ` +
            `(${l.pss.toFixed(1)}), cgroup of the pod ${cgroupMb(agent)?.toFixed(1) ?? 'not accounted'}`,
        );
      }
      const cgroups = found.flatMap(({ cgroup }) => (cgroup === undefined ? [] : [cgroup]));
      return [
        {
          name: 'memory-rss',
          what: 'agent and launcher, resident',
          unit: 'MB',
          values: summary(found.map(({ rss }) => rss)),
        },
        {
          name: 'memory-pss',
          what: 'agent and launcher, their share (pages of the same image are shared)',
          unit: 'MB',
          values: summary(found.map(({ pss }) => pss)),
        },
        ...(cgroups.length > 0
          ? [
              {
                name: 'memory-cgroup',
                what: 'the pod’s cgroup, page cache included',
                unit: 'MB',
                values: summary(cgroups),
              } as const,
            ]
          : []),
      ];
    }),
};
