/** The subject `tool` with `path`: what a tool itself printed. */
import { PolicyError, unknownName } from './error.ts';
import { EXHAUSTED, failed, notApplicable, passed, unknown, type Finding, type Told } from './finding.ts';
import { SAID, shown } from './kinds.ts';
import { gathered, once, rangeOf, within, type Node, type Place, type Range } from './node.ts';
import { ofValue, only, OPERATOR_NAMES, testsOf, type Subject, type Tests } from './operators.ts';
import { elementsOf, rawPath, rootOf, valueIn, type RawPath } from './raw_path.ts';
import type { Run, Site } from './run.ts';
import { RAW_TOOLS, type RawTool } from './types.ts';

export const RAW_MEMBERS = ['tool', 'path', ...OPERATOR_NAMES] as const;

export function rawNode(members: Readonly<Record<string, unknown>>, { at }: Place): Node {
  const tool = RAW_TOOLS.find((known) => known === members['tool']);
  if (tool === undefined)
    throw unknownName(within(at, 'tool'), 'a tool whose output can be read', String(members['tool']), RAW_TOOLS);
  const path = rawPath(members['path'], tool, within(at, 'path'));
  const range = rangeOf(members['match'], within(at, 'match'));
  const tests = testsOf(subjectOf(tool), members, at);
  if (tests.tests.length === 0 && tests.presence === undefined)
    throw new PolicyError(at, `needs an operator: ${OPERATOR_NAMES.join(', ')}`);
  const text = `${path.text} of ${tool} ${tests.expected}`;
  return once({ text, judge: (run) => judged(run, { tool, path, tests, range, text }) });
}

/** Another path of the same output: its first value. */
const subjectOf = (tool: RawTool): Subject => ({
  kind: SAID,
  refer(operand, at) {
    only(operand, ['path'], at);
    const other = rawPath((operand as { path?: unknown }).path, tool, within(at, 'path'));
    return ({ run }) => {
      const read = run.read(tool);
      if ('why' in read) return undefined;
      const element = elementsOf(other, rootOf(tool, read.output), run.meter)?.[0];
      return SAID.actual(valueIn(other, element));
    };
  },
  within: undefined,
  frame: () => 0,
});

interface Raw {
  tool: RawTool;
  path: RawPath;
  tests: Tests;
  range: Range | undefined;
  text: string;
}

function judged(run: Run, { tool, path, tests, range, text }: Raw): Finding {
  const { expected } = tests;
  const read = run.read(tool);
  if ('why' in read) return unknown(() => ({ message: read.why, field: path.text, expected }));
  const { from } = read;
  const elements = elementsOf(path, rootOf(tool, read.output), run.meter);
  if (elements === undefined || !run.meter.step(elements.length * tests.cost)) return EXHAUSTED;
  const told = (message: string, actual?: string): Told => ({
    message: `${path.text} ${message}`,
    field: path.text,
    expected,
    from,
    ...(actual === undefined ? {} : { actual }),
  });
  if (elements.length === 0 && tests.presence !== undefined && range === undefined) {
    const about = () => told('selects nothing');
    return tests.presence ? failed(1, about) : passed(about);
  }
  const findings: Finding[] = [];
  for (const element of elements) {
    findings.push(one(valueIn(path, element), tests, run.site, told));
    if (run.meter.spent) return EXHAUSTED;
  }
  if (findings.length === 0 && range === undefined) return notApplicable(() => told('selects nothing'));
  return gathered(findings, range, `element of ${path.text}`, text);
}

function one(said: unknown, tests: Tests, site: Site, told: (message: string, actual?: string) => Told): Finding {
  const actual = SAID.actual(said);
  if (actual === undefined) {
    if (tests.presence === undefined) return unknown(() => told('is not there'));
    // A list or an object is there, too.
    const there = said !== undefined && said !== null;
    const about = () => told(there ? 'is there' : 'is not there', there ? shown(said) : undefined);
    return there === tests.presence && tests.tests.length === 0 ? passed(about) : failed(1, about);
  }
  return ofValue(tests, said, actual, site, (_site, message, text) => told(message, text));
}
