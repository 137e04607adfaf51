import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RUN_FOLDER } from './once_per_run.ts';
import { hasEnded } from './processes.ts';
import type { Counts } from './test_messages.ts';
import { until } from './until.ts';

const here = JSON.stringify(import.meta.dirname);

/** A folder with test files of this text, and a program that runs them in processes, as `make test-unit` does. */
function folderOf(texts: Record<string, string>, processes: number, beside = ''): { folder: string; program: string } {
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-files-'));
  mkdirSync(join(folder, 'made'));
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, `${name}.test.mjs`), text);
  const names = JSON.stringify(Object.keys(texts).map((name) => `${name}.test.mjs`));
  const text =
    `const { runFiles } = await import(${here} + '/files.ts');\n` +
    `const all = await runFiles(${JSON.stringify(folder)}, ${names}, ${processes}, ${beside || undefined});\n` +
    `console.log('\\n' + JSON.stringify(all));`;
  const program = join(folder, 'program.mjs');
  writeFileSync(program, text);
  return { folder, program };
}

const envOf = (folder: string): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  XDG_CACHE_HOME: join(folder, 'cache'),
  MADE: join(folder, 'made'),
});

/** What the files count, printed and made. */
function counted(...files: Parameters<typeof folderOf>): Counts & { made: string[]; printed: string } {
  const { folder, program } = folderOf(...files);
  try {
    const env = envOf(folder);
    const printed = execFileSync(process.execPath, [program], { encoding: 'utf8', env, timeout: 120_000 });
    const all = JSON.parse(printed.trim().split('\n').at(-1)!) as Counts[];
    const sum = (of: 'passes' | 'failures') => all.reduce((total, counts) => total + counts[of], 0);
    return {
      passes: sum('passes'),
      failures: sum('failures'),
      skipped: all.flatMap(({ skipped }) => skipped),
      failed: all.flatMap(({ failed }) => failed.map((text) => text.split('\n').slice(0, 2).join('; '))).sort(),
      made: readdirSync(join(folder, 'made')),
      printed,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const PASSES = `it('passes', () => {});`;

describe('processes of test files', function () {
  this.timeout(150_000);

  it('count what passes, fails and is skipped in each file', () => {
    const {
      made,
      printed: _,
      ...counts
    } = counted(
      { one: PASSES, two: `${PASSES} it('fails', () => { throw new Error('no'); }); it.skip('is left out');` },
      1,
    );
    assert.deepEqual(made, []);
    assert.deepEqual(counts, {
      passes: 2,
      failures: 1,
      skipped: ['two.test.mjs: is left out'],
      failed: ['two.test.mjs: fails;   Error: no'],
    });
  });

  it('a process that ends within a file is a failure, and another one runs the files that are left', () => {
    const { passes, failed } = counted(
      { a: `it('ends the process', () => process.exit(3));`, b: PASSES, c: PASSES },
      1,
    );
    assert.equal(passes, 2);
    assert.deepEqual(failed, ['a.test.mjs: the process ended (exit code 3)']);
  });

  it('a file that cannot be loaded, an error after a test and a lost promise are failures', () => {
    const { passes, failed } = counted(
      {
        a: `import './nowhere.mjs';`,
        b: `it('loses a promise', (done) => { Promise.reject(new Error('lost')); setTimeout(done, 200); });`,
        c: `${PASSES} setTimeout(() => { throw new Error('late'); }, 5);`,
        d: `it('is slow', (done) => { setTimeout(done, 300); });`,
      },
      1,
    );
    assert.ok(passes >= 1, 'the last file runs');
    for (const expected of [/^a\.test\.mjs: cannot be loaded/, /lost/, /late/])
      assert.ok(
        failed.some((text) => expected.test(text)),
        `${expected}: ${failed.join('\n')}`,
      );
  });

  it('make once what several of them need, and run what `atEnd` registers after their last file', () => {
    const text = `
      import { readdirSync, writeFileSync } from 'node:fs';
      import { atEnd } from ${JSON.stringify(join(import.meta.dirname, 'at_end.ts'))};
      import { oncePerRun } from ${JSON.stringify(join(import.meta.dirname, 'once_per_run.ts'))};
      import { until } from ${JSON.stringify(join(import.meta.dirname, 'until.ts'))};
      const note = (what) => writeFileSync(process.env.MADE + '/' + what + '-' + process.pid, '');
      atEnd(async () => note('end'));
      note('here');
      const both = () => readdirSync(process.env.MADE).filter((name) => name.startsWith('here-')).length === 2;
      it('asks', async () => {
        // Neither process runs both files.
        await until('the other process has its file', both, 30_000);
        await oncePerRun('thing', async () => note('made'));
      });`;
    const { passes, failures, made } = counted({ a: text, b: text }, 2);
    assert.deepEqual([passes, failures], [2, 0]);
    assert.deepEqual(made.map((name) => name.replace(/-\d+$/, '')).sort(), ['end', 'end', 'here', 'here', 'made']);
  });

  it('say how long each file waited, and for what', () => {
    const text = `
      import { setTimeout as delay } from 'node:timers/promises';
      import { until } from ${JSON.stringify(join(import.meta.dirname, 'until.ts'))};
      it('waits', () => until('it is over', () => delay(2_100, true)));`;
    const { printed } = counted({ a: text, b: PASSES }, 1);
    assert.match(printed, /^ {4}a\.test\.mjs \d+ s \(CPU \d+\.\d s\); waited: it is over \(\d+ s\)$/m);
    assert.match(printed, /^ {4}b\.test\.mjs \d+ s \(CPU \d+\.\d s\)$/m);
  });

  it('have what runs beside them from the first to the last, in the folder of their run', () => {
    const text = `
      import assert from 'node:assert/strict';
      import { readFileSync, writeFileSync } from 'node:fs';
      const run = process.env[${JSON.stringify(RUN_FOLDER)}];
      it('sees it', () => {
        assert.equal(readFileSync(run + '/state', 'utf8'), 'runs');
        writeFileSync(process.env.MADE + '/seen', '');
      });`;
    const beside = `async (folder) => {
      const { existsSync, writeFileSync } = await import('node:fs');
      writeFileSync(folder + '/state', 'runs');
      return async () => {
        if (existsSync(process.env.MADE + '/seen')) writeFileSync(process.env.MADE + '/ended', '');
      };
    }`;
    const { made, failures } = counted({ a: text }, 1, beside);
    assert.deepEqual([made, failures], [['ended', 'seen'], 0]);
  });

  const SERVES = `
    import { writeFileSync } from 'node:fs';
    import { daemon, makeDirectory } from ${JSON.stringify(join(import.meta.dirname, 'server_process.ts'))};
    it('serves', async () => {
      makeDirectory('served');
      const server = daemon(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {}, async () => {});
      await server.start();
      writeFileSync(process.env.MADE + '/' + server.pid(), '');
      await new Promise((resolve) => setTimeout(resolve, 100_000));
    });`;
  for (const [what, signal, argsOf] of [
    [
      'a part gets SIGTERM',
      'SIGTERM',
      ({ folder }) => [join(import.meta.dirname, 'part.ts'), join(folder, 'a.test.mjs')],
    ],
    ['the run gets SIGTERM', 'SIGTERM', ({ program }) => [program]],
    ['the run is killed', 'SIGKILL', ({ program }) => [program]],
  ] as const satisfies [string, NodeJS.Signals, (of: ReturnType<typeof folderOf>) => string[]][])
    it(`leave no server and no folder behind when ${what}`, async () => {
      const of = folderOf({ a: SERVES }, 1);
      const TMPDIR = join(of.folder, 'servers');
      mkdirSync(TMPDIR);
      const run = spawn(process.execPath, argsOf(of), { env: { ...envOf(of.folder), TMPDIR }, stdio: 'ignore' });
      const ended = once(run, 'exit');
      try {
        const pid = await until('it serves', () => Number(readdirSync(join(of.folder, 'made'))[0]), 60_000);
        run.kill(signal);
        await ended;
        await until('the server has ended', () => hasEnded(pid));
        // A killed run removes nothing itself.
        const isLeft = (name: string): boolean => signal === 'SIGTERM' || !name.startsWith('probeyard-run-');
        await until('its folders are gone', () => !readdirSync(TMPDIR).some(isLeft));
      } finally {
        run.kill('SIGKILL');
        rmSync(of.folder, { recursive: true, force: true });
      }
    });
});
