/** A request as a page to hand on: first whether it is fine, then what was found. Pure. */
import { signOf, type Tone } from '../../../base/signs.ts';
import { several } from '../../../base/scaled.ts';
import { policyName } from '../../../media/ci_formats/policy_rules.ts';
import type { Comparison } from '../../../media/compare/schema.ts';
import type { HlsReport } from '../../../media/hls/schema.ts';
import type { PolicyResult } from '../../../media/policy/schema.ts';
import type { QcPictures } from '../../../media/qc/pictures_schema.ts';
import type { QcReport } from '../../../media/qc/schema.ts';
import type { QcWaived } from '../../../media/qc/waived.ts';
import type { ProbeReport } from '../../../media/report/schema.ts';
import { containerWords } from '../../../media/answer/file_words.ts';
import type { Timeline } from '../../../media/timeline/schema.ts';
import type { C2paReport } from '../../../media/tools/c2pa_schema.ts';
import type { LogDetail } from '../../../platform/store/log.ts';
import type { ToolResult } from '../../../platform/bus/result_body.ts';
import { type Content, facts, html, section, stranger, table, told } from './html.ts';
import { findingsIn } from '../../../media/qc/words.ts';
import { readPictures, readTimeline } from './kept_parts.ts';
import {
  comparison,
  contentChecks,
  disagreements,
  pictures,
  policy,
  provenance,
  tracks,
  waivedFindings,
  hls,
  timeline,
} from './sections.ts';

export interface PageInput extends Pick<LogDetail, 'id' | 'kind' | 'state' | 'error'> {
  /** As the log shows them. */
  addresses: readonly string[];
  sent: string;
  ended: string;
  tools: readonly (Pick<ToolResult, 'version' | 'success' | 'error' | 'code' | 'durationMs'> & { name: string })[];
  policy: PolicyResult | null;
  /** Findings of content checks. */
  waived: readonly QcWaived[];
  /** As JSON. Null: too long for a page. */
  outputs: { readonly [N in keyof Outputs]?: string | null };
  /** Why there is no result. */
  gone: string | null;
  /** Of a link. */
  shared: { by: string; until: string } | null;
}

interface Outputs {
  report: ProbeReport;
  hls: HlsReport;
  c2pa: C2paReport;
  qc: QcReport;
  pictures: QcPictures;
  timeline: Timeline;
  comparison: Comparison;
}

type Statement = readonly [tone: Tone, content: Content];

const counted = (tone: Tone, count: number, one: string): Statement =>
  count === 0 ? ['good', `no ${one}`] : [tone, several(count, one)];
/** Said only where there is one. */
const ifAny = (tone: Tone, count: number, one: string): Statement[] => (count === 0 ? [] : [counted(tone, count, one)]);

const total = (streams: Timeline['streams'], of: 'gaps' | 'jumps'): number =>
  streams.reduce((sum, stream) => sum + stream[of].count, 0);

/** A manifest that is valid may be of anybody. */
const PROVENANCE: Readonly<Record<string, Statement>> = {
  Trusted: ['good', 'the C2PA manifest holds, and its signer is trusted'],
  Valid: ['warn', 'the C2PA manifest holds, but its signer is not on a list of trust'],
  Invalid: ['bad', 'the C2PA manifest does not hold'],
};

interface Part<T> {
  title: string;
  read?: (text: string) => T | null;
  /** What it is, in a few words. */
  lead?: (value: T) => string;
  statements: (value: T) => readonly Statement[];
  content: (value: T) => Content;
}

/** In the order of the page. */
const PARTS: { readonly [N in keyof Outputs]: Part<Outputs[N]> } = {
  report: {
    title: 'The report of the file',
    lead: ({ container }) => containerWords(container),
    statements: ({ diff, warnings }) => [
      diff ? counted('warn', diff.length, 'disagreement') : ['none', 'disagreements were left out'],
      ...ifAny('warn', diff?.filter(({ chosen }) => chosen === null).length ?? 0, 'undecided field'),
      counted('warn', warnings.length, 'warning'),
    ],
    content: (report) => [tracks(report), disagreements(report)],
  },
  hls: {
    title: 'The HLS report',
    statements: ({ summary }) => [
      counted('bad', summary.must_fix, 'must-fix finding'),
      ...ifAny('warn', summary.should_fix, 'should-fix finding'),
    ],
    content: hls,
  },
  c2pa: {
    title: 'The C2PA report',
    statements: ({ active_manifest: active, validation_state: state }) => [
      active === null
        ? ['none', 'there is no C2PA manifest']
        : (PROVENANCE[String(state)] ?? ['warn', 'the C2PA manifest was not validated']),
    ],
    content: provenance,
  },
  qc: {
    title: 'The report of the content checks',
    statements: (report) => [
      counted('warn', findingsIn(report), 'content finding'),
      ...(report.cut === undefined ? [] : [['warn', 'the content checks were cut short'] as const]),
    ],
    content: contentChecks,
  },
  pictures: { title: 'The pictures', read: readPictures, statements: () => [], content: pictures },
  timeline: {
    title: 'The timeline',
    read: readTimeline,
    statements: ({ streams, until }) => [
      counted('warn', total(streams, 'gaps'), 'timeline gap'),
      ...ifAny('warn', total(streams, 'jumps'), 'backward time jump'),
      ...(until === undefined ? [] : [['warn', 'the timeline was cut short'] as const]),
    ],
    content: timeline,
  },
  comparison: {
    title: 'The comparison',
    statements: ({ summary }) => [counted('warn', summary.fields, 'changed field')],
    content: comparison,
  },
};

