/** One request through a real API, controller and agent on one set of servers: the log lines of each have its id. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino, type Logger } from 'pino';
import { DEFAULTS } from '../api/default_settings.ts';
import { listen, type HttpServer } from '../../src/service/api/http/http_server.ts';
import { makeApp } from '../../src/service/api/server.ts';
import { wire, type Wired } from '../../src/service/api/wire.ts';
import { connectBus, type Bus } from '../../src/platform/bus/connect.ts';
import { RUNNER_PROTOCOL } from '../../src/platform/bus/messages.ts';
import { INBOX } from '../../src/platform/bus/permissions.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { Agent } from '../../src/service/runner/agent.ts';
import { Launcher } from '../../src/service/runner/launcher.ts';
import { startProxy, type SourceProxy } from '../../src/source/proxy.ts';
import { accountSettings } from '../api/fixture.ts';
import { startLauncher, type LauncherProcess } from '../runner/built_launcher.ts';
import { ADMIN } from '../store/fixture.ts';
import { until } from '../until.ts';
import { startCluster, type Cluster } from './cluster_parts.ts';

interface Line {
  msg: string;
  request_id?: string;
  job?: string;
  runner?: string;
  runner_uid?: string;
  pod?: string;
  request?: string;
}

const REPLICA = 'api-logs';
const allow = [{ cidr: '127.0.0.1/32' }];

function logger(): { log: Logger; lines: Line[] } {
  const lines: Line[] = [];
  return {
    lines,
    log: pino(
      { level: 'debug', base: null },
      {
        write: (line: string) => {
          lines.push(JSON.parse(line) as Line);
        },
      },
    ),
  };
}

describe('log lines of one request', function () {
  this.timeout(90_000);
  const tools = mkdtempSync(join(tmpdir(), 'probeyard-logs-'));
  const [api, runner] = [logger(), logger()];
  let cluster: Cluster;
  let origin: Server;
  let wired: Wired;
  let server: HttpServer;
  let apiBus: Bus;
  let agentBus: Bus;
  let launcherProcess: LauncherProcess;
  let launcher: Launcher;
  let proxy: SourceProxy;
  let agent: Agent;
  let controllerLines: Line[];
  let pod: { name: string; uid: string };

  async function startRunner(): Promise<void> {
    const made = await until('the controller has made a runner pod', async () => (await cluster.pods())[0]);
    pod = { name: made.metadata.name, uid: made.metadata.uid ?? '' };
    launcherProcess = await startLauncher();
    launcher = new Launcher(launcherProcess.socket, { cleanMs: 3_000 });
    await launcher.whenConnected(5_000);
    proxy = await startProxy({ allow, pace: { minBytes: 0 } });
    agentBus = await connectBus({ url: cluster.servers.nats.url, name: pod.uid, inboxPrefix: INBOX.runner(pod.uid) });
    agent = new Agent({
      bus: agentBus,
      launcher,
      proxy,
      log: runner.log,
      heartbeatMs: 100,
      identity: {
        protocol: RUNNER_PROTOCOL,
        pod: pod.name,
        uid: pod.uid,
        namespace: cluster.runnerNamespace,
        pool: 'short',
        generation: made.metadata.labels?.[LABEL.generation] ?? '',
      },
      settings: {
        toolsDir: tools,
        nodePath: process.execPath,
        outputBytes: 1 << 20,
        memoryBytes: 1 << 30,
      },
    });
  }

  async function startApi(): Promise<void> {
    const { nats, stored, keys } = cluster.servers;
    apiBus = await connectBus({ url: nats.url, name: REPLICA, inboxPrefix: '_INBOX_logs' });
    wired = wire({
      store: stored.store,
      bus: apiBus,
      kube: cluster.kube,
      sealKeys: () => keys.public,
      log: api.log,
      accounts: accountSettings(),
      settings: { ...DEFAULTS, namespace: cluster.namespace, replica: REPLICA, allowSources: allow, denyCidrs: [] },
    });
    await wired.toolsRead;
    server = await listen(
      makeApp(wired.deps, wired.checks).callback(),
      { host: '127.0.0.1', port: 0 },
      () => stored.store.newRequest().id,
    );
  }

  before(async () => {
    const script = join(tools, 'ffprobe');
    writeFileSync(script, '#!/bin/bash\necho \'{"streams":[]}\'\n', { mode: 0o755 });
    origin = createServer((_request, response) => response.end('bytes')).listen(0, '127.0.0.1');
    await once(origin, 'listening');
    cluster = await startCluster({
      pools: { short: { minReady: 1, maxPods: 1 } },
      runners: { boot: false },
      tools: [{ tool: 'ffprobe', version: '7.0', image: 'tools/ffprobe:7.0', latest: true, command: [script] }],
    });
    controllerLines = (await cluster.controller()).log as unknown as Line[];
    await Promise.all([startRunner(), startApi()]);
  });

  after(async () => {
    await server?.close(1_000);
    await wired?.stop();
    await agent?.close();
    await cluster?.stop();
    await Promise.all([agentBus?.drain(), apiBus?.drain(), proxy?.close(), launcherProcess?.stop()]);
    launcher?.close();
    origin?.close();
    rmSync(tools, { recursive: true, force: true });
  });

  it('API, controller and agent use the same request_id, and runner and runner_uid for its runner', async () => {
    const { port } = origin.address() as { port: number };
    const response = await fetch(`http://127.0.0.1:${server.port}/v1/probe/file`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${ADMIN.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ url: `http://127.0.0.1:${port}/a.mp4`, only: 'ffprobe' }),
    });
    const id = response.headers.get('x-request-id') ?? '';
    assert.equal(response.status, 200, await response.text());
    const lineOf = (lines: Line[], message: string) =>
      until(`a line '${message}' of the request`, () =>
        lines.find(({ msg, request_id }) => msg === message && request_id === id),
      );
    const [requested, admitted, recorded, done] = await Promise.all([
      lineOf(api.lines, 'request'),
      lineOf(controllerLines, 'admitted'),
      lineOf(controllerLines, 'result recorded'),
      lineOf(runner.lines, 'job done'),
    ]);
    for (const line of [requested, admitted, recorded, done])
      assert.deepEqual([line.request, line.pod], [undefined, undefined], line.msg);
    for (const line of [admitted, recorded, done]) assert.equal(line.job, id, line.msg);
    for (const line of [admitted, recorded])
      assert.deepEqual([line.runner, line.runner_uid], [pod.name, pod.uid], line.msg);
  });
});
