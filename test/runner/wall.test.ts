import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Launcher } from '../../src/service/runner/launcher.ts';
import { buildAttacker, planOf } from '../hostility/attacker.ts';
import { type LauncherProcess, LIMITS, startLauncher } from './built_launcher.ts';

const secret = '0'.repeat(32);
const root = process.getuid?.() === 0;

describe('wall around a tool', function () {
  this.timeout(30_000);
  let server: LauncherProcess;
  let launcher: Launcher;
  let source: Server;
  let plan = '';
  let port: number;
  let program: string;
  let touched = 0;
  const trap = createServer((socket) => {
    touched++;
    socket.on('error', () => {}).end('a secret');
  });
  let trapPort: number;

  const attack = async (...attempts: [name: string, what: string][]): Promise<Record<string, string>> => {
    plan = planOf(attempts.map(([name, what]) => ({ name, do: what })));
    const { exit, stdout, stderr } = await launcher.run({
      argv: [program, '-i', `http://127.0.0.1:${port}/${secret}/ffprobe/plan`],
      env: { PATH: '/bin' },
      limits: LIMITS,
      ports: [port],
    });
    assert.equal(exit.code, 0, `${JSON.stringify(exit)} ${stderr.toString()}`);
    const { got } = JSON.parse(stdout.toString()) as { got: Record<string, string> };
    assert.equal(got['its own source'], 'read');
    return got;
  };

  before(async function () {
    if (!root) {
      console.log('    skipped: a PID namespace needs root');
      this.skip();
    }
    const folder = mkdtempSync(join(tmpdir(), 'probeyard-attacker-'));
    chmodSync(folder, 0o755);
    program = join(folder, 'attacker');
    await buildAttacker(program, '0.66');
    await new Promise<void>((resolve) => trap.listen(0, '0.0.0.0', resolve));
    trapPort = (trap.address() as AddressInfo).port;
    source = createHttpServer((_request, response) => void response.end(plan));
    await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve));
    port = (source.address() as AddressInfo).port;
    server = await startLauncher({ init: true });
    launcher = new Launcher(server.socket);
    await launcher.whenConnected(5_000);
  });
  after(async () => {
    launcher?.close();
    await server?.stop();
    trap.close();
    source?.close();
    source?.closeAllConnections();
    if (program) rmSync(dirname(program), { recursive: true });
  });

  it('is reported to the agent with each clean-up', async () => {
    assert.equal(launcher.wall(), undefined);
    await launcher.killAll();
    assert.equal(launcher.wall(), 'watched');
  });

  it('lets a tool connect to its source, and to no other port or address', async () => {
    const got = await attack(
      ['another port', `tcp|127.0.0.1|${trapPort}`],
      ['another address, the same port', `tcp|127.0.0.2|${port}`],
      ['outside', 'tcp|192.0.2.1|80'],
      ['with the first data', `fastopen|127.0.0.1|${trapPort}`],
      ['its source again', `tcp|127.0.0.1|${port}`],
    );
    assert.deepEqual(got, {
      'its own source': 'read',
      'another port': 'EACCES',
      'another address, the same port': 'EACCES',
      outside: 'EACCES',
      'with the first data': 'EPERM',
      'its source again': 'connected ',
    });
    assert.equal(touched, 0);
  });

  it('connects to the address that it checked, even if another thread changes it meanwhile', async () => {
    assert.deepEqual(await attack(['torn', `race|127.0.0.1|${trapPort}`]), {
      'its own source': 'read',
      torn: '0 elsewhere',
    });
    assert.equal(touched, 0);
  });

  it('allows no other kind of socket, and no incoming connections', async () => {
    const got = await attack(
      ['UDP', 'socket|2|2'],
      ['raw', 'socket|2|103'],
      ['ping', 'socket|2|102'],
      ['SCTP', 'socket|2|13201'],
      ['MPTCP', 'socket|2|26201'],
      ['UDP over IPv6', 'socket|10|2'],
      ['unix', 'socket|1|1'],
      ['packets', 'socket|17|3'],
      ['netlink', 'socket|16|3'],
      ['vsock', 'socket|40|1'],
      ['a pair of datagrams', 'pair'],
      ['bound', 'bind||0'],
      ['listening', 'listen'],
      ['by the numbers of x32', 'x32'],
      ['by a ring', 'uring'],
    );
    for (const [name, result] of Object.entries(got))
      if (name !== 'its own source') assert.match(result, /^(?:EACCES|EPERM)$/, name);
  });

  it('denies what would outlast the job, such as queues, shared memory and attributes', async () => {
    const got = await attack(
      ['shm', 'shm'],
      ['sem', 'sem'],
      ['msg', 'msg'],
      ['mq', 'mq'],
      ['xattr', `xattr|${server.tmp}`],
      ['key', 'keyring'],
    );
    assert.deepEqual(got, {
      'its own source': 'read',
      shm: 'EPERM',
      sem: 'EPERM',
      msg: 'EPERM',
      mq: 'EPERM',
      xattr: 'EPERM',
      key: 'EPERM',
    });
  });

  it('protects the launcher, whose limits and priority all later tools inherit', async () => {
    const got = await attack(
      ['limits', 'prlimit|1'],
      ['CPUs', 'affinity|1'],
      ['priority', 'nice|1|0'],
      ['priority of the group', 'nice|0|1'],
      ['priority of the user', 'nice|0|2'],
      ['priority of its disk', 'ionice|1|1'],
      ['trace', 'ptrace|1'],
      ['memory', 'vm|1'],
      ['its own limits', 'prlimit|0'],
    );
    for (const [name, result] of Object.entries(got))
      assert.equal(result, name === 'its own source' ? 'read' : name === 'its own limits' ? 'set' : 'EPERM', name);
    assert.deepEqual(await attack(['files', 'files']), { 'its own source': 'read', files: '256' });
  });

  it("keeps the launcher running on a tool's SIGTERM after its agent has disconnected", async () => {
    assert.deepEqual(await attack(['the launcher', 'kill|1|15']), { 'its own source': 'read', 'the launcher': 'sent' });
    launcher.close();
    launcher = new Launcher(server.socket);
    await launcher.whenConnected(5_000);
    assert.equal(await launcher.killAll(), true);
    assert.equal(server.process.exitCode, null);
  });

  it("leaves nothing behind, deep in the tool's directory or beside the launcher's socket", async () => {
    const got = await attack(
      ['deep', `deep|${server.tmp}|300`],
      ['beside', `write|${join(dirname(server.socket), 'left')}`],
    );
    assert.deepEqual(got, { 'its own source': 'read', deep: '300 levels', beside: 'written' });
    assert.equal(await launcher.killAll(), true);
    assert.deepEqual([readdirSync(server.tmp), readdirSync(dirname(server.socket))], [[], ['launcher.sock']]);
  });

  it('retires a pod whose socket was touched', async () => {
    await attack(['mode', `chmod|${server.socket}`]);
    assert.equal(await launcher.killAll(), false);
    chmodSync(server.socket, 0o660);
    assert.equal(await launcher.killAll(), true);
    await attack(['removed', `replace|${server.socket}`]);
    assert.equal(await launcher.killAll(), false);
  });

  it('still holds a process that left its tool, group and session, and which ends with the job', async () => {
    launcher.close();
    await server.restart();
    launcher = new Launcher(server.socket);
    await launcher.whenConnected(5_000);
    const got = await attack(['stays', `stay|${join(server.tmp, 'alive')}`]);
    assert.equal(got['stays'], 'stays');
    assert.equal(await launcher.killAll(), true);
    assert.deepEqual(readdirSync(server.tmp), []);
    assert.equal(touched, 0);
  });
});
