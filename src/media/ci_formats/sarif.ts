/** SARIF 2.1.0, which code scanning shows: one run, a result for each finding. */
import { isError, type Finding, type Judged } from './judged.ts';

const KINDS = {
  pass: 'pass',
  fail: 'fail',
  warn: 'fail',
  waived: 'fail',
  'not-applicable': 'notApplicable',
  unknown: 'open',
} as const;

const levelOf = ({ blocking }: Finding): 'error' | 'warning' => (blocking ? 'error' : 'warning');

/** What a URI may not contain (RFC 3986), and browsers leave as it is: brackets in a query, for example. */
const encoded = (text: string): string =>
  text.replaceAll(/%(?![\da-f]{2})/gi, '%25').replaceAll(/[^\w\-.~:/?@!$&'()*+,;=%]/g, encodeURIComponent);

function uriOf(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const [, authority = '', rest = ''] = /^([^:]+:(?:\/\/[^/?#]*)?)(.*)$/.exec(new URL(text).href) ?? [];
  const [path = '', ...fragment] = rest.split('#');
  return `${authority}${encoded(path)}${fragment.length === 0 ? '' : `#${encoded(fragment.join('%23'))}`}`;
}

/** Relative to where it was judged, as code scanning expects files of a repository. */
const uriOfFile = (path: string): string =>
  `${path.startsWith('/') ? 'file://' : ''}${path.split('/').map(encodeURIComponent).join('/')}`;

function placesOf({ place, url, line }: Finding, { subject, path }: Judged): object[] {
  const uri = path !== undefined && url === undefined ? uriOfFile(path) : uriOf(url ?? subject);
  const found = {
    ...(uri === undefined
      ? {}
      : {
          physicalLocation: {
            artifactLocation: { uri },
            ...(line === undefined || line < 1 ? {} : { region: { startLine: line } }),
          },
        }),
    ...(place === undefined || place === '' ? {} : { logicalLocations: [{ fullyQualifiedName: place }] }),
  };
  return Object.keys(found).length === 0 ? [] : [found];
}

type Places = ReadonlyMap<string, { index: number; finding: Finding }>;

/** A rule is listed once, however many sources were judged by it; `index` is its place in the list. */
function rulesOf(judged: readonly Judged[]): Places {
  const rules = new Map<string, { index: number; finding: Finding }>();
  for (const { findings } of judged)
    for (const finding of findings)
      if (!rules.has(finding.rule)) rules.set(finding.rule, { index: rules.size, finding });
  return rules;
}

function resultOf(finding: Finding, judged: Judged, rules: Places): object {
  const { subject, by } = judged;
  const { rule, outcome, message, detail, expected, waived, facts } = finding;
  const locations = placesOf(finding, judged);
  return {
    ruleId: rule,
    ruleIndex: rules.get(rule)!.index,
    kind: KINDS[outcome],
    // Only a failure has a level (SARIF 2.1.0, 3.27.10).
    level: KINDS[outcome] === 'fail' ? levelOf(finding) : 'none',
    message: { text: detail === undefined ? message : `${message}; ${detail}` },
    ...(locations.length === 0 ? {} : { locations }),
    ...(waived === undefined
      ? {}
      : { suppressions: [{ kind: 'external', status: 'accepted', justification: waived }] }),
    properties: { subject, judgedBy: by, expected, ...facts },
  };
}

function notificationsOf({ subject, error, findings }: Judged, rules: Places): object[] {
  const open = findings.filter(({ outcome }) => outcome === 'unknown');
  return [
    ...(error === undefined ? [] : [{ level: 'error', message: { text: `${subject}: ${error}` } }]),
    ...open.map((finding) => ({
      level: levelOf(finding),
      message: { text: finding.message },
      associatedRule: { id: finding.rule, index: rules.get(finding.rule)!.index },
    })),
  ];
}

export function sarifText(judged: readonly Judged[]): string {
  const rules = rulesOf(judged);
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'Probeyard',
            rules: [...rules].map(([id, { finding }]) => ({
              id,
              shortDescription: { text: finding.about?.text ?? finding.expected ?? id },
              ...(finding.remedy === undefined ? {} : { help: { text: finding.remedy } }),
              ...(finding.about === undefined ? {} : { helpUri: finding.about.url }),
              defaultConfiguration: { level: levelOf(finding) },
            })),
          },
        },
        invocations: [
          {
            // False where something could not be judged: such a run is no proof that a file may pass.
            executionSuccessful: judged.every(({ error, findings }) => error === undefined && !findings.some(isError)),
            toolExecutionNotifications: judged.flatMap((one) => notificationsOf(one, rules)),
          },
        ],
        results: judged.flatMap((one) => one.findings.map((finding) => resultOf(finding, one, rules))),
        columnKind: 'utf16CodeUnits',
        properties: {
          verdicts: judged.map(({ subject, by, outcome, error }) => ({ subject, judgedBy: by, outcome, error })),
        },
      },
    ],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}
