/** JUnit's XML: a suite for each source, a test case for each rule. */
import { escapeXml } from '../../base/xml.ts';
import { isError, isFailure, isWarning, type Finding, type Judged } from './judged.ts';

const isSkipped = ({ outcome }: Finding): boolean => outcome === 'not-applicable' || outcome === 'waived';

const countsOf = (findings: readonly Finding[], errors: number): string =>
  `tests="${findings.length + errors}" failures="${findings.filter(isFailure).length}" ` +
  `errors="${findings.filter(isError).length + errors}" ` +
  `skipped="${findings.filter(isSkipped).length}"`;

const textOf = ({ message, detail, remedy, place, url, line }: Finding): string =>
  [place, message, detail, remedy, url === undefined ? undefined : `${url}${line === undefined ? '' : `:${line}`}`]
    .filter((part) => part !== undefined && part !== '')
    .join('; ');

function innerOf(finding: Finding): string | undefined {
  const { waived, outcome } = finding;
  const [message, text] = [xmlText(finding.message), xmlText(textOf(finding))];
  if (isFailure(finding)) return `<failure type="${outcome}" message="${message}">${text}</failure>`;
  if (isError(finding)) return `<error type="unknown" message="${message}">${text}</error>`;
  if (isSkipped(finding))
    return `<skipped message="${waived === undefined ? message : xmlText(`${waived}; ${finding.message}`)}"/>`;
  if (!isWarning(finding)) return undefined;
  return `<system-out>${outcome === 'unknown' ? 'unknown' : 'warning'}: ${text}</system-out>`;
}

function suite({ subject, by, outcome, findings, error }: Judged): string[] {
  const cases =
    error === undefined
      ? findings.map((finding) => ({ name: finding.rule, inner: innerOf(finding) }))
      : [{ name: 'source', inner: `<error type="unknown" message="${xmlText(error)}"/>` }];
  return [
    `  <testsuite name="${xmlText(subject)}" ${countsOf(findings, error === undefined ? 0 : 1)}>`,
    '    <properties>',
    `      <property name="judged-by" value="${xmlText(by)}"/>`,
    `      <property name="outcome" value="${xmlText(outcome)}"/>`,
    '    </properties>',
    ...cases.flatMap(({ name, inner }) => {
      const open = `    <testcase name="${xmlText(name)}" classname="${xmlText(by)}" time="0"`;
      return inner === undefined ? [`${open}/>`] : [`${open}>`, `      ${inner}`, '    </testcase>'];
    }),
    '  </testsuite>',
  ];
}

export const junitText = (judged: readonly Judged[]): string =>
  [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="Probeyard" ${countsOf(
      judged.flatMap(({ findings }) => findings),
      judged.filter(({ error }) => error !== undefined).length,
    )}>`,
    ...judged.flatMap(suite),
    '</testsuites>',
    '',
  ].join('\n');

/** XML 1.0 has no place for most control characters, escaped or not, nor for half a surrogate pair. */
// oxlint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;

/** Text for an element or an attribute. */
const xmlText = (text: string): string => escapeXml(text.replaceAll(FORBIDDEN, '\ufffd')).replaceAll(/[\t\r\n]/g, ' ');
