/** Commands about an account: a part of COMMANDS (commands.ts). */
import { WAIVABLE } from '../../media/qc/words.ts';
import { action, oneOf, type Command } from '../command.ts';

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
    examples: {
      'October, for a spreadsheet': 'probeyard chargeback --month 2026-10 -o csv > october.csv',
    },
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
    examples: {
      'give an account a cost centre': 'probeyard label 12 cost-centre=4711',
      'take its team away': 'probeyard label 12 team-',
    },
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
      action('list', 'create', 'rotate', 'revoke'),
      { name: 'ID', help: 'id of a token, to rotate or revoke', optional: true },
    ],
    options: [
      { name: 'name', value: 'NAME', help: 'name of the new token' },
      { name: 'expires', value: 'TIME', help: 'when it ends, from now: 12h, 30d' },
      { name: 'permission', value: 'NAME', many: true, help: 'only this permission; default: all but write:policy' },
    ],
    formats: ['table', 'json', 'yaml'],
    examples: {
      'a token for CI that may only probe, into a file that only you can read':
        '(umask 077; probeyard token create --name ci --expires 90d --permission write:media > token)',
      'take one back': 'probeyard token revoke 12',
    },
    run: async () => (await import('./token_command.ts')).default,
  },
  {
    name: 'waiver',
    summary: 'Accept findings of content checks, and rules that do not hold',
    description: [
      'create takes an address or the id of a request, and a check with its stream and times, or a policy and its ' +
        'rule; without a source it is for all that the policy judges. It prints the id alone to stdout.',
      'What is waived is told, and counts for no verdict, until its end. It needs a token with write:policy.',
    ],
    positionals: [
      action('list', 'create', 'delete'),
      {
        name: 'SOURCE|ID',
        help: 'of create an address, or the id of a request; else the id of a waiver',
        optional: true,
      },
    ],
    options: [
      { name: 'check', value: 'CHECK', ...oneOf(WAIVABLE, 'create: what found it: ') },
      { name: 'stream', value: 'INDEX', help: 'create: index of the stream' },
      { name: 'from', value: 'SECONDS', help: 'create: start of the passage, as reported: 12.5' },
      { name: 'to', value: 'SECONDS', help: 'create: end of the passage' },
      { name: 'policy', short: 'p', value: 'POLICY', help: 'create: name of a policy' },
      { name: 'rule', value: 'RULE', help: 'create: name of its rule' },
      { name: 'reason', value: 'TEXT', help: 'create: why; it stands in answers and in the audit log' },
      { name: 'until', value: 'TIME', help: 'create: its end: 2027-01-31, or from now: 30d; at most 400 days' },
      { name: 'ended', help: 'list: also those that are over' },
      { name: 'limit', value: 'COUNT', help: 'list: at most so many; default: 100' },
    ],
    formats: ['table', 'json', 'yaml'],
    examples: {
      'a slate that is meant to be black':
        'probeyard waiver create https://media.example.com/film.mp4 --check black --stream 0 --from 0 --to 12.5 ' +
        "--reason 'Slate, as agreed' --until 90d",
      'a rule that old material does not keep':
        "probeyard waiver create -p shared/web-mp4 --rule frame-rate --reason 'Archive' --until 2027-01-31",
      'take one back': 'probeyard waiver delete 019a5f3e-8a00-7000-8000-000000000001',
    },
    run: async () => (await import('./waiver_command.ts')).default,
  },
];
