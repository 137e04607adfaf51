/** Annotations of GitHub Actions: a workflow command on a line of its own for each finding. */
import { isError, isFailure, isWarning, type Finding, type Judged } from '../../media/ci_formats/judged.ts';

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f]/g;
/** A line break would begin another command. */
const data = (text: string): string =>
  text.replaceAll(CONTROL, '\ufffd').replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

function lineOf(finding: Finding, { subject, by }: Judged): string[] {
  const level = isFailure(finding) || isError(finding) ? 'error' : isWarning(finding) ? 'warning' : undefined;
  if (level === undefined) return [];
  const { rule, outcome, message, detail, remedy, place, url, line } = finding;
  const where = [url ?? subject, line === undefined ? undefined : `line ${line}`, place].filter(Boolean).join(', ');
  const open = outcome === 'unknown' ? 'could not be judged' : undefined;
  const text = [open, message, detail, remedy].filter(Boolean).join('; ');
  return [`::${level} title=${property(`${by}: ${rule}`)}::${data(`${where}: ${text}`)}`];
}

export const githubText = (judged: readonly Judged[]): string =>
  judged
    .flatMap((one) => [
      ...(one.error === undefined
        ? []
        : [`::error title=${property(one.by)}::${data(`${one.subject}: could not be judged: ${one.error}`)}`]),
      ...one.findings.flatMap((finding) => lineOf(finding, one)),
    ])
    .map((line) => `${line}\n`)
    .join('');
