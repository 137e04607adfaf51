/** Completion in the shells themselves. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { bash } from '../../src/cli/completion/bash.ts';
import { fish } from '../../src/cli/completion/fish.ts';
import { offered } from '../../src/cli/completion/offered.ts';
import { zsh } from '../../src/cli/completion/zsh.ts';
import { KUBECTL_PROGRAM, PROGRAM } from '../../src/cli/programs.ts';
import { fetchProgram } from '../debian_program.ts';

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

describe('completion', function () {
  this.timeout(600_000);

  it('bash completes commands, options and values', () => {
    for (const [words, expected] of LINES) {
      const script = `${bash(PROGRAM)}
COMP_WORDS=(probeyard ${words.map((word) => `'${word}'`).join(' ')}) COMP_CWORD=${words.length}
_probeyard
printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8', timeout: 20_000 });
      assert.equal(stderr, '');
      assert.deepEqual(stdout.trim().split('\n').toSorted(), expected, words.join(' '));
    }
  });

  it('zsh reads its completion', async function () {
    const zsh_ = await shellOf('zsh', 'bin/zsh', 'usr/share/zsh/functions');
    if (!zsh_) return this.skip();
    const { program, env, functions, modules } = zsh_;
    const script = `module_path=(${modules}/zsh/*(/N)) fpath=(${functions}/**/*(/N) ${functions})
autoload -U compinit && compinit -D -u
${zsh(PROGRAM)}
print -r -- \${_comps[probeyard]}`;
    const { stdout, stderr } = spawnSync(program, ['-f', '-c', script], { env, encoding: 'utf8', timeout: 40_000 });
    assert.deepEqual([stdout.trim(), stderr], ['_probeyard', '']);
  });

  it('fish completes commands, options and values', async function () {
    const shell = await shellOf('fish', 'usr/bin/fish', 'usr/share/fish/functions');
    if (!shell) return this.skip();
    const { program, env, functions } = shell;
    for (const [words, expected] of LINES) {
      const script = `set -g fish_function_path ${functions}
${fish(PROGRAM)}
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

describe('completion of the plugin', () => {
  for (const [words, expected] of [
    [[], ['probe', 'result', 'explain', 'tools', 'pools', 'top', 'upgrade', 'support-bundle', 'doctor']],
    [[''], ['probe', 'result', 'explain', 'tools', 'pools', 'top', 'upgrade', 'support-bundle', 'doctor']],
    [['pro'], ['probe']],
    [
      ['upgrade', ''],
      ['ffprobe', 'mediainfo'],
    ],
    [['upgrade', '--pol'], ['--policy']],
    [['top', '-o', 'j'], ['json']],
    [['top', '--context', ''], []],
    [['none', ''], []],
  ] as const)
    it(JSON.stringify(words), () => {
      const found = offered(KUBECTL_PROGRAM, words).map(({ word }) => word);
      assert.deepEqual(found, expected);
    });
});
