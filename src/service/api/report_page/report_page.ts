/** A request as a page to hand on: first whether it is fine, then what was found. Pure. */
import type { Tone } from '../../../base/signs.ts';
import { comparison } from '../../../media/answer/comparison.ts';
import { contentChecks } from '../../../media/answer/content.ts';
import { disagreements, fileSection } from '../../../media/answer/file.ts';
import { hls } from '../../../media/answer/hls.ts';
import type { Reports } from '../../../media/answer/reports.ts';
import { policySection } from '../../../media/answer/policy.ts';
import { provenance } from '../../../media/answer/provenance.ts';
import { code, type Section, span, status, table } from '../../../media/answer/section.ts';
import {
  comparisonSignal,
  contentSignals,
  disagreementSignals,
  hlsSignals,
  policySignal,
  provenanceSignal,
  type Signal,
  timelineSignals,
  warningSignal,
} from '../../../media/answer/signals.ts';
import type { PolicyResult } from '../../../media/policy/schema.ts';
import type { QcPictures } from '../../../media/qc/pictures_schema.ts';
import type { QcWaived } from '../../../media/qc/waived.ts';
import { fileSentence } from '../../../media/answer/file_words.ts';
import type { Timeline } from '../../../media/timeline/schema.ts';
import type { LogDetail } from '../../../platform/store/log.ts';
import type { ToolResult } from '../../../platform/bus/result_body.ts';
import { pictures, timeline } from './drawings.ts';
import { type Content, html, sectionOf, stranger, told } from './html.ts';
import { readPictures, readTimeline } from './kept_parts.ts';

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

interface Outputs extends Reports {
  pictures: QcPictures;
  timeline: Timeline;
}

interface Part<T> {
  title: string;
  read?: (text: string) => T | null;
  /** What it is, in a few words. */
  lead?: (value: T) => string;
  signals: (value: T, input: PageInput) => readonly Signal[];
  content: (value: T, input: PageInput) => Content;
}

/** As a comparison names them: by their version, or which of two sources it was. */
const runsOf = ({ tools }: PageInput, tool: string): string[] =>
  tools
    .filter(({ success, name }) => success && (name === tool || name.startsWith(`${tool} of `)))
    .map(({ name, version }) => (name === tool ? version : name.slice(`${tool} of `.length)));

/** In the order of the page. */
const PARTS: { readonly [N in keyof Outputs]: Part<Outputs[N]> } = {
  report: {
    title: 'The report of the file',
    lead: fileSentence,
    signals: (report) => [...disagreementSignals(report), warningSignal(report)],
    content: (report) => [sectionOf(fileSection(report)), sectionOf(disagreements(report))],
  },
  hls: { title: 'The HLS report', signals: hlsSignals, content: (report) => sectionOf(hls(report)) },
  c2pa: {
    title: 'The C2PA report',
    signals: (report) => [provenanceSignal(report)],
    content: (report) => sectionOf(provenance(report)),
  },
  qc: {
    title: 'The report of the content checks',
    signals: (report, { waived }) => contentSignals(report, waived.length),
    content: (report, { waived }) => sectionOf(contentChecks(report, waived)),
  },
  pictures: { title: 'The pictures', read: readPictures, signals: () => [], content: pictures },
  timeline: { title: 'The timeline', read: readTimeline, signals: timelineSignals, content: timeline },
  comparison: {
    title: 'The comparison',
    signals: (compared) => [comparisonSignal(compared)],
    content: (compared, input) => sectionOf(comparison(compared, (tool) => runsOf(input, tool))),
  },
};

interface Drawn {
  lead?: Content;
  signals: readonly Signal[];
  content: Content;
}

/** A runner reads hostile media, and what it stored may have any form: a part that cannot be read harms no other. */
function drawn<T>(part: Part<T>, text: string | null, input: PageInput): Drawn {
  const { title, read = JSON.parse, lead, signals, content } = part;
  const failed = (why: string): Drawn => ({ signals: [{ tone: 'warn', text: `${title} ${why}` }], content: null });
  if (text === null) return failed('is too long for this page');
  try {
    const value = read(text) as T;
    return { lead: stranger(lead?.(value)), signals: signals(value, input), content: content(value, input) };
  } catch {
    return failed('cannot be shown');
  }
}

const ofRequest = ({ state, error, tools, policy: verdict, gone }: PageInput): readonly Signal[] => [
  ...(state === 'error' ? [{ tone: 'bad' as const, text: `the request failed: ${error ?? 'see the tools'}` }] : []),
  ...(verdict ? [policySignal(verdict)] : []),
  ...(state === 'with-errors' ? tools : [])
    .filter((tool) => !tool.success && tool.code !== 'must-fix')
    .map(({ name }) => ({ tone: 'warn' as const, text: `${name} failed` })),
  ...(gone === null ? [] : [{ tone: 'warn' as const, text: gone }]),
];

const ORDER: readonly Tone[] = ['bad', 'warn', 'good', 'none'];
const utc = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`;

const about = ({ id, kind, addresses, sent, ended, tools }: PageInput): Section => ({
  title: 'About this report',
  parts: [
    {
      facts: [
        ...addresses.map((text) => ['Address', span(text, { most: 2_000 })] as const),
        ['Request', code(id)],
        ['Kind', kind],
        ['Sent', utc(sent)],
        ['Ended', utc(ended)],
      ],
    },
    table({
      caption: 'Tools',
      rows: tools,
      columns: [
        { title: 'Tool', cell: ({ name }) => name },
        { title: 'Version', cell: ({ version }) => version },
        {
          title: 'Outcome',
          cell: ({ success, error, code: why }) => (success ? status('success') : [status('failed'), error, why]),
        },
        { title: 'Time', cell: ({ durationMs }) => `${Math.round(durationMs)} ms`, right: true },
      ],
    }),
  ],
});

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
  const { addresses, outputs, policy: verdict, shared } = input;
  const parts = (Object.keys(PARTS) as (keyof Outputs)[]).flatMap((name) => {
    const text = outputs[name];
    return text === undefined ? [] : [drawn(PARTS[name] as Part<unknown>, text, input)];
  });
  const signals = [...ofRequest(input), ...parts.flatMap((part) => part.signals)];
  const sorted = signals.toSorted((a, b) => ORDER.indexOf(a.tone) - ORDER.indexOf(b.tone));
  return html`<main>
    <header>
      <p class="quiet">Media report by Probeyard</p>
      <h1>${stranger(titleOf(addresses))}</h1>
      <p class="lead">${parts.map(({ lead }) => lead)}</p>
      <ul>
        ${sorted.map(({ tone, text }) => html`<li>${told(tone, stranger(text))}</li>`)}
      </ul>
      ${
        shared &&
        html`<p class="shared">
          Shared by ${stranger(shared.by)} until ${utc(shared.until)}: whoever has the address of this page can read it.
        </p>`
      }
    </header>
    ${verdict && sectionOf(policySection(verdict))} ${parts.map(({ content }) => content)} ${sectionOf(about(input))}
  </main>`.text;
}
