/**
 * An agent among real parts: nats-server, launcher, source proxy and an origin. The test acts as leader and collector.
 */
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { type Collecting, consumeResults } from '../../src/platform/bus/collect.ts';
import { type Bus, connectBus } from '../../src/platform/bus/connect.ts';
import {
  type AssignedTool,
  type Assignment,
  type Go,
  type Heartbeat,
  type Lease,
  type OrderAnswer,
  type Prepare,
  type Result,
  RUNNER_PROTOCOL,
  SUBJECT,
} from '../../src/platform/bus/messages.ts';
import { readResult } from '../../src/service/controller/collect/read_result.ts';
import { unpackText, type TextBody } from '../result/text_body.ts';
import { INBOX } from '../../src/platform/bus/permissions.ts';
import { fetchBody, managerOf } from '../../src/platform/bus/results.ts';
import { ensureStreams } from '../../src/platform/bus/streams.ts';
import { Agent } from '../../src/service/runner/agent.ts';
import { phaseOf } from '../../src/service/runner/orders.ts';
import { Launcher } from '../../src/service/runner/launcher.ts';
import { RUNNER_SETTINGS, type RunnerSettings } from '../../src/base/runner_settings.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Source } from '../../src/source/source.ts';
import type { PaceOptions } from '../../src/source/file/pace.ts';
import { type ProxyOptions, type SourceProxy, startProxy } from '../../src/source/proxy.ts';
import { type NatsServer, startNats } from '../servers.ts';
import { until } from '../until.ts';
import { type LauncherProcess, startLauncher } from './built_launcher.ts';

