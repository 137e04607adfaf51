/**
 * `make vm`: the local node with the chart on it in a virtual machine, where the control groups are of version 2. The
 * machine is emulated, some ten times as slow as this one, so its deadlines are as much longer. Nothing is built there:
 * `make up` on this machine comes first, and images that have changed since are built here.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { say, timed } from '../../images/progress.ts';
import { withScratch } from '../../images/cache.ts';
import { fetchProgram } from '../debian_program.ts';
import { makeMachine, type Machine } from './disk.ts';

const SLOWNESS = 30;
const DEADLINE_MS = 7_200_000;
const MEMORY = process.env['MEMORY'] ?? '9G';
/** Test files to run on the node, behind `make up`. */
const TESTS = (process.env['TESTS'] ?? 'test/cluster/probe.test.ts').split(/\s+/).filter((name) => name !== '');

const WORK = `cd /work/main
export PROBEYARD_SLOWNESS=${SLOWNESS}
VALUES=test/vm/values.yaml node test/node/up.ts || exit 1
. .local/env
export PATH=/vm/path:$PWD/node_modules/.bin:$PATH
mocha --timeout 0 ${TESTS.join(' ')}
`;

/** A processor without what its emulation has wrong. */
const PROCESSOR = 'Nehalem';

const argsOf = ({ kernel, initramfs, disk }: Machine, programs: string, log: string): string[] =>
  [
    ...[programs, ''].map((root) => `-L ${root}/usr/share/seabios -L ${root}/usr/share/qemu`),
    '-display none -no-reboot -nodefaults',
    `-accel tcg,thread=multi,tb-size=1024 -cpu ${PROCESSOR} -smp 2 -m ${MEMORY} -device virtio-rng-pci`,
    `-drive file=${disk},format=raw,if=virtio,cache=unsafe -serial file:${log}`,
    `-kernel ${kernel} -initrd ${initramfs}`,
  ]
    .join(' ')
    .split(' ')
    .concat('-append', 'console=ttyS0 quiet loglevel=4 mitigations=off panic=5');

async function boot(machine: Machine, scratch: string): Promise<number> {
  const log = join(scratch, 'serial.log');
  const programs = await fetchProgram({ name: 'qemu-system-x86', program: 'usr/bin/qemu-system-x86_64' });
  const running = spawn(join(programs, 'usr/bin/qemu-system-x86_64'), argsOf(machine, programs, log), {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, LD_LIBRARY_PATH: join(programs, 'usr/lib/x86_64-linux-gnu') },
  });
  const stop = (): boolean => running.kill('SIGKILL');
  const timer = setTimeout(stop, DEADLINE_MS);
  process.once('SIGINT', stop).once('SIGTERM', stop);
  let shown = 0;
  const show = (): void => {
    const text = readFileSync(log, { encoding: 'utf8', flag: 'a+' });
    process.stdout.write(text.slice(shown));
    shown = text.length;
  };
  const showing = setInterval(show, 1_000);
  try {
    await once(running, 'close');
  } finally {
    clearTimeout(timer);
    clearInterval(showing);
    show();
  }
  return Number(/^vm: ended with (\d+)/m.exec(readFileSync(log, 'utf8'))?.[1] ?? 1);
}

await withScratch(async (scratch) => {
  const machine = await timed('the disk of the machine', () => makeMachine(scratch, WORK));
  const code = await boot(machine, scratch);
  say(code === 0 ? 'the node works with control groups of version 2' : 'it failed: see above');
  process.exitCode = code;
});
