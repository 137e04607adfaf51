/** A real Prometheus on this machine, with targets of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePort } from '../free_port.ts';
import { until } from '../until.ts';
import type { Programs } from './programs.ts';

export interface Target {
  /** `host:port` of its /metrics. */
  address: string;
  /** Labels of all its series, as a monitor of the operator adds them. */
  labels: Readonly<Record<string, string>>;
}

export interface Sampled {
  labels: Record<string, string>;
  value: number;
}

export interface Firing {
  alert: string;
  state: 'pending' | 'firing';
  labels: Record<string, string>;
}

export interface RunningPrometheus {
  /** Throws with Prometheus' own text if the expression is not valid. */
  query(expr: string): Promise<Sampled[]>;
  alerts(): Promise<Firing[]>;
  /** Replaces the targets; Prometheus reads them within a second. */
  target(targets: readonly Target[]): Promise<void>;
  stop(): Promise<void>;
}

export interface PrometheusSettings {
  programs: Programs;
  targets: readonly Target[];
  /** Groups of rules, as in a PrometheusRule. */
  groups?: readonly object[];
  everyMs?: number;
}

export async function startPrometheus({
  programs,
  targets,
  groups = [],
  everyMs = 1_000,
}: PrometheusSettings): Promise<RunningPrometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'probeyard-prometheus-'));
  const write = (name: string, content: object) => writeFile(join(folder, name), stringify(content));
  const target = (all: readonly Target[]) =>
    write(
      'targets.yaml',
      all.map(({ address, labels }) => ({ targets: [address], labels })),
    );
  await target(targets);
  await write('rules.yaml', { groups });
  const every = `${everyMs}ms`;
  await write('prometheus.yaml', {
    global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
    rule_files: ['rules.yaml'],
    scrape_configs: [{ job_name: 'probeyard', file_sd_configs: [{ files: ['targets.yaml'], refresh_interval: '1s' }] }],
  });
  const port = await freePort();
  const child = spawn(
    programs.prometheus,
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4_000);
  });
  const ended = once(child, 'exit');
  const base = `http://127.0.0.1:${port}`;

  const ask = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${base}${path}`, { signal: AbortSignal.timeout(10_000) });
    const body = (await response.json()) as { status: string; error?: string; data: T };
    if (body.status !== 'success') throw new Error(body.error);
    return body.data;
  };

  const running: RunningPrometheus = {
    async query(expr) {
      const { result } = await ask<{ result: { metric: Record<string, string>; value: [number, string] }[] }>(
        `/api/v1/query?query=${encodeURIComponent(expr)}`,
      );
      return result.map(({ metric, value: [, value] }) => ({ labels: metric, value: Number(value) }));
    },
    async alerts() {
      const { alerts } = await ask<{ alerts: { labels: Record<string, string>; state: Firing['state'] }[] }>(
        '/api/v1/alerts',
      );
      return alerts.map(({ labels, state }) => ({ alert: labels['alertname'] ?? '', state, labels }));
    },
    target,
    async stop() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await until(
      'Prometheus answers',
      async () => {
        if (child.exitCode !== null) throw new Error(`prometheus ended: ${said}`);
        return fetch(`${base}/-/ready`).then(
          ({ ok }) => ok,
          () => false,
        );
      },
      60_000,
    );
  } catch (error) {
    await running.stop();
    throw error;
  }
  return running;
}
