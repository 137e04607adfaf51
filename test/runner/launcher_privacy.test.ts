import assert from 'node:assert/strict';
import { Launcher } from '../../src/service/runner/launcher.ts';
import { LIMITS, startLauncher } from './built_launcher.ts';

describe('launcher', function () {
  this.timeout(30_000);
  it('cannot be inspected by a tool, which runs as the same user', async function () {
    if (process.getuid?.() !== 0) {
      console.log('      skipped: another user id needs root');
      this.skip();
    }
    const server = await startLauncher({ uid: 64_124 });
    const launcher = new Launcher(server.socket);
    try {
      await launcher.whenConnected(5_000);
      const look = (what: string) =>
        launcher.run({ argv: ['/bin/sh', '-c', what], env: { PATH: '/usr/bin:/bin' }, limits: LIMITS });
      for (const file of ['environ', 'maps', 'mem', 'fd']) {
        const { stderr } = await look(
          `if [ -d /proc/${server.pid}/${file} ]; then ls ` +
            `/proc/${server.pid}/${file}/; else cat /proc/${server.pid}/${file}; ` +
            'fi',
        );
        assert.match(stderr.toString(), /permission denied/i, file);
      }
      // The launcher protects itself; the user id alone would not.
      assert.match((await look('cat /proc/$$/maps')).stdout.toString(), /stack/);
    } finally {
      launcher.close();
      await server.stop();
    }
  });

  it('limits the processes of a tool', async function () {
    if (process.getuid?.() !== 0) {
      console.log('      skipped: another user id needs root');
      this.skip();
    }
    const server = await startLauncher({ uid: 64_125 });
    const launcher = new Launcher(server.socket);
    try {
      await launcher.whenConnected(5_000);
      const forty = (processes: number) =>
        launcher.run({
          argv: ['/bin/sh', '-c', 'i=0; while [ $i -lt 40 ]; do sleep 20 & i=$((i+1)); done; echo all'],
          env: { PATH: '/usr/bin:/bin' },
          limits: { ...LIMITS, processes },
        });
      assert.equal((await forty(100)).stdout.toString(), 'all\n');
      assert.equal(await launcher.killAll(), true);
      const { stdout, stderr } = await forty(20);
      assert.equal(stdout.toString(), '');
      assert.match(stderr.toString(), /fork/i);
    } finally {
      await launcher.killAll();
      launcher.close();
      await server.stop();
    }
  });
});
