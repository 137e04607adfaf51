/** A result as SARIF 2.1.0, which code scanning shows: a result for each rule. */
import type { PolicyResult, RuleResult } from './schema.ts';

/** `subject`: what was judged, without credentials: an address or a request id. */
export function sarif({ name, revision, outcome, rules }: PolicyResult, subject: string): string {
  const uri = URL.canParse(subject) ? new URL(subject).href : undefined;
  const open = rules.map((rule, index) => ({ rule, index })).filter(({ rule }) => rule.outcome === 'unknown');
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'Probeyard',
            rules: rules.map((rule) => ({
              id: rule.name,
              shortDescription: { text: rule.expected ?? rule.name },
              defaultConfiguration: { level: levelOf(rule) },
            })),
          },
        },
        invocations: [
          {
            // False where a rule could not be judged: such a run is no proof that the file may pass.
            executionSuccessful: open.every(({ rule }) => rule.level === 'warn'),
            toolExecutionNotifications: open.map(({ rule, index }) => ({
              level: levelOf(rule),
              message: { text: rule.message },
              associatedRule: { id: rule.name, index },
            })),
          },
        ],
        results: rules.map((rule, index) => resultOf(rule, index, uri)),
        columnKind: 'utf16CodeUnits',
        properties: { policy: name, revision, outcome, subject },
      },
    ],
  };
  return JSON.stringify(log);
}

const levelOf = ({ level }: RuleResult): 'error' | 'warning' => (level === 'fail' ? 'error' : 'warning');
const KINDS = { pass: 'pass', fail: 'fail', warn: 'fail', 'not-applicable': 'notApplicable', unknown: 'open' } as const;

function resultOf(rule: RuleResult, ruleIndex: number, uri: string | undefined): object {
  const kind = KINDS[rule.outcome];
  const place = [rule.stream, rule.field].filter((part) => part !== undefined).join('.');
  const { actual, expected, from, confidence, also, more } = rule;
  return {
    ruleId: rule.name,
    ruleIndex,
    kind,
    // Only a failure has a level (SARIF 2.1.0, 3.27.10).
    level: kind === 'fail' ? levelOf(rule) : 'none',
    message: { text: rule.message },
    locations: [
      {
        ...(uri === undefined ? {} : { physicalLocation: { artifactLocation: { uri } } }),
        ...(place === '' ? {} : { logicalLocations: [{ fullyQualifiedName: place }] }),
      },
    ],
    properties: { actual, expected, from, confidence, also, more },
  };
}
