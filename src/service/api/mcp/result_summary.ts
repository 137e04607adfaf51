/** Results of requests, reduced to what a reader needs first. */
import { membersOf } from '../../../base/is_object.ts';
import { jsonIn } from '../../../base/json_in.ts';
import type { QcReport } from '../../../media/qc/schema.ts';
import { verdictOf, type Longest } from '../../../media/qc/verdict.ts';
import { qc } from '../../../media/tools/qc.ts';
import { FILE_ROWS, sectionOf } from '../../../media/tools/table.ts';
import { ApiError, invalid } from '../errors.ts';
import { parsePath, partOf, type Said, textOf } from './answer_text.ts';

type Members = Record<string, unknown>;

/** Bare output of a tool in another format is its text. */
export function valueOf({ text }: { text: string }): unknown {
  const value = jsonIn(text);
  return value === undefined ? text : value;
}

const requestIdOf = (value: unknown): string | undefined => {
  const { request_id: id } = membersOf(membersOf(value)['metadata']);
  return typeof id === 'string' ? id : undefined;
};

/** Content checks are asked for what they say, and no report has it. */
const PROGRAMS = FILE_ROWS.filter((row) => 'args' in row && row.name !== qc.name).map(sectionOf);

/** How to read what an answer leaves out. */
const readOn = (id: string | undefined): string =>
  id === undefined ? '' : `Read a part with get_result {"request_id": "${id}", "path": …, "offset": …}.`;

