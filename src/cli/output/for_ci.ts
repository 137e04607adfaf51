/** The formats that CI systems read. */
import { writeFile } from 'node:fs/promises';
import type { Judged } from '../../media/ci_formats/judged.ts';
import type { Format, Given, Option } from '../command.ts';
import { usage } from '../exits.ts';

export type CiFormat = Extract<Format, 'junit' | 'sarif' | 'github'>;
export const isForCi = (format: Format): format is CiFormat => ['junit', 'sarif', 'github'].includes(format);

export async function ciText(format: CiFormat, judged: readonly Judged[]): Promise<string> {
  switch (format) {
    case 'junit':
      return (await import('../../media/ci_formats/junit.ts')).junitText(judged);
    case 'sarif':
      return (await import('../../media/ci_formats/sarif.ts')).sarifText(judged);
    case 'github':
      return (await import('./github.ts')).githubText(judged);
  }
}

export const REPORT: Option = {
  name: 'report',
  value: 'FORMAT=FILE',
  many: true,
  help: 'also write a report of the same run to a file: junit=FILE, sarif=FILE or github=FILE',
};

export type Reports = readonly { format: CiFormat; path: string }[];

/** Read before anything runs: a mistake is no reason to run again. */
export const reportsOf = ({ texts }: Given): Reports =>
  texts('report').map((text) => {
    const place = text.indexOf('=');
    const [format, path] = [text.slice(0, Math.max(0, place)) as Format, text.slice(place + 1)];
    if (!isForCi(format) || path === '') throw usage('--report: must be junit=FILE, sarif=FILE or github=FILE');
    return { format, path };
  });

export async function writeReports(reports: Reports, judged: readonly Judged[]): Promise<void> {
  for (const { format, path } of reports)
    await writeFile(path, await ciText(format, judged)).catch(({ code }: NodeJS.ErrnoException) => {
      throw usage(`${path}: cannot be written: ${code}`);
    });
}
