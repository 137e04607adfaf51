/** Completion in the shells themselves. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { offered, SCRIPTS } from '../../src/cli/completion.ts';
import { KUBECTL_PROGRAM, PROGRAM } from '../../src/cli/programs.ts';
import { fetchProgram } from '../debian_program.ts';
import { standInsOfCheckout } from './stand_in.ts';

interface Shell {
  program: string;
  env: NodeJS.ProcessEnv;
  /** Where its own functions are. */
  functions: string;
  modules: string;
}

/** A shell of Debian, in the cache. Null, with the reason printed: it cannot be had. */
async function shellOf(name: string, program: string, functions: string): Promise<Shell | null> {
  try {
    const root = await fetchProgram({ name, program });
    const libraries = join(root, 'usr/lib', `${MACHINES[process.arch]}-linux-gnu`);
    return {
      program: join(root, program),
      env: { PATH: process.env['PATH'], HOME: root, LD_LIBRARY_PATH: libraries },
      functions: join(root, functions),
      modules: libraries,
    };
  } catch (error) {
    console.log(`        skipped: ${name} cannot be had: ${(error as Error).message}`);
    return null;
  }
}
const MACHINES: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' };

/** What is offered for a line whose last word is not finished. */
const LINES: [string[], string[]][] = [
  [['ver'], ['versions']],
  [['co'], ['compare', 'completion']],
  [['check', '--fail'], ['--fail-on']],
  [['check', '-o', 's'], ['sarif']],
  [['hls', '--fail-on', 's'], ['should-fix']],
  [['completion', 'z'], ['zsh']],
  [
    ['token', 'r'],
    ['revoke', 'rotate'],
  ],
];

/** In an interactive zsh: what a completion offers goes to the file `offered`. */
const OFFERED = `
compadd() {
  local -a found
  if [[ \${@[1,(i)(-|--)]} != *-(O|A|D)\\ * ]]; then
    builtin compadd -A found "$@"
    print -rl -- $found >> $OUT/offered
  fi
  builtin compadd "$@"
}
comppostfuncs=(ended)
ended() { print >> $OUT/ended }
bindkey '^I' complete-word
print > $OUT/ready
`;
/** Types a line and Tab at an interactive zsh, in a terminal: program, folder, line. */
const TYPED = `
zmodload zsh/zpty zsh/zselect
await() { until [[ -e $1 ]]; do zpty -r -t line _ ''; zselect -t 2; done }
rm -f $2/{offered,ended,ready}
zpty line "OUT=$2 $1 -f -i"
zpty -w line "source $2/inner"
await $2/ready
zpty -w -n line "$3"$'\\t'
await $2/ended
zpty -d line
sort -u $2/offered
`;

describe('completion', function () {
  this.timeout(600_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-completion-'));
  const before = process.env['PATH'];
  // The shells ask the program.
  this.beforeAll(() => {
    process.env['PATH'] = `${standInsOfCheckout(join(folder, 'bin'))}:${before}`;
  });
  this.afterAll(() => {
    process.env['PATH'] = before;
    rmSync(folder, { recursive: true, force: true });
  });

  it('bash completes commands, options and values', () => {
    for (const [words, expected] of LINES) {
      const script = `${SCRIPTS['bash']}
COMP_WORDS=(probeyard ${words.map((word) => `'${word}'`).join(' ')}) COMP_CWORD=${words.length}
_probeyard
printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8', timeout: 20_000 });
      assert.equal(stderr, '');
      assert.deepEqual(stdout.trim().split('\n').toSorted(), expected, words.join(' '));
    }
  });

  it('zsh completes commands, options and values', async function () {
    const shell = await shellOf('zsh', 'bin/zsh', 'usr/share/zsh/functions');
    if (!shell) return this.skip();
    const { program, env, functions, modules } = shell;
    const paths = `module_path=(${modules}/zsh/*(/N)) fpath=(${functions}/**/*(/N) ${functions})`;
    const inner = `${paths}\nautoload -U compinit && compinit -D -u\n${SCRIPTS['zsh']}\n${OFFERED}`;
    writeFileSync(join(folder, 'inner'), inner);
    for (const [words, expected] of LINES) {
      const script = `${paths}\n${TYPED}`;
      const { stdout, stderr } = spawnSync(
        program,
        ['-f', '-c', script, 'zsh', program, folder, `probeyard ${words.join(' ')}`],
        { env, encoding: 'utf8', timeout: 40_000 },
      );
      assert.deepEqual([stdout.trim().split('\n').toSorted(), stderr], [expected, ''], words.join(' '));
    }
  });

  it('fish completes commands, options and values', async function () {
    const shell = await shellOf('fish', 'usr/bin/fish', 'usr/share/fish/functions');
    if (!shell) return this.skip();
    const { program, env, functions } = shell;
    for (const [words, expected] of LINES) {
      const script = `set -g fish_function_path ${functions}
${SCRIPTS['fish']}
complete -C 'probeyard ${words.join(' ')}'`;
      const { stdout, stderr } = spawnSync(program, ['--no-config', '-c', script], {
        env,
        encoding: 'utf8',
        timeout: 40_000,
      });
      const shown = stdout
        .trim()
        .split('\n')
        .map((line) => line.split('\t')[0]);
      assert.deepEqual([shown.toSorted(), stderr], [expected, ''], words.join(' '));
    }
  });
});

describe('what may follow the words of a line', () => {
  const KUBECTL = ['probe', 'result', 'explain', 'tools', 'pools', 'top', 'upgrade', 'support-bundle', 'doctor'];
  const FILES = 'files';
  for (const [program, words, expected] of [
    [KUBECTL_PROGRAM, [], KUBECTL],
    [KUBECTL_PROGRAM, ['support-bundle', '-f', ''], FILES],
    [KUBECTL_PROGRAM, [''], KUBECTL],
    [KUBECTL_PROGRAM, ['pro'], ['probe']],
    [KUBECTL_PROGRAM, ['upgrade', ''], ['ffprobe', 'mediainfo']],
    [KUBECTL_PROGRAM, ['upgrade', '--pol'], ['--policy']],
    [KUBECTL_PROGRAM, ['top', '-o', 'j'], ['json']],
    [KUBECTL_PROGRAM, ['top', '--context', ''], []],
    [KUBECTL_PROGRAM, ['none', ''], []],
    [PROGRAM, ['--'], ['--help', '--version']],
    [PROGRAM, ['token', ''], ['list', 'create', 'rotate', 'revoke']],
    [PROGRAM, ['token', '--name', 'ci', 'c'], ['create']],
    [PROGRAM, ['token', 'revoke', ''], []],
    [PROGRAM, ['batch', 'create', ''], FILES],
    [PROGRAM, ['ffprobe', '-v', 'quiet', 'fil'], FILES],
    [PROGRAM, ['probe', 'a.mp4', 'b'], FILES],
    [PROGRAM, ['check', 'a.mp4', '--policy', ''], FILES],
    [PROGRAM, ['check', 'a.mp4', '--timeout', ''], []],
  ] as const)
    it(`${program.name} ${JSON.stringify(words)}`, () => {
      const { offers, isFile } = offered(program, words);
      const found = offers.map(({ word }) => word);
      assert.deepEqual([found, isFile], expected === FILES ? [[], true] : [[...expected], false]);
    });
});
