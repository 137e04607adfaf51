/** Commands about an account: a part of COMMANDS (commands.ts). */
import type { Command } from '../command.ts';

export const ACCOUNT_COMMANDS: readonly Command[] = [
  {
    name: 'chargeback',
    summary: 'Show what each account used in a month, with its labels',
    description: [
      'For administrators. Months are in UTC. Erased accounts are one row for each set of labels. -o csv and ' +
        '-o ndjson print milliseconds and bytes.',
    ],
    options: [{ name: 'month', value: 'MONTH', help: 'such as 2026-10; default: the last finished month' }],
    formats: ['table', 'csv', 'ndjson'],
    examples: [
      { does: 'October, for a spreadsheet', line: 'probeyard chargeback --month 2026-10 -o csv > october.csv' },
    ],
    run: async () => (await import('./chargeback_command.ts')).default,
  },
  {
    name: 'label',
    summary: 'Show or change the labels of an account',
    description: ['For administrators. Labels say for whom the use of an account is charged.'],
    positionals: [
      { name: 'ACCOUNT', help: 'id of the root user of the account' },
      {
        name: 'LABEL',
        help: 'NAME=VALUE sets a label, NAME- removes it; default: show all',
        optional: true,
        many: true,
      },
    ],
    formats: ['table', 'json', 'yaml'],
    examples: [
      { does: 'give an account a cost centre', line: 'probeyard label 12 cost-centre=4711' },
      { does: 'take its team away', line: 'probeyard label 12 team-' },
    ],
    run: async () => (await import('./chargeback_command.ts')).runLabel,
  },
  {
    name: 'token',
    summary: 'List, create, rotate and revoke API tokens',
    description: [
      'create and rotate print the token alone to stdout: it can be read again only where the installation ' +
        'keeps tokens.',
    ],
    positionals: [
      {
        name: 'ACTION',
        values: ['list', 'create', 'rotate', 'revoke'],
        help: 'list (default), create, rotate or revoke',
        optional: true,
      },
      { name: 'ID', help: 'id of a token, to rotate or revoke', optional: true },
    ],
    options: [
      { name: 'name', value: 'NAME', help: 'name of the new token' },
      { name: 'expires', value: 'TIME', help: 'when it ends, from now: 12h, 30d' },
      { name: 'permission', value: 'NAME', many: true, help: 'only this permission; default: all but write:policy' },
    ],
    formats: ['table', 'json', 'yaml'],
    examples: [
      {
        does: 'a token for CI that may only probe, into a file that only you can read',
        line: '(umask 077; probeyard token create --name ci --expires 90d --permission write:media > token)',
      },
      { does: 'take one back', line: 'probeyard token revoke 12' },
    ],
    run: async () => (await import('./token_command.ts')).default,
  },
];
