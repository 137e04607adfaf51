/**
 * `node test/streams/table.ts`: tries every source with every tool version that is built here, and writes the table
 * into docs/reports/sources.md.
 */
import { join } from 'node:path';
import { writePart } from '../../docs/tables/part.ts';
import { wrongWith, seen } from './judge.ts';
import { openMatrix, secrets } from './matrix.ts';
import { startRealRunner, type Outcome } from './real_runner.ts';

const file = join(import.meta.dirname, '..', '..', 'docs', 'reports', 'sources.md');

const matrix = await openMatrix();
const runner = await startRealRunner(
  ({ tool }) => tool !== 'qc',
  { allow: matrix.allow, ca: matrix.ca, ...(matrix.s3 ? { s3: matrix.s3 } : {}) },
  { s3Hosts: matrix.s3Hosts },
);
const name = ({ tool, version }: Pick<Outcome, 'tool' | 'version'>): string => `${tool} ${version}`;
const lines = ['| source | server | read by | not read by |', '|---|---|---|---|'];
let leaked = 0;
try {
  for (const row of matrix.rows) {
    if (row.missing !== undefined) {
      lines.push(`| ${row.source} | ${row.server} | not tried: ${row.missing} | |`);
      continue;
    }
    const { url, end: ended } = await row.address();
    const answered = await runner.run(url, { timeoutMs: 60_000 });
    await ended?.();
    const found = seen(answered, secrets);
    leaked += found.length;
    const judged = answered.tools.map((outcome) => ({ outcome, wrong: wrongWith(row, url, outcome) }));
    const bad = judged.filter(({ wrong }) => wrong !== undefined);
    const good = judged.filter(({ wrong }) => wrong === undefined).map(({ outcome }) => outcome);
    const list = (tool: string): string =>
      good
        .filter((outcome) => outcome.tool === tool)
        .map(({ version }) => version)
        .join(', ');
    const all = (tool: string): string => {
      const versions = list(tool);
      const every = bad.every(({ outcome }) => outcome.tool !== tool);
      return versions === '' ? '' : `${tool} ${every ? '(all)' : versions}`;
    };
    const said = bad.map(({ outcome, wrong }) => `${name(outcome)}: ${wrong!.replace(/[|\n]/g, ' ').slice(0, 100)}`);
    const without = [all('ffprobe'), all('mediainfo')].filter((text) => text !== '');
    lines.push(`| ${row.source} | ${row.server} | ${without.join('; ')} | ${said.join('; ')} |`);
    console.log(lines.at(-1), found.length > 0 ? `LEAKED ${found.join(' ')}` : '', `${answered.io} bytes`);
  }
  const versions =
    `Tool versions: ${runner.entries.map(name).join(', ')}. ` +
    `Credentials seen in outputs, errors and logs: ${leaked}.`;
  writePart(file, 'tried', [...lines, '', versions].join('\n'));
} finally {
  await runner.close();
  await matrix.close();
}
if (leaked > 0) process.exitCode = 1;
