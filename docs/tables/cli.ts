/** The reference of the command line, from the tables that it reads its arguments by. */
import { outputOption } from '../../src/cli/args.ts';
import type { Command, Option, Positional, Program } from '../../src/cli/command.ts';
import { shownOption, synopsis } from '../../src/cli/help.ts';
import { KUBECTL_PROGRAM, PROGRAM } from '../../src/cli/programs.ts';
import { beside } from './cli_beside.ts';

const cell = (text: string): string => text.replaceAll('|', String.raw`\|`);
const table = (head: [string, string], rows: readonly (readonly [string, string])[]): string[] =>
  rows.length === 0
    ? []
    : [
        `| ${head[0]} | ${head[1]} |`,
        '| --- | --- |',
        ...rows.map(([left, right]) => `| \`${cell(left)}\` | ${cell(right)} |`),
        '',
      ];

const optionRows = (options: readonly Option[]) => options.map((one) => [shownOption(one), one.help] as const);
const titled = (does: string): string => (does.endsWith('?') ? does : `${does}:`);
const shown = ({ name, many = false }: Positional): string => (many ? `${name}...` : name);

function section(program: Program, command: Command): string[] {
  const { name, summary, description = [], positionals = [], options = [], examples } = command;
  return [
    `### ${program.name} ${name}`,
    '',
    `${summary}.`,
    '',
    ...description.flatMap((paragraph) => [paragraph, '']),
    `    ${synopsis(program, command)}`,
    '',
    ...Object.entries(examples).flatMap(([does, line]) => [`- ${titled(does)}`, '', '  ```', `  ${line}`, '  ```', '']),
    ...table(
      ['argument', ''],
      positionals.map((one) => [shown(one), one.help] as const),
    ),
    ...table(['option', ''], optionRows([...options, ...outputOption(command)])),
  ];
}

const chapter = (program: Program): string[] => [
  `## ${program.name}`,
  '',
  ...program.notes.flatMap((note) => [note, '']),
  'Options of every command:',
  '',
  ...table(['option', ''], optionRows(program.options)),
  ...program.commands.flatMap((command) => section(program, command)),
];

export const cliPage = (): string =>
  [
    '# The command line',
    '',
    'Every installation serves its command line in the version of its API, and nothing else has to be reachable. It',
    'runs on Node 20.16, 22.3 and later, and installs nothing else. `PROBEYARD_URL` is the address of the API:',
    '',
    '    npm install --global "$PROBEYARD_URL/cli.tgz"',
    '    probeyard login --server "$PROBEYARD_URL"',
    '',
    'The package has two programs: `probeyard`, and `kubectl-probeyard`, which kubectl finds as a plugin and completes',
    'by `kubectl_complete-probeyard`. It is in no registry: a package that is called `probeyard` there is not ours.',
    '',
    'The same as one file, without npm. It goes by its name: a link to it called `kubectl-probeyard` is the plugin.',
    '',
    '    curl -fsSO "$PROBEYARD_URL/probeyard.mjs"',
    '    node probeyard.mjs versions',
    '',
    '[guides/ci.md](guides/ci.md) says how to use it in CI.',
    '',
    '| variable | |',
    '| --- | --- |',
    '| `PROBEYARD_URL` | Address of the API, with a path if it lies below one. |',
    '| `PROBEYARD_TOKEN` | API token. |',
    '| `PROBEYARD_FFPROBE_VERSION`, `PROBEYARD_MEDIAINFO_VERSION` | Versions of `ffprobe` and `mediainfo` below. |',
    '| `XDG_CONFIG_HOME` | Where `probeyard login` keeps `probeyard/config.json`; default: `~/.config`. |',
    '| `XDG_CACHE_HOME` | Where the package keeps its compiled code, in `probeyard-cli`; default: `~/.cache`. |',
    '| `NO_COLOR` | No colours. |',
    '| `FORCE_COLOR` | Colours where the output is no terminal, too; `0`: none. |',
    '| `NODE_USE_ENV_PROXY=1`, `HTTPS_PROXY`, `NO_PROXY` | Proxies, by means of Node (22.21, 24.5 and later). |',
    '| `NODE_EXTRA_CA_CERTS` | A file of further certificates to trust. |',
    '',
    '429 and 503 are tried again after the time that the API names, for at most a minute altogether; a connection',
    'that is refused or breaks, for seven seconds. stderr says so. A request has an `Idempotency-Key`, so that it runs',
    'once; a call that might be made twice, such as `token create`, is not tried again. Ctrl-C cancels the request.',
    'Without a terminal, closing the connection cancels it. A configuration file that others can read is refused.',
    '',
    'A source is an address, which the service reads itself, or a file of this machine, or `-` for stdin: both are',
    'sent as they are read ([api.md](api.md#send-a-file)), and never held in memory as a whole. Where the service is',
    'full, a file is sent again; stdin cannot be. A name with `://` in it is an address: a file of such a name is',
    'given as `./a://b`. `compare` and `kubectl probeyard` take addresses alone.',
    '',
    ...chapter(PROGRAM),
    ...chapter(KUBECTL_PROGRAM),
    ...beside(),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');
