/**
 * Shows that `make down` leaves a machine as it was:
 *   node test/node/leftovers.ts write before.json; make up; make down; node test/node/leftovers.ts compare
 * before.json Lists everything that differs; ends with 1 if any of it is the node's.
 */
import { readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import { cacheDir } from './build.ts';
import { NODE, SIMULATED } from './layout.ts';
import { isBelow } from './mounts.ts';
import { differences, Snapshot, takeSnapshot } from './snapshot.ts';
import { isOurs } from './teardown.ts';

const Machine = Type.Object({ snapshot: Snapshot, processes: Type.Record(Type.String(), Type.String()) });
type Machine = Static<typeof Machine>;

/** Programs by process id, without kernel threads. */
async function readMachine(): Promise<Machine> {
  const processes: Record<string, string> = {};
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const program = await readlink(`/proc/${pid}/exe`).catch(() => undefined);
    if (program !== undefined) processes[pid] = program;
  }
  return { snapshot: await takeSnapshot(), processes };
}

export async function compare(before: Machine): Promise<{ lines: string[]; ours: number }> {
  const after = await readMachine();
  const lines: string[] = [];
  let ours = 0;
  const tell = (mine: boolean, text: string): void => {
    if (mine) ours++;
    lines.push(`${mine ? 'OURS  ' : 'other '} ${text}`);
  };
  for (const { list, added, removed } of differences(before.snapshot, after.snapshot)) {
    for (const item of added) tell(isOurs(NODE, list, item) || isOurs(SIMULATED, list, item), `${list} + ${item}`);
    for (const item of removed) tell(false, `${list} - ${item}`);
  }
  for (const [pid, program] of Object.entries(after.processes)) {
    if (before.processes[pid] !== program)
      tell(isBelow(program, [join(cacheDir, 'bin')]), `process + ${pid} ${program}`);
  }
  return { lines, ours };
}

if (import.meta.main) {
  const [verb, file] = process.argv.slice(2);
  if (file === undefined || (verb !== 'write' && verb !== 'compare')) {
    console.error('usage: leftovers.ts write|compare FILE');
    process.exit(2);
  }
  if (verb === 'write') await writeFile(file, JSON.stringify(await readMachine(), null, 2));
  else {
    const { lines, ours } = await compare(Value.Parse(Machine, JSON.parse(await readFile(file, 'utf8'))));
    for (const line of lines) console.log(line);
    console.log(ours === 0 ? 'nothing of the node is left' : `${ours} things of the node are left`);
    process.exitCode = ours === 0 ? 0 : 1;
  }
}
