/** Resident memory in MB of the parts of the product on this node. */
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

/**
 * The processes of a pod are recognised by its name. Some overwrite their environment (those of Postgres) and share its
 * host name.
 */
const POD_OF = {
  api: /\0HOSTNAME=probeyard-api-/,
  controller: /\0HOSTNAME=probeyard-controller-/,
  nats: /\0HOSTNAME=probeyard-nats-/,
  postgres: /\0HOSTNAME=probeyard-postgres-/,
  runner: /\0HOSTNAME=runner-/,
} as const;
export type Part = keyof typeof POD_OF;
export const PARTS = Object.keys(POD_OF) as Part[];

interface Process {
  part: Part | undefined;
  pod: string;
  kb: number;
}

/** Rss counts shared pages in every process. Pss divides them among the processes. */
export type Measure = 'Rss' | 'Pss';

function processes(measure: Measure): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const environment = `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`;
        const part = PARTS.find((name) => POD_OF[name].test(environment));
        return [
          {
            part,
            pod: readlinkSync(`/proc/${pid}/ns/uts`),
            kb: Number(
              new RegExp(`^${measure}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ??
                0,
            ),
          },
        ];
      } catch {
        // It has exited meanwhile.
        return [];
      }
    });
}

/** All replicas of each part together. Of the runners, which come and go, the largest pod. */
export function memory(measure: Measure): Record<Part, number> {
  const all = processes(measure);
  const partOf = new Map(all.flatMap(({ part, pod }) => (part === undefined ? [] : [[pod, part] as const])));
  const pods = new Map<string, number>();
  for (const { pod, kb } of all) pods.set(pod, (pods.get(pod) ?? 0) + kb / 1024);
  const of = (part: Part) => [...pods].filter(([pod]) => partOf.get(pod) === part).map(([, mb]) => mb);
  const sum = (values: number[]) => Math.round(values.reduce((total, value) => total + value, 0));
  return {
    api: sum(of('api')),
    controller: sum(of('controller')),
    nats: sum(of('nats')),
    postgres: sum(of('postgres')),
    runner: Math.round(Math.max(0, ...of('runner'))),
  };
}