interface Drawn {
  lead?: Content;
  statements: readonly Statement[];
  content: Content;
}

/** A runner reads hostile media, and what it stored may have any form: a part that cannot be read harms no other. */
function drawn<T>({ title, read = JSON.parse, lead, statements, content }: Part<T>, text: string | null): Drawn {
  const failed = (why: string): Drawn => ({ statements: [['warn', `${title} ${why}`]], content: null });
  if (text === null) return failed('is too long for this page');
  try {
    const value = read(text) as T;
    return { lead: stranger(lead?.(value)), statements: statements(value), content: content(value) };
  } catch {
    return failed('cannot be shown');
  }
}

const VERDICTS: Readonly<Record<PolicyResult['outcome'], string>> = {
  fail: 'fails the policy',
  unknown: 'could not be judged by the policy',
  warn: 'passes, with warnings, the policy',
  pass: 'passes the policy',
  'not-applicable': 'no rule applies of the policy',
};

const ofRequest = ({ state, error, tools, policy: verdict, waived, gone }: PageInput): readonly Statement[] => [
  ...(state === 'error' ? [['bad', ['the request failed: ', stranger(error) ?? 'see the tools']] as const] : []),
  ...(verdict
    ? [[signOf(verdict.outcome).tone, [VERDICTS[verdict.outcome], ' ', stranger(policyName(verdict))]] as const]
    : []),
  ...(state === 'with-errors' ? tools : [])
    .filter(({ success, code }) => !success && code !== 'must-fix')
    .map(({ name }) => ['warn', [stranger(name), ' failed']] as const),
  ...ifAny('none', waived.length, 'waived content finding'),
  ...(gone === null ? [] : [['warn', gone] as const]),
];

const ORDER: readonly Tone[] = ['bad', 'warn', 'good', 'none'];
const utc = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`;

const about = ({ id, kind, addresses, sent, ended, tools }: PageInput): Content =>
  section(
    'About this report',
    facts([
      ...addresses.map((address) => ['Address', stranger(address, 2_000)] as const),
      ['Request', html`<code>${id}</code>`],
      ['Kind', kind],
      ['Sent', utc(sent)],
      ['Ended', utc(ended)],
    ]),
    table('Tools', tools, [
      { title: 'Tool', cell: ({ name }) => stranger(name) },
      { title: 'Version', cell: ({ version }) => stranger(version) },
      {
        title: 'Outcome',
        cell: ({ success, error, code }) =>
          success ? told('good', 'success') : told('bad', [stranger(error) ?? 'failed', ' ', stranger(code)]),
      },
      { title: 'Time', cell: ({ durationMs }) => `${Math.round(durationMs)} ms`, right: true },
    ]),
  );

/** The last part of an address. */
function nameOf(address: string): string {
  const parts = address.replace(/[?#].*$/s, '').split('/');
  const name = parts.findLast((part) => part !== '') ?? address;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
export const titleOf = (addresses: readonly string[]): string => addresses.map(nameOf).join(' and ') || 'erased';

/** The content of `<body>`. */
export function reportPage(input: PageInput): string {
  const { addresses, outputs, policy: verdict, waived, shared } = input;
  const parts = (Object.keys(PARTS) as (keyof Outputs)[]).flatMap((name) => {
    const text = outputs[name];
    return text === undefined ? [] : [drawn(PARTS[name] as Part<unknown>, text)];
  });
  const statements = [...ofRequest(input), ...parts.flatMap((part) => part.statements)];
  const sorted = statements.toSorted(([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b));
  return html`<main>
    <header>
      <p class="quiet">Media report by Probeyard</p>
      <h1>${stranger(titleOf(addresses))}</h1>
      <p class="lead">${parts.map(({ lead }) => lead)}</p>
      <ul>
        ${sorted.map(([tone, content]) => html`<li>${told(tone, content)}</li>`)}
      </ul>
      ${
        shared &&
        html`<p class="shared">
          Shared by ${stranger(shared.by)} until ${utc(shared.until)}: whoever has the address of this page can read it.
        </p>`
      }
    </header>
    ${verdict && policy(verdict)} ${parts.map(({ content }) => content)} ${waivedFindings(waived)} ${about(input)}
  </main>`.text;
}
