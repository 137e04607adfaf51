/** What the probes find on this machine, and where something is made to be missing. */
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Finding, decoded } from '../../src/service/doctor/finding.ts';
import type { Place } from '../../src/service/doctor/places.ts';
import { launcherWall } from '../../src/service/doctor/checks/runner.ts';
import { natsTls } from '../../src/service/setup/certificates.ts';
import { buildLauncher } from '../runner/built_launcher.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');
/** Nothing listens there; the metadata service of a cloud may be reachable from here. */
const NONE = '127.0.0.1:1';

const REFUSE = `
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **arguments) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_seccomp, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | (FLAG ? BPF_JSET : BPF_JGE) | BPF_K, FLAG, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 3;
  return execv(PROGRAM, arguments);
}
`;

interface Ran {
  code: number;
  findings: readonly Finding[];
  stderr: string;
}

/** The role as its pod runs it. */
async function doctor(place: Place, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const command = [MAIN, 'doctor', place, '--settle', '0', '--metadata', NONE, '--json', ...args];
  const { code, stdout, stderr } = await promisify(execFile)(process.execPath, command, {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...env },
    timeout: 60_000,
  }).then(
    (done) => ({ ...done, code: 0 }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
  return { code, findings: decoded(stdout) ?? assert.fail(`${code}: ${stdout}${stderr}`), stderr };
}
const of = ({ findings }: Ran, id: string): Finding =>
  findings.find((one) => one.id === id) ?? assert.fail(`no finding ${id}`);

describe('doctor: probes', function () {
  this.timeout(120_000);
  let folder: string;
  const servers: Server[] = [];
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-doctor-'));
  });
  after(() => {
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function listening(server: Server): Promise<number> {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  describe('of the API server', () => {
    let certificates: Awaited<ReturnType<typeof natsTls>>;
    let ca: string;
    before(async () => {
      certificates = await natsTls(['localhost']);
      ca = join(folder, 'ca.crt');
      writeFileSync(ca, certificates['ca.crt']!);
    });

    /** One whose clock is ahead by so much, and which takes its time. */
    async function apiServer({ aheadMs = 0, slowMs = 0 } = {}): Promise<string[]> {
      const tls = { cert: certificates['tls.crt']!, key: certificates['tls.key']! };
      const server = createHttps(tls, (_request, response) => {
        setTimeout(() => {
          response.setHeader('date', new Date(Date.now() + aheadMs).toUTCString());
          response.writeHead(403).end('{}');
        }, slowMs);
      });
      return ['--ca', ca, '--api-server', `https://localhost:${await listening(server)}`];
    }

    it('the clock is right, and an answer of 403 is one', async () => {
      const ran = await doctor('service', [...(await apiServer()), '--name', 'localhost']);
      assert.equal(of(ran, 'clock').status, 'pass', of(ran, 'clock').found);
      assert.equal(of(ran, 'dns').status, 'pass');
      assert.match(of(ran, 'api-latency').found, /^median /);
    });

    for (const [aheadMs, status] of [
      [30_000, 'warn'],
      [-300_000, 'fail'],
    ] as const)
      it(`${status} for a clock that differs by ${Math.abs(aheadMs) / 1000} s`, async () => {
        const ran = await doctor('service', [...(await apiServer({ aheadMs })), '--name', 'localhost']);
        const { found, status: is } = of(ran, 'clock');
        assert.equal(is, status, found);
        assert.match(found, aheadMs > 0 ? /^(29|30)\.\d s behind/ : /^(299|300)\.\d s ahead of/);
        assert.equal(ran.code, status === 'fail' ? 1 : 0);
      });

    it('warns of a slow one', async () => {
      const ran = await doctor('service', [...(await apiServer({ slowMs: 300 })), '--name', 'localhost']);
      assert.equal(of(ran, 'api-latency').status, 'warn', of(ran, 'api-latency').found);
    });

    it('a certificate of another authority: unknown, with the cause', async () => {
      const other = join(folder, 'other.crt');
      writeFileSync(other, (await natsTls(['localhost']))['ca.crt']!);
      const given = await apiServer();
      const ran = await doctor('service', [...given, '--ca', other, '--name', 'localhost']);
      assert.equal(of(ran, 'clock').status, 'unknown');
      assert.match(of(ran, 'clock').found, /not measured: .*certificate/);
      const missing = await doctor('service', [...given, '--ca', join(folder, 'none'), '--name', 'localhost']);
      assert.match(of(missing, 'api-latency').found, /certificate authority .* cannot be read/);
    });
  });

  it('DNS: a name that does not exist fails, with its name', async () => {
    const ran = await doctor('service', ['--name', 'no-such-name.invalid']);
    assert.equal(of(ran, 'dns').status, 'fail');
    assert.match(of(ran, 'dns').found, /^no-such-name\.invalid: (ENOTFOUND|EAI_AGAIN)/);
    assert.equal(ran.code, 1);
  });

  it('NetworkPolicy: says which address was reached, and fails only where it is required', async () => {
    const port = await listening(createServer((socket) => socket.destroy()));
    const open = `127.0.0.1:${port}`;
    const enforced = of(await doctor('runner', ['--closed', '127.0.0.1:2']), 'network-policy');
    assert.equal(enforced.status, 'pass', enforced.found);
    assert.equal(enforced.found, `enforced: a runner does not reach ${NONE}, 127.0.0.1:2`);
    const not = of(await doctor('runner', ['--closed', open]), 'network-policy');
    assert.deepEqual([not.status, not.found], ['warn', `not enforced: a runner reaches ${open}`]);
    const required = await doctor('runner', ['--closed', open, '--require-network-policy']);
    assert.deepEqual([of(required, 'network-policy').status, required.code], ['fail', 1]);
    const cut = await doctor('runner', ['--closed', open, '--nats', NONE]);
    assert.equal(of(cut, 'network-policy').found, `a runner does not reach NATS at ${NONE}`);
  });

  it('Probeyard API: answers, and does not', async () => {
    const port = await listening(createHttp((_request, response) => response.end('ok')));
    const ran = await doctor('installed', ['--api', `http://127.0.0.1:${port}`, '--name', 'localhost']);
    assert.equal(of(ran, 'api').found, `it answers at http://127.0.0.1:${port}`);
  });

  it('sample: is probed with the token, which is printed nowhere', async () => {
    const token = 'Zz9'.repeat(22).slice(0, 64);
    const [asked, answers] = [[] as string[], [200, 503]];
    const port = await listening(
      createHttp((request, response) => {
        if (request.url === '/healthz') return response.end('ok');
        asked.push(`${request.url} ${request.headers.authorization}`);
        const status = answers.shift()!;
        return response.writeHead(status).end(JSON.stringify({ success: status === 200, error: 'no runner' }));
      }),
    );
    const args = ['--api', `http://127.0.0.1:${port}`, '--source', 'http://samples/a.mp4'];
    const probe = () => doctor('sample', args, { PY_DOCTOR_TOKEN: token });
    const good = await probe();
    assert.deepEqual(asked, [`/v1/probe/file?url=http%3A%2F%2Fsamples%2Fa.mp4&cache%5Bmax_age%5D=0 Bearer ${token}`]);
    assert.equal(of(good, 'sample').found, 'http://samples/a.mp4 was probed');
    const bad = await probe();
    assert.deepEqual([of(bad, 'sample').status, bad.code], ['fail', 1]);
    assert.match(of(bad, 'sample').found, /was not probed: HTTP 503: no runner$/);
    assert.ok(!JSON.stringify([good, bad]).includes(token));
  });

  it('image volumes: a program runs, is not executable, is missing', async () => {
    const place = join(folder, 'image/app/bin');
    mkdirSync(place, { recursive: true });
    const program = join(place, 'node');
    const status = async (): Promise<string> => {
      const { status: is, found } = of(
        await doctor('image-volume', ['--folder', join(folder, 'image')]),
        'image-volume',
      );
      return `${is}: ${found}`;
    };
    assert.match(await status(), /^fail: .*ENOENT$/);
    copyFileSync('/bin/true', program);
    chmodSync(program, 0o755);
    assert.match(await status(), /^pass/);
    chmodSync(program, 0o644);
    assert.match(await status(), /^fail: .*EACCES$/);
  });

  it('storage: measures a folder, and fails where nothing can be written', async () => {
    const ran = await doctor('storage', ['--folder', folder]);
    assert.match(of(ran, 'storage').found, /^median [\d.]+ m?s, 19 of 20 within /);
    const none = await doctor('storage', ['--folder', join(folder, 'no-such')]);
    assert.deepEqual([of(none, 'storage').status, none.code], ['unknown', 0]);
  });

  it('storage: a disk whose syncs take 40 ms is a warning', async () => {
    const slow = join(folder, 'slow.so');
    writeFileSync(
      join(folder, 'slow.c'),
      '#include <unistd.h>\n#include <sys/syscall.h>\n' +
        'int fdatasync(int fd) { usleep(40000); return (int)syscall(SYS_fdatasync, fd); }\n',
    );
    execFileSync('cc', ['-shared', '-fPIC', '-o', slow, join(folder, 'slow.c')], { timeout: 30_000 });
    const { status, found } = of(await doctor('storage', ['--folder', folder], { LD_PRELOAD: slow }), 'storage');
    assert.equal(status, 'warn', found);
    assert.match(found, /^median (4\d|[5-9]\d|\d{3}) ms/);
  });

  /** A program that starts another one where seccomp() is refused: with one flag, or always. */
  function withoutSeccomp(flag: string, program: string): string {
    const [source, built] = [join(folder, 'refuse.c'), join(folder, `refuse${flag.length}`)];
    writeFileSync(source, REFUSE);
    execFileSync('cc', [flag, `-DPROGRAM="${program}"`, '-o', built, source], { timeout: 30_000 });
    return built;
  }

  it('the launcher says what it filters; without seccomp it does not', async () => {
    const launcher = await buildLauncher();
    assert.equal(await launcherWall(launcher, folder), 'watched');
    for (const [flags, wall] of [
      ['-DFLAG=SECCOMP_FILTER_FLAG_NEW_LISTENER', 'filtered'],
      ['-DFLAG=0', 'none'],
    ] as const)
      assert.equal(await launcherWall(withoutSeccomp(flags, launcher), folder), wall);
    await assert.rejects(launcherWall('/bin/false', folder), /the launcher does not answer: it ended with 1/);
    await assert.rejects(launcherWall(join(folder, 'none'), folder), /ENOENT/);
  });

  it('refuses a place that does not exist, and arguments that it does not know', () => {
    for (const args of [
      ['nowhere'],
      [],
      ['runner', '--closed', 'x'],
      ['runner', '--wrong'],
      ['runner', '--settle', '-1'],
    ]) {
      const { status, stderr } = spawnSync(process.execPath, [MAIN, 'doctor', ...args], { encoding: 'utf8' });
      assert.equal(status, 2, stderr);
      assert.match(stderr, /usage: main\.ts doctor PLACE/);
    }
  });
});
