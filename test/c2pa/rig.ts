/** Signs files with the tests' own keys, and checks files with the real program. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtC2pa } from '../../images/cargo_build.ts';
import { C2paReportSchema, type C2paReport } from '../../src/media/tools/c2pa_schema.ts';
import { conformsTo } from '../conforms.ts';
import type { Authority, Signer } from './pki.ts';
import type { Sample } from './samples.ts';

const assertForm = conformsTo(C2paReportSchema);

export const programs = await builtC2pa();
export const WHY_SKIPPED = 'the C2PA check is not built here (npm exec -- node images/cargo_build.ts)';

export interface Signing extends Partial<Pick<Sample, 'marker'>> {
  bytes: Buffer;
  format: string;
  signer: Signer;
  definition?: object;
  remote?: string;
  ingredient?: Buffer;
  component?: Buffer;
}

export interface Checked {
  code: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
}

const CHECK_MS = 60_000;

export class C2paRig {
  readonly folder = mkdtempSync(join(tmpdir(), 'probeyard-c2pa-'));
  #files = 0;

  file(bytes: Buffer | string): string {
    const path = join(this.folder, `file-${this.#files++}`);
    writeFileSync(path, bytes);
    return path;
  }

  /** Signs all of them in one process. */
  sign(signings: Signing[]): Buffer[] {
    const jobs = signings.map(({ bytes, signer, definition, ingredient, component, ...rest }) => ({
      ...rest,
      ...signer,
      input: this.file(bytes),
      output: this.file(''),
      definition: {
        title: 'a sample',
        claim_generator_info: [{ name: 'Probeyard tests', version: '1' }],
        ...definition,
      },
      ...(ingredient ? { ingredient: this.file(ingredient) } : {}),
      ...(component ? { component: this.file(component) } : {}),
    }));
    execFileSync(programs!['c2pa-sign'], [this.file(JSON.stringify(jobs))], { stdio: ['ignore', 'ignore', 'pipe'] });
    return jobs.map(({ output }) => readFileSync(output));
  }

  /** For files that are too large for memory. */
  signFile(input: string, output: string, format: string, signer: Signer): void {
    const definition = { title: 'a large sample', claim_generator_info: [{ name: 'Probeyard tests', version: '1' }] };
    execFileSync(
      programs!['c2pa-sign'],
      [this.file(JSON.stringify([{ input, output, format, definition, ...signer }]))],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
  }

  /** A configuration folder as mounted by the chart. */
  config(files: Record<string, string>): string {
    const folder = join(this.folder, `config-${this.#files++}`);
    mkdirSync(folder);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return folder;
  }

  trusting(authority: Authority): string {
    return this.config({ 'trust_anchors.pem': authority.pem });
  }

  check(place: string | Buffer, config?: string): Promise<Checked> {
    const args = [
      ...(config === undefined ? [] : ['--config', config]),
      typeof place === 'string' ? place : this.file(place),
    ];
    return new Promise((resolve) => {
      const child = execFile(
        programs!.c2pa,
        args,
        { timeout: CHECK_MS, killSignal: 'SIGKILL', maxBuffer: 256 << 20, env: { HOME: '/tmp' } },
        (_error, stdout, stderr) => resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr }),
      );
    });
  }

  /** The report of a check that must succeed. */
  async report(place: string | Buffer, config?: string): Promise<C2paReport> {
    const { code, signal, stdout, stderr } = await this.check(place, config);
    if (code !== 0) throw new Error(`the check ended with ${code ?? signal}: ${stderr.slice(0, 500)}`);
    const report = JSON.parse(stdout) as C2paReport;
    assertForm(report);
    return report;
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export const failures = ({ validation_results: results }: C2paReport): string[] =>
  (results?.activeManifest?.failure ?? []).map(({ code }) => code);
