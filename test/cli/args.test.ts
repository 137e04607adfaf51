import assert from 'node:assert/strict';
import { findCommand, milliseconds, outputOption, readArguments } from '../../src/cli/args.ts';
import { Failure } from '../../src/cli/exits.ts';
import { KUBECTL_PROGRAM, PROGRAM } from '../../src/cli/programs.ts';

const TOKEN = 'a1'.repeat(32);
const read = (...args: string[]) => readArguments(PROGRAM, findCommand(PROGRAM, args[0]!), args.slice(1));

function failureOf(work: () => unknown): Failure {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.exitCode, 2);
    return error;
  }
  throw new assert.AssertionError({ message: 'it was accepted' });
}

describe('arguments', () => {
  it('options stand anywhere, with or without =, in short or long', () => {
    for (const args of [
      ['check', 'https://a', '--policy', 'p', '-o', 'junit'],
      ['check', '-p', 'p', '--output=junit', 'https://a'],
      ['check', '-pp', '-ojunit', '--', 'https://a'],
      ['check', '-qpp', '-o=junit', 'https://a'],
    ]) {
      const given = read(...args);
      assert.deepEqual([given.positionals, given.text('policy'), given.text('output')], [['https://a'], 'p', 'junit']);
    }
  });

  it('an option that may be repeated keeps every value', () =>
    assert.deepEqual(read('probe', 'https://a', '--set', 'a=1', '--set', 'b=2').texts('set'), ['a=1', 'b=2']));

  const refused: [string[], RegExp, RegExp?][] = [
    [['probe', 'u', '--ouptut', 'json'], /^probe: unknown option --ouptut$/, /did you mean --output\?/],
    [['probe', 'u', '--polcy=p'], /^probe: unknown option --polcy$/, /--policy/],
    [['probe', 'u', '-x'], /^probe: unknown option -x$/],
    [['probe', 'u', '-qo'], /^-o: a value is missing/],
    [['probe', 'u', '-qx'], /^probe: unknown option -x$/],
    [['prboe'], /^unknown command prboe$/, /did you mean probe\?/],
    [['-v'], /^unknown command -v$/, /--help/],
    [['frobnicate-everything'], /^unknown command frobnicate-everything$/, /--help/],
    [['probe'], /^probe: SOURCE is missing$/, /probe --help/],
    [['versions', 'x'], /^versions: 1 arguments, and it takes none$/],
    [['c2pa', 'a', 'b'], /^c2pa: 2 arguments, and it takes 1$/],
    [['probe', 'u', '-o', 'junit'], /^--output: accepted: table, json, yaml, html, raw$/],
    [['probe', 'u', '-o'], /^-o: a value is missing/],
    [['probe', 'u', '--policy', 'a', '--policy', 'b'], /^--policy: given twice$/],
    [['probe', 'u', '--timeline=yes'], /^--timeline: takes no value$/],
    [['token', 'delete', '1'], /^token: ACTION is one of list, create, rotate, revoke$/],
    [['completion', 'tcsh'], /^completion: SHELL is one of bash, zsh, fish$/],
  ];
  for (const [args, message, hint] of refused)
    it(`${args.join(' ')}: is refused with the reason`, () => {
      const failure = failureOf(() => read(...args));
      assert.match(failure.message, message);
      if (hint) assert.match(failure.hint ?? '', hint);
    });

  it('a token in the wrong place is not repeated', () => {
    for (const args of [
      ['probe', 'u', '--token', TOKEN],
      ['probe', 'u', `--token=${TOKEN}`],
      ['probe', 'u', `--${TOKEN}`],
      [TOKEN],
      ['versions', TOKEN],
    ]) {
      const { message, hint = '' } = failureOf(() => read(...args));
      assert.ok(!`${message}${hint}`.includes(TOKEN), message);
    }
    assert.match(failureOf(() => read('probe', 'u', '--token', TOKEN)).hint ?? '', /PROBEYARD_TOKEN/);
  });

  const times: [string, number | null][] = [
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    ['30', null],
    ['', null],
    ['-1s', null],
    ['1 s', null],
    ['9999999999s', null],
  ];
  for (const [text, expected] of times)
    it(`the time "${text}" is ${expected === null ? 'refused' : `${expected} ms`}`, () => {
      if (expected === null) assert.match(failureOf(() => milliseconds('timeout', text)).message, /with its unit/);
      else assert.equal(milliseconds('timeout', text), expected);
    });
});

describe('the table of commands', () => {
  it('every command has examples that it accepts', () => {
    for (const program of [PROGRAM, KUBECTL_PROGRAM])
      for (const command of program.commands)
        for (const line of Object.values(command.examples)) {
          const [, args] = /probeyard ([^|<>;)]*)/.exec(line) ?? [];
          if (args === undefined || command.verbatim || line.startsWith('xargs')) continue;
          const [name, ...words] = args.trim().split(/ +(?=(?:[^'"]*['"][^'"]*['"])*[^'"]*$)/);
          assert.doesNotThrow(() => readArguments(program, findCommand(program, name!), words), line);
        }
  });

  it('no two options of a command have the same name or letter', () => {
    for (const command of PROGRAM.commands) {
      const options = [...(command.options ?? []), ...outputOption(command), ...PROGRAM.options];
      for (const names of [options.map(({ name }) => name), options.flatMap(({ short }) => short ?? [])])
        assert.deepEqual([...new Set(names)], names, command.name);
    }
  });

  it('values of an option are those that its help lists', () => {
    for (const command of PROGRAM.commands)
      for (const { name, values = [], help } of command.options ?? [])
        for (const value of values) assert.ok(help.includes(value), `${command.name} --${name}: ${value}`);
  });
});