/** The confidence in the fields of the first video stream is also that of its place among `streams`. */
function withoutRepeated(report: Members): Members {
  const { confidence, ...rest } = report;
  const places = Object.entries(membersOf(confidence)).filter(([path]) => /^(?:container\.|streams\[)/.test(path));
  return { ...rest, confidence: Object.fromEntries(places) };
}

/** Without the outputs of the tools, if there is a report of them. */
function withoutOutputs(envelope: Members): Members {
  const { response: report } = membersOf(envelope['probe_report']);
  if (report === undefined || report === null) return envelope;
  return Object.fromEntries(
    Object.entries(envelope).map(([name, section]) => {
      if (name === 'probe_report')
        return [name, { ...membersOf(section), response: withoutRepeated(membersOf(report)) }];
      if (!(PROGRAMS as string[]).includes(name)) return [name, section];
      const { response, ...rest } = membersOf(section);
      return [name, response === undefined ? rest : { ...rest, response: `[read "${name}.response" with get_result]` }];
    }),
  );
}

/** Rules that did not pass, then a count of the others. */
function shownVerdict(policy: unknown): Members {
  const { rules, ...rest } = membersOf(policy);
  if (!Array.isArray(rules)) return rest;
  const RANK = ['fail', 'unknown', 'warn', 'waived'];
  const outcomeOf = (rule: unknown): string => String(membersOf(rule)['outcome']);
  const other = rules.filter((rule) => RANK.includes(outcomeOf(rule)));
  other.sort((a, b) => RANK.indexOf(outcomeOf(a)) - RANK.indexOf(outcomeOf(b)));
  return { ...rest, rules_not_passed: other, rules_passed: rules.length - other.length };
}

const isComparison = (value: Members): boolean => Array.isArray(value['runs']) && 'fields' in value;

function failureOf(value: Members): string {
  const { code } = value;
  if (code === 'must-fix') return 'The stream breaks rules that it must keep: see its messages.';
  const what = isComparison(value) ? 'Nothing could be compared' : 'No tool succeeded';
  return `${what}${typeof code === 'string' ? ` (${code})` : ''}: see error.`;
}

const SECTIONS = FILE_ROWS.map(sectionOf);

/** Tools that failed where another one succeeded. */
const failedIn = (value: Members): string[] =>
  value['success'] === false ? [] : SECTIONS.filter((name) => membersOf(value[name])['success'] === false);

function leadOf(value: Members): string[] {
  const id = requestIdOf(value);
  const { outcome } = membersOf(value['policy']);
  const failed = failedIn(value);
  return [
    ...(id === undefined ? [] : [`request_id: ${id}`]),
    value['success'] === false ? failureOf(value) : 'The request succeeded.',
    ...(failed.length === 0 ? [] : [`${failed.join(' and ')} failed: see the error there.`]),
    ...(typeof outcome === 'string' ? [`Policy: ${outcome}.`] : []),
  ];
}

function summary(result: unknown): Said {
  const value = membersOf(result);
  const more = readOn(requestIdOf(value));
  if (isComparison(value)) {
    const { summary: figures, ...rest } = value;
    return { lead: leadOf(value), data: { summary: figures, ...rest }, more };
  }
  const { policy, ...rest } = withoutOutputs(value);
  return {
    lead: leadOf(value),
    data: { ...(policy === undefined ? {} : { policy: shownVerdict(policy) }), ...rest },
    more,
  };
}

/** One part of a result; of a list or text from `offset` on. */
function part(result: unknown, path: string, offset: number, id?: string): Said {
  const steps = parsePath(path);
  if (!steps) throw invalid('path', 'is not valid; an example: probe_report.response.streams[0].codec.name');
  const found = partOf(result, steps);
  if ('missing' in found)
    return {
      lead: [`There is no such part. "there" lists what the result has below "found_until".`],
      data: { found_until: found.missing, there: found.names },
      isError: true,
    };
  const { value } = found;
  const more = readOn(id);
  if (offset === 0) return { lead: [], data: value, at: path, more };
  if (typeof value === 'string' || Array.isArray(value)) {
    if (offset >= value.length) throw invalid('offset', `must be below ${value.length}`);
    return {
      lead: [`From ${offset} of ${value.length}.`],
      data: value.slice(offset),
      at: path,
      offset,
      more,
    };
  }
  throw invalid('offset', 'has no effect: the part is neither a list nor a text');
}

function parts(result: unknown, paths: readonly string[]): Said {
  const found = paths.map((path) => {
    const steps = parsePath(path);
    if (!steps) throw invalid('fields', `"${path}" is not a valid path`);
    const at = partOf(result, steps);
    return [path, 'missing' in at ? null : at.value] as const;
  });
  const value = membersOf(result);
  return { lead: leadOf(value), data: Object.fromEntries(found), more: readOn(requestIdOf(value)) };
}

function verdict(result: unknown): Said {
  const value = membersOf(result);
  const id = requestIdOf(value);
  const { error, code, policy } = value;
  const shown = shownVerdict(policy);
  const reason = Object.entries({ error, code }).filter(([, said]) => said !== undefined);
  return {
    lead: [...(id === undefined ? [] : [`request_id: ${id}`]), `Policy: ${String(shown['outcome'])}.`],
    data: { ...Object.fromEntries(reason), policy: shown },
    more: readOn(id),
  };
}

/** Without the findings that the verdict has, too. */
function content(result: unknown, longest: Longest): Said {
  const value = membersOf(result);
  const id = requestIdOf(value);
  const section = membersOf(value['qc']);
  if (!('qc' in value)) throw invalid('request_id', 'is of a request without content checks');
  const told = verdictOf(section, longest);
  const waived = told.waived_count === 0 ? '' : ` Findings that are waived: ${told.waived_count}.`;
  const { audio = [], thresholds, until } = membersOf(section['response']) as Partial<QcReport>;
  const levels = audio.map(({ stream, loudness, sample_peak: peak }) => ({ stream, ...loudness, sample_peak: peak }));
  return {
    lead: [...(id === undefined ? [] : [`request_id: ${id}`]), `Verdict: ${told.verdict}.${waived}`],
    data: { ...told, ...(until === undefined ? {} : { until }), levels, thresholds },
    more: readOn(id),
  };
}

function evaluation(value: unknown): Said {
  const { results, ...rest } = membersOf(value);
  return {
    lead: ['Results on record were judged; no source was read.'],
    data: {
      ...rest,
      results: (Array.isArray(results) ? results : []).map((one) => {
        const { policy, ...others } = membersOf(one);
        return { ...others, ...shownVerdict(policy) };
      }),
    },
    more: 'Name fewer request_ids to see more of each.',
  };
}

/** What of an answer is said. Plain data, because it is worked out in a thread. */
export type Shape =
  | { of: 'summary'; at?: string }
  | { of: 'part'; path: string; offset: number; id: string }
  | { of: 'parts'; paths: readonly string[] }
  | { of: 'verdict' | 'evaluation' }
  | { of: 'qc'; longest: Longest }
  | { of: 'all'; more?: string; without?: readonly string[] };

function saidOf(value: unknown, shape: Shape): Said {
  switch (shape.of) {
    case 'summary':
      return { ...summary(value), ...(shape.at === undefined ? {} : { at: shape.at }) };
    case 'part':
      return part(value, shape.path, shape.offset, shape.id);
    case 'parts':
      return parts(value, shape.paths);
    case 'verdict':
      return verdict(value);
    case 'qc':
      return content(value, shape.longest);
    case 'evaluation':
      return evaluation(value);
    case 'all': {
      const { more, without = [] } = shape;
      const left = without.length === 0 ? value : { ...membersOf(value) };
      for (const name of without) delete (left as Members)[name];
      return { lead: [], data: left, ...(more === undefined ? {} : { more }) };
    }
  }
}

export interface SaidText {
  text: string;
  isError: boolean;
}

/** `refused`: what is wrong with the arguments of the call. */
export function say({
  text,
  shape,
  mostBytes,
}: {
  text: string;
  shape: Shape;
  mostBytes: number;
}): SaidText | { refused: string } {
  try {
    const said = saidOf(valueOf({ text }), shape);
    return { text: textOf(said, mostBytes), isError: said.isError ?? false };
  } catch (error) {
    if (error instanceof ApiError) return { refused: error.message };
    throw error;
  }
}
