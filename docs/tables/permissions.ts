/** docs/permissions.md: who may call what, made of the one table. */
import { PERMISSIONS } from '../../src/platform/store/permissions.ts';
import { USER_PERMISSIONS, type Caller } from '../../src/service/accounts/caller.ts';
import { ACCESS, type Access, BASE, refusal } from '../../src/service/api/http/endpoint_access.ts';

const COLUMNS: [title: string, role: Caller['role'], permissions: readonly string[]][] = [
  ['user', 'user', USER_PERMISSIONS],
  ['sub-user', 'sub', USER_PERMISSIONS],
  ['administrator', 'admin', PERMISSIONS],
  ['root', 'root', PERMISSIONS],
];

const NEEDS = { anyone: 'none', caller: 'authentication required', admin: 'administrator', sender: '' } as const;
const needs = ({ who, permission }: Access): string =>
  permission === undefined ? NEEDS[who] : `${who === 'admin' ? 'administrator, ' : ''}\`${permission}\``;
const mark = (may: boolean): string => (may ? 'yes' : '-');

export function roleTable(): string {
  const rows = Object.entries(ACCESS as Record<string, Access>).map(([name, access]) => {
    const cells = COLUMNS.map(([, role, permissions]) => mark(refusal(access, { role, permissions }) === null));
    const [method = '', path = ''] = name.split(' ');
    const endpoint = `\`${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}\``;
    return `| ${[endpoint, needs(access), mark(access.who === 'anyone'), ...cells].join(' | ')} |`;
  });
  return `# Who may call what

Paths are under \`${BASE}\`. The columns are accounts with the permissions of their role. A user may have fewer (a
sub-user has those that were given to them), and a token fewer than its user. Suspended and pending accounts may call
nothing.

A user reaches their own data and that of all accounts below them; an administrator reaches everyone's. An object of
another account is a 404. Only the root user changes administrators. Nobody changes their own permissions, and only the
root user sets their own limits. Administrators, too, make links to reports only of their own requests and of those of
accounts below them. The probe endpoints need \`write:media\`; reading a request back needs \`read:media\`.
Saving and deleting policies, and waiving findings, needs \`write:policy\`, which a new token has only if its
permissions name it or are null.

| endpoint | requires | no credential | ${COLUMNS.map(([title]) => title).join(' | ')} |
|---|---|---|${COLUMNS.map(() => '---|').join('')}
${rows.join('\n')}
`;
}
