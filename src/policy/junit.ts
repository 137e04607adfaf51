/** A result as JUnit's XML, which CI systems show: a test case for each rule. */
import type { PolicyResult, RuleResult } from './schema.ts';

/** `subject`: what was judged, without credentials: an address or a request id. */
export function junit({ name, revision, outcome, rules }: PolicyResult, subject: string): string {
  const suite = suiteName(name, revision);
  const failures = rules.filter((rule) => rule.outcome === 'fail').length;
  const errors = rules.filter(isError).length;
  const skipped = rules.filter((rule) => rule.outcome === 'not-applicable').length;
  const counts = `tests="${rules.length}" failures="${failures}" errors="${errors}" skipped="${skipped}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="Probeyard" ${counts}>`,
    `  <testsuite name="${escaped(suite)}" ${counts}>`,
    '    <properties>',
    `      <property name="subject" value="${escaped(subject)}"/>`,
    `      <property name="outcome" value="${outcome}"/>`,
    '    </properties>',
    ...rules.flatMap((rule) => testCase(rule, suite)),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

const suiteName = (name: string | null, revision: number | null): string =>
  name === null ? 'policy of the request' : revision === null ? name : `${name} revision ${revision}`;

/** A rule of level warn that is unknown is shown like a warning: it does not fail a build. */
const isError = ({ outcome, level }: RuleResult): boolean => outcome === 'unknown' && level === 'fail';

function testCase(rule: RuleResult, suite: string): string[] {
  const open = `    <testcase name="${escaped(rule.name)}" classname="${escaped(suite)}" time="0"`;
  const inner = innerOf(rule);
  return inner === undefined ? [`${open}/>`] : [`${open}>`, `      ${inner}`, '    </testcase>'];
}

function innerOf(rule: RuleResult): string | undefined {
  const message = escaped(rule.message);
  const text = escaped(detail(rule));
  switch (rule.outcome) {
    case 'fail':
      return `<failure type="fail" message="${message}">${text}</failure>`;
    case 'not-applicable':
      return `<skipped message="${message}"/>`;
    case 'unknown':
      return isError(rule)
        ? `<error type="unknown" message="${message}">${text}</error>`
        : `<system-out>unknown: ${text}</system-out>`;
    case 'warn':
      return `<system-out>warning: ${text}</system-out>`;
    case 'pass':
      return undefined;
  }
}

function detail({ message, also = [], more, from, confidence }: RuleResult): string {
  const others = also.map(({ stream, actual }) => `${stream}${actual === undefined ? '' : `: ${actual}`}`);
  return [
    message,
    ...(others.length > 0 ? [`also ${others.join(', ')}`] : []),
    ...(more === undefined ? [] : [`and ${more} more`]),
    ...(from === undefined ? [] : [`from ${from}${confidence === undefined ? '' : `, confidence ${confidence}`}`]),
  ].join('; ');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};
/** XML 1.0 has no place for most control characters, escaped or not. */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    // oxlint-disable-next-line no-control-regex
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
    .replaceAll(/[\t\r\n]/g, ' ');