/** The launcher with other answers to some calls. */
export const answering = (launcher: Launcher, answers: Partial<Launcher>): Launcher =>
  new Proxy(launcher, {
    get(target, name) {
      if (Object.hasOwn(answers, name)) return Reflect.get(answers, name) as unknown;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

export interface Taken {
  header: Result;
  body: TextBody;
}

export class Rig {
  nats!: NatsServer;
  leader!: Bus;
  bus!: Bus;
  launcherProcess!: LauncherProcess;
  launcher!: Launcher;
  proxy!: SourceProxy;
  origin!: Server;
  originUrl = '';
  collecting!: Collecting;
  agent!: Agent;
  readonly directory = mkdtempSync(join(tmpdir(), 'probeyard-agent-'));
  uid = 'uid-0';
  beats: Heartbeat[] = [];
  results: Taken[] = [];
  /** Reply of the leader to heartbeats; undefined without a leader. */
  lease: Lease | undefined = { epoch: 1, leaseMs: 15_000 };
  /** The minimum pace of a source, if a test sets it before the start. */
  pace: PaceOptions = { minBytes: 0 };
  /**
   * More of its proxy, if a test sets it before the start. Origins of tests are near: on a busy machine they would look
   * far, and more would be asked of them.
   */
  proxyOptions: ProxyOptions = { nearMs: 60_000 };
  /** Whether the collector confirms results to the agent. */
  confirm = true;
  serve: RequestListener = (_request, response) => {
    response.writeHead(404).end();
  };
  #waiting = new Map<string, (taken: Taken) => void>();
  #agents = 0;
  #jobs = 0;

  async start(): Promise<void> {
    chmodSync(this.directory, 0o755);
    this.nats = await startNats({ jetstream: true });
    this.origin = createServer((request, response) => this.serve(request, response)).listen(0, '127.0.0.1');
    await once(this.origin, 'listening');
    this.originUrl = `http://127.0.0.1:${(this.origin.address() as { port: number }).port}`;
    this.launcherProcess = await startLauncher();
    this.launcher = new Launcher(this.launcherProcess.socket, { cleanMs: 3_000 });
    this.proxy = await startProxy({ allow: [{ cidr: '127.0.0.1/32' }], pace: this.pace, ...this.proxyOptions });
    await this.launcher.whenConnected(5_000);
    // With its answer the launcher says what it can.
    await this.launcher.killAll();
    this.leader = await connectBus({ url: this.nats.url, name: 'leader', inboxPrefix: INBOX.controller });
    await ensureStreams(await managerOf(this.leader));
    this.leader.serve<Heartbeat, Lease>(SUBJECT.heartbeats, ({ message }) => {
      if (message.uid === this.uid) this.beats.push(message);
      return this.lease;
    });
    this.collecting = consumeResults(this.leader, {
      handle: async (header, confirm) => {
        const packed = await fetchBody(this.leader, header, 256 << 20);
        // A collector would record it.
        await readResult(packed, header.size);
        const taken = { header, body: await unpackText(packed) };
        this.results.push(taken);
        this.#waiting.get(header.job)?.(taken);
        if (this.confirm) confirm();
      },
    });
  }

  /** Environment of an agent that runs as a separate process. */
  environment(more: Partial<RunnerSettings> = {}): Record<string, string> {
    const settings: RunnerSettings = {
      pool: 'short',
      generation: 'g',
      logLevel: 'info',
      healthPort: 0,
      nats: { url: this.nats.url, tokenFile: join(this.directory, 'token') },
      launcherSocket: this.launcherProcess.socket,
      toolsDir: this.directory,
      toolMemoryBytes: 512 * 1024 * 1024,
      drainMs: 30_000,
      sources: { allow: [{ cidr: '127.0.0.1/32' }], denyExtra: [], pace: { minBytes: 16_384 }, s3: {} },
      ...more,
    };
    return {
      PY_POD_UID: this.uid,
      PY_POD_NAME: 'runner-1',
      PY_POD_IP: '127.0.0.1',
      [RUNNER_SETTINGS]: JSON.stringify(settings),
    };
  }

  /** Starts another pod: unbound and idle. */
  async newAgent(settings: { outputBytes?: number; memoryBytes?: number } = {}): Promise<void> {
    await this.stopAgent();
    this.#agents += 1;
    this.uid = `uid-${this.#agents}`;
    this.beats = [];
    this.results = [];
    this.confirm = true;
    this.lease = { epoch: 1, leaseMs: 15_000 };
    this.bus = await connectBus({ url: this.nats.url, name: this.uid, inboxPrefix: INBOX.runner(this.uid) });
    this.agent = new Agent({
      bus: this.bus,
      launcher: this.launcher,
      proxy: this.proxy,
      identity: {
        protocol: RUNNER_PROTOCOL,
        pod: 'runner-1',
        uid: this.uid,
        namespace: 'runners',
        pool: 'short',
        generation: 'g1',
      },
      settings: {
        toolsDir: this.directory,
        nodePath: process.execPath,
        outputBytes: 8 << 20,
        memoryBytes: 1 << 30,
        ...settings,
      },
      log: pino({ level: process.env['PY_TEST_LOG'] ?? 'silent' }),
      heartbeatMs: 100,
    });
    await until('the first heartbeat', () => this.beats.length > 0);
    // The launcher of all tests may be starting again.
    await this.connected();
  }

  /** Until then the agent refuses every job as busy. After a restart of the launcher it takes a while. */
  async connected(): Promise<void> {
    await until('the launcher is connected', () => this.launcher.connected());
  }

  async stopAgent(): Promise<void> {
    await this.agent?.close();
    await this.bus?.drain();
  }

  async stop(): Promise<void> {
    await this.stopAgent();
    this.launcher?.close();
    await this.collecting?.stop();
    await this.leader?.drain();
    await this.proxy?.close();
    this.origin?.close();
    this.origin?.closeAllConnections();
    await this.launcherProcess?.stop();
    await this.nats?.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** A tool that is a shell script. It gets the arguments of the real tool, with the address last. */
  script(text: string, more: Partial<AssignedTool> = {}): AssignedTool {
    this.#jobs += 1;
    const path = join(this.directory, `tool-${this.#jobs}`);
    writeFileSync(path, `#!/bin/bash\nexport PATH=/usr/bin:/bin\nfor address; do :; done\n${text}\n`, { mode: 0o755 });
    return { name: 'ffprobe', version: '7.1', timeoutMs: 60_000, options: {}, command: [path], ...more };
  }

  go(
    tools: AssignedTool[],
    more: Partial<Omit<Go, 'assignment'>> & { source?: string | Source; assignment?: Partial<Assignment> } = {},
  ): Go {
    this.#jobs += 1;
    const { source = `${this.originUrl}/a.wav`, assignment = {}, ...order } = more;
    return {
      protocol: RUNNER_PROTOCOL,
      epoch: 1,
      job: `job-${this.#jobs}`,
      attempt: 1,
      tenant: 'account/1',
      remainingMs: 30_000,
      ...order,
      assignment: {
        kind: 'file',
        source: typeof source === 'string' ? parseSource(source) : source,
        tools,
        timeoutMs: 30_000,
        maxBytes: 10_000_000_000,
        allow: [],
        report: { enabled: false, diff: false, prefer: null },
        ...assignment,
      },
    };
  }

  say(subject: (uid: string) => string, order: object): Promise<OrderAnswer> {
    return this.leader.request<OrderAnswer>(subject(this.uid), order, 2_000);
  }

  async prepare(order: Go): Promise<void> {
    const { remainingMs: _, ...prepare } = order;
    const answer = await this.say(SUBJECT.prepare, prepare satisfies Prepare);
    if (!answer.ok) throw new Error(`refused: ${answer.why}`);
  }

  /** Runs a job until its result is collected. */
  async run(order: Go): Promise<Taken> {
    const answer = await this.say(SUBJECT.go, order);
    if (!answer.ok) throw new Error(`refused: ${answer.why}`);
    return this.taken(order.job);
  }

  taken(job: string, deadlineMs = 20_000): Promise<Taken> {
    return until(`the result of ${job}`, () => this.results.find(({ header }) => header.job === job), deadlineMs);
  }

  /** Like `taken`, but without polling, for measurements. */
  next(job: string): Promise<Taken> {
    const { promise, resolve } = Promise.withResolvers<Taken>();
    this.#waiting.set(job, (taken) => {
      this.#waiting.delete(job);
      resolve(taken);
    });
    return promise;
  }

  phase(phase: Heartbeat['phase'], deadlineMs = 5_000): Promise<unknown> {
    return until(
      `an agent that is ${phase}, and has said so`,
      () => {
        const state = this.agent.state();
        const beat = this.beats.at(-1);
        return phaseOf(state) === phase && beat?.phase === phase && beat.jobsDone === state.jobsDone;
      },
      deadlineMs,
    );
  }
}
