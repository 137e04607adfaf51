/** What helm prints after an install: the commands fit the values, and a shell reads them as they stand. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { CHART, helm } from './render.ts';

function notes(values: object = {}): string {
  const args = ['install', 'mine', CHART, '--namespace', 'media', '--dry-run=client'];
  const { code, stdout, stderr } = helm(args, values);
  assert.equal(code, 0, stderr);
  return stdout.slice(stdout.indexOf('NOTES:\n') + 'NOTES:\n'.length);
}

const LINK = 'kubectl -n media exec deployment/mine-probeyard-api -- node src/main.ts sign-in-link "$PROBEYARD_URL"';
const PASSWORD =
  `kubectl -n media get secret probeyard-admin -o go-template=` +
  `'{{.data.email | base64decode}} {{.data.password | base64decode}}{{"\\n"}}'`;
const NO_LINKS = 'WARNING: api.publicUrl is not set, so mails have codes and no links.';
const PUBLIC = { api: { publicUrl: 'https://probe.example.com/' } };

const CASES: [name: string, values: object, has: string[], hasNot: string[]][] = [
  [
    'by default',
    {},
    [
      'kubectl -n media port-forward service/mine-probeyard-api 8080:80 &',
      'export PROBEYARD_URL=http://127.0.0.1:8080',
      LINK,
      PASSWORD,
      '$PROBEYARD_URL/docs/quickstart',
    ],
    [NO_LINKS],
  ],
  ['with a public address', PUBLIC, ['export PROBEYARD_URL=https://probe.example.com\n'], ['port-forward', NO_LINKS]],
  [
    'with an ingress',
    { ingress: { enabled: true, hosts: ['probe.example.com'] } },
    ['export PROBEYARD_URL=http://probe.example.com\n', LINK],
    ['port-forward'],
  ],
  [
    'with a gateway',
    { gateway: { enabled: true, parentRefs: [{ name: 'g' }], hostnames: ['probe.example.com'] } },
    ['export PROBEYARD_URL=https://probe.example.com '],
    ['port-forward'],
  ],
  ['without the console', { api: { console: false } }, [PASSWORD], ['sign-in-link', '/app/']],
  ['with mail alone', { mail: { host: 'smtp.example.com' } }, [NO_LINKS], []],
  ['with mail and a public address', { mail: { host: 'smtp.example.com' }, ...PUBLIC }, [], [NO_LINKS]],
];

describe('chart: notes', function () {
  this.timeout(60_000);

  for (const [name, values, has, hasNot] of CASES)
    it(name, () => {
      const text = notes(values);
      for (const part of has) assert.ok(text.includes(part), `${part} is missing in:\n${text}`);
      for (const part of hasNot) assert.ok(!text.includes(part), `${part} is in:\n${text}`);
      const commands = text.split('\n').filter((line) => /^ {2}(?:kubectl|export|curl|helm) /.test(line));
      assert.ok(commands.length >= 8);
      const { status, stderr } = spawnSync('sh', ['-n'], { input: commands.join('\n').replaceAll(/<[^>]+>/g, 'x') });
      assert.equal(status, 0, String(stderr));
    });
});
