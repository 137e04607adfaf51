/**
 * Reads arguments by a command's table. An unknown option is refused with the nearest one, and an option is given once
 * unless it takes many values.
 */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { nearest } from '../base/nearest.ts';
import type { Command, Given, Option, Program } from './command.ts';
import { masked, usage } from './exits.ts';

function suggestion(name: string, known: readonly string[]): string | undefined {
  const found = nearest(name, known);
  return found === undefined ? undefined : `did you mean ${found}?`;
}

const shownName = (name: string): string => masked(name.slice(0, 80));

export function findCommand(program: Program, name: string): Command {
  const found = program.commands.find((one) => one.name === name);
  if (found) return found;
  throw usage(
    `unknown command ${shownName(name)}`,
    suggestion(
      name,
      program.commands.map((one) => one.name),
    ) ?? `${program.name} --help lists the commands`,
  );
}

/** Options that a caller may look for, and where the value belongs. */
const NOT_TAKEN: Readonly<Record<string, string>> = {
  token: 'a token in arguments can be read by every process: set PROBEYARD_TOKEN, or run probeyard login',
  password: 'a password in arguments can be read by every process: it is asked for',
};

function unknownOption(name: string, options: readonly Option[], command: Command): Error {
  const bare = name.replace(/^-+/, '');
  const hint =
    NOT_TAKEN[bare] ??
    suggestion(
      name,
      options.map((option) => `--${option.name}`),
    );
  return usage(`${command.name}: unknown option ${shownName(name)}`, hint);
}

function checkedValue(option: Option, value: string): string {
  if (!option.values || option.values.includes(value)) return value;
  throw usage(`--${option.name}: accepted: ${option.values.join(', ')}`);
}

/** The form of `parseArgs`. It refuses nothing itself, since its errors name no nearest option. */
const forms = (options: readonly Option[]): NonNullable<ParseArgsConfig['options']> =>
  Object.fromEntries(
    options.map(({ name, short, value }) => [
      name,
      { type: value === undefined ? 'boolean' : 'string', ...(short === undefined ? {} : { short }), multiple: true },
    ]),
  );

export function readArguments(program: Program, command: Command, args: readonly string[]): Given {
  if (command.verbatim) return givenOf(args, new Map());
  const options = optionsOf(program, command);
  const { tokens, positionals } = parseArgs({
    args: [...args],
    options: forms(options),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const found = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const { name, rawName } = token;
    const option = options.find((one) => one.name === name);
    if (!option) throw unknownOption(rawName, options, command);
    const values = found.get(name) ?? [];
    if (option.value === undefined) {
      if (token.value !== undefined) throw usage(`${rawName}: takes no value`);
    } else {
      // `-o=json` is as good as `-o json`.
      const value = rawName.startsWith('--') ? token.value : token.value?.replace(/^=/, '');
      if (value === undefined) throw usage(`${rawName}: a value is missing: ${rawName} ${option.value}`);
      if (values.length > 0 && !option.many) throw usage(`${rawName}: given twice`);
      values.push(checkedValue(option, value));
    }
    found.set(name, values);
  }
  if (!found.has('help')) checkPositionals(program, command, positionals);
  return givenOf(positionals, found);
}

const givenOf = (positionals: readonly string[], found: ReadonlyMap<string, readonly string[]>): Given => ({
  positionals,
  has: (name) => found.has(name),
  text: (name) => found.get(name)?.[0],
  texts: (name) => found.get(name) ?? [],
  value: (name, read) =>
    found
      .get(name)
      ?.slice(0, 1)
      .map((text) => read(name, text))[0],
});

export const optionsOf = (program: Program, command: Command): Option[] =>
  command.verbatim ? [] : [...(command.options ?? []), ...outputOption(command), ...program.options];

export const outputOption = ({ formats = [] }: Command): Option[] =>
  formats.length < 2
    ? []
    : [
        {
          name: 'output',
          short: 'o',
          value: 'FORMAT',
          values: formats,
          help: `${formats.join(', ')}; default: ${formats[0]}`,
        },
      ];

function checkPositionals(program: Program, { name, positionals = [] }: Command, given: readonly string[]): void {
  const hint = `${program.name} ${name} --help shows examples`;
  const missing = positionals[given.length];
  if (missing && !missing.optional && !(missing.many && given.length >= positionals.length))
    throw usage(`${name}: ${missing.name} is missing`, hint);
  if (given.length > positionals.length && !positionals.at(-1)?.many)
    throw usage(`${name}: ${given.length} arguments, and it takes ${positionals.length || 'none'}`, hint);
  for (const [place, value] of given.entries()) {
    const { values, name: called } = positionals[place] ?? {};
    if (values && !values.includes(value)) throw usage(`${name}: ${called} is one of ${values.join(', ')}`, hint);
  }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30s`, `500ms`, `2m` in milliseconds. */
export function milliseconds(option: string, text: string): number {
  const [, figure, unit] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|[smhd])$/.exec(text) ?? [];
  if (figure === undefined) throw usage(`--${option}: must be a time with its unit: 500ms, 30s, 2m, 1h, 7d`);
  return Math.round(Number(figure) * UNITS[unit!]!);
}

export const whole =
  (least: number, most: number) =>
  (option: string, text: string): number => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw usage(`--${option}: must be a whole number from ${least} to ${most}`);
  };
