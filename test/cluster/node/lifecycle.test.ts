import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE_PARTS } from '../../node/parts.ts';
import { buildParts } from '../../node/build.ts';
import { readHierarchies, removeCgroup } from '../../node/cgroups.ts';
import { attempt } from '../../node/command.ts';
import { localDir, NODE } from '../../node/layout.ts';
import { unlessLong } from '../../long.ts';

/** Shell functions: `up`, `down` and `leftovers` of this checkout, and the process ids of the daemons. */
const WORDS = `
cd ${join(import.meta.dirname, '..', '..', '..')}
run() { ${process.execPath} "$@"; }
up() { run test/node/up.ts --node-only; }
down() { run test/node/down.ts; }
pid() { cut -d' ' -f3 ${NODE.runDir}/processes/$1; }
pods() { .local/bin/kubectl --kubeconfig .local/kubeconfig get pods -A; }
exec 2>&1
`;

describe('life cycle of the node, on an isolated machine', function () {
  this.timeout(300_000);
  const name = `probeyard-machine-${process.pid}`;
  const disk = mkdtempSync(join(tmpdir(), 'probeyard-machine-'));
  let boot = randomUUID();

  before(async function () {
    const reason =
      process.getuid?.() === 0
        ? readHierarchies()?.version === 1
          ? undefined
          : 'the machine within the machine is written for cgroup v1'
        : 'needs root';
    if (reason !== undefined) {
      console.log(`    skipped: ${reason}`);
      this.skip();
    }
    await buildParts(NODE_PARTS);
  });

  after(async () => {
    await removeCgroup(name);
    rmSync(disk, { recursive: true, force: true });
  });

  /**
   * The output of a script on the machine. When the script ends, the machine is turned off with all of its processes.
   */
  async function on(script: string): Promise<string> {
    const result = await attempt(
      'bash',
      [join(import.meta.dirname, 'machine.sh'), disk, name, boot, 'bash', '-c', WORDS + script],
      {
        env: { LOCAL: localDir },
        timeoutMs: 240_000,
      },
    );
    await removeCgroup(name);
    return result.stdout + result.stderr;
  }

  it('starts, changes nothing the second time, repairs killed parts, and leaves nothing behind', async () => {
    const output = await on(`
      run test/node/leftovers.ts write /run/before.json
      up
      echo "# second"; up
      echo "# killed daemons"; kill -9 $(pid kube-apiserver) $(pid containerd); up; pods
      echo "# down"; down; run test/node/leftovers.ts compare /run/before.json
      echo "# down again"; down`);
    const [first, second, mended, gone, again] = output.split(/^# .*$/m);
    assert.match(first!, /CoreDNS is ready/, output);
    assert.match(second!, /nothing changed/);
    assert.match(mended!, /kube-apiserver (re)?started/);
    assert.match(mended!, /containerd (re)?started/);
    assert.doesNotMatch(mended!, /etcd (re)?started/);
    assert.match(mended!, /coredns-\S+ +1\/1 +Running/);
    assert.match(gone!, /^ .*down: no process/m);
    assert.match(gone!, /nothing of the node is left/);
    assert.match(again!, /nothing is up/);
  });

  it('starts after a make up that was killed at any step, and stops after one', async function () {
    unlessLong(this, 'it starts the node several times');
    // Killed when it prints the step, which is early, in the middle or late.
    const killAt = (text: string): string => `
      mkfifo /run/said; ${process.execPath} test/node/up.ts --node-only > /run/said & maker=$!
      while read -r line; do
        case $line in *"${text}"*) kill -9 $maker; echo "killed after: $line"; break;; esac
      done < /run/said
      rm /run/said; wait $maker 2>/dev/null || true`;
    const output = await on(`
      run test/node/leftovers.ts write /run/before.json
      ${killAt('etcd')}
      ${killAt('kube-apiserver')}
      ${killAt('kubelet')}
      up; pods
      kill -9 $(pid etcd) $(pid kubelet)
      ${killAt('etcd')}
      down; run test/node/leftovers.ts compare /run/before.json`);
    assert.equal(output.match(/killed after/g)?.length, 4, output);
    assert.match(output, /coredns-\S+ +1\/1 +Running/);
    assert.match(output, /nothing of the node is left/);
  });

  it('starts after a reboot with its contents, and stops after one', async function () {
    unlessLong(this, 'it starts the node several times');
    await on('up; .local/bin/kubectl --kubeconfig .local/kubeconfig create namespace kept');
    boot = randomUUID();
    const output = await on('up; .local/bin/kubectl --kubeconfig .local/kubeconfig get namespace kept -o name; pods');
    assert.match(output, /the machine was restarted/);
    assert.match(output, /^namespace\/kept$/m);
    assert.match(output, /coredns-\S+ +1\/1 +Running/);
    boot = randomUUID();
    const down = await on(`down; ls ${NODE.stateDir} ${NODE.runDir}`);
    assert.match(down, /down: no process/);
    assert.equal(down.match(/No such file or directory/g)?.length, 2, down);
  });

  it('names the process on a port that it needs, and starts nothing', async () => {
    const output = await on(`
      listen="require('net').createServer().listen(10250, '0.0.0.0', () => console.log('listening'))"
      ${process.execPath} -e "$listen" > /run/said & holder=$!
      until grep -q listening /run/said; do sleep 0.1; done
      up; kill $holder; cat /sys/fs/cgroup/*/${NODE.name}/system/cgroup.procs`);
    assert.match(output, /make up: the node needs ports that are in use: 10250 by \S+ \(pid \d+\)/);
    assert.doesNotMatch(output, /etcd/);
  });

  it('reports a full disk', async () => {
    const output = await on(`
      mkdir -p ${NODE.stateDir}; mount -t tmpfs -o size=1g none ${NODE.stateDir}
      up; umount ${NODE.stateDir}; rmdir ${NODE.stateDir}`);
    assert.match(output, /make up: the node needs 3 GB below \S+, where \S+ GB are free: free some space/);
  });

  it('reports that it needs root', async () => {
    const output = await on(`setpriv --reuid 65534 --clear-groups ${process.execPath} test/node/up.ts`);
    assert.match(output, /make up: the local node needs root/);
  });
});
