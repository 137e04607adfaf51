/** `make hostility`: runs the attacks, and writes their results into docs/reports/hostility.md. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writePart } from '../../docs/tables/part.ts';
import type { Row } from './record.ts';

const root = join(import.meta.dirname, '..', '..');
const page = join(root, 'docs', 'reports', 'hostility.md');
const TITLES: Readonly<Record<string, string>> = {
  media: 'Media: a tool that was taken over',
  addresses: 'Addresses',
  origins: 'Origins',
  network: 'NetworkPolicies',
  trust: 'Trust between accounts',
  uploads: 'Uploads and headers',
  renewed: 'A pod that is renewed between two accounts',
  neighbour: 'An account and its neighbour',
};

const work = mkdtempSync(join(tmpdir(), 'probeyard-hostility-'));
const rows = join(work, 'rows');
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules/mocha/bin/mocha.js'), 'test/hostility/**/*.test.ts'],
  { cwd: root, stdio: 'inherit', env: { ...process.env, PROBEYARD_HOSTILITY_TABLE: rows } },
);
const told: Row[] = existsSync(rows)
  ? readFileSync(rows, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row)
  : [];
rmSync(work, { recursive: true });
if (told.length === 0) {
  console.error('not written: no attempt was recorded');
  process.exit(1);
}

/** A pattern in words: `/^(?:EACCES|EPERM)$/` is EACCES or EPERM. */
const said = (text: string): string => {
  const pattern = /^\/(.*)\/[a-z]*$/.exec(text)?.[1];
  if (pattern === undefined) return text;
  return pattern
    .replaceAll(/\^|\$|\(\?:|\)\??/g, '')
    .replaceAll('\\.', '.')
    .replaceAll(/\[[^\]]*\]\+|\\[dw]\+?/g, '…')
    .split('|')
    .map((part) => part || 'nothing')
    .join(' or ');
};

/** Addresses and fractions differ from run to run. */
const cell = (text: string): string =>
  said(text)
    .replaceAll(/\b\d{1,3}(?:\.\d{1,3}){3}\b/g, 'an address')
    .replaceAll(/(\d)\.\d{3,}/g, '$1')
    .replaceAll('|', '\\|')
    .replaceAll(/\s+/g, ' ')
    .trim() || 'nothing';
const groups = Object.entries(TITLES).flatMap(([group, title]) => {
  const own = told.filter((row) => row.group === group);
  if (own.length === 0) return [];
  return [
    `### ${title}`,
    '',
    '| attempt | expected | got |',
    '|---|---|---|',
    ...own.map(({ attempt, expected, got }) => `| ${cell(attempt)} | ${cell(expected)} | ${cell(got)} |`),
    '',
  ];
});
writePart(page, 'hostility', groups.join('\n').trimEnd());
console.log(`${told.length} attempts written to docs/reports/hostility.md`);
// A failed attempt has its row, too; its test says what is wrong.
process.exitCode = status ?? 1;
