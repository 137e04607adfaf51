/** Reads a request of the log beside the page: however long its outputs are, the page only gets the rows in view. */
import { answered } from '../api/client.ts';
import { offline, unreadable, type Failure } from '../api/failure.ts';
import { visible } from '../../base/visible.ts';
import type { Asked, Detail, Facts, Opened, Output, Question, Reply, Reports, Told } from './protocol.ts';
import { find, rowsOf, type Rows } from './rows.ts';

/** Above this an answer is for a program, not for a page. */
const MOST_BYTES = 100_000_000;
/** A report is drawn whole: a longer one is only shown as it was printed. */
const MOST_REPORT = 8_000_000;

type OutputMember = Extract<keyof Detail, `${string}-response`>;
/** Each output that the log has, in the order in which it is offered. */
const TITLES: Readonly<Record<OutputMember, string>> = {
  'probe-report-response': 'Report',
  'ffprobe-response': 'ffprobe',
  'mediainfo-response': 'mediainfo',
  'msv-response': 'HLS validator',
  'c2pa-response': 'C2PA',
  'qc-response': 'Content checks',
  'policy-response': 'Policy',
  'comparison-response': 'Comparison',
};
const OUTPUTS = Object.entries(TITLES) as [OutputMember, string][];

interface Held {
  text: string;
  /** In lower case, once it was searched in. */
  lower: string | null;
  rows: Rows;
}
const held = new Map<string, Held>();

/** Null: it is longer than that; the text is what came before. */
async function textOf(response: Response): Promise<{ text: string; whole: boolean }> {
  const decoder = new TextDecoder();
  const parts: string[] = [];
  const reader = response.body!.getReader();
  let bytes = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return { text: parts.join('') + decoder.decode(), whole: true };
    bytes += value.byteLength;
    if (bytes > MOST_BYTES) {
      await reader.cancel();
      return { text: parts.join(''), whole: false };
    }
    parts.push(decoder.decode(value, { stream: true }));
  }
}

function detailOf(text: string): Detail {
  try {
    return JSON.parse(text) as Detail;
  } catch {
    throw unreadable();
  }
}

/** The outputs come last. A quote within a text of JSON is escaped: this is no part of one. */
const FIRST_OUTPUT = /,"(?:[a-z0-9-]+-response|run-responses)":/;

function factsIn(text: string): Facts {
  const at = text.search(FIRST_OUTPUT);
  return JSON.parse(`${text.slice(0, at)}}`) as Facts;
}

/** `has`: what every report of the kind has. */
function read<T>(text: string | undefined, has: keyof T & string): T | null {
  if (text === undefined || text.length > MOST_REPORT) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && has in value ? (value as T) : null;
  } catch {
    return null;
  }
}

/** Without outputs there are none. */
const reportsOf = (detail: Facts & Partial<Detail>): Reports => ({
  report: read(detail['probe-report-response'], 'container'),
  hls: read(detail['msv-response'], 'summary'),
  c2pa: read(detail['c2pa-response'], 'manifests'),
  qc: read(detail['qc-response'], 'thresholds'),
  waived: read(detail['qc-waived'], 'length'),
  policy: read(detail['policy-response'], 'rules'),
  comparison: read(detail['comparison-response'], 'fields'),
});

function hold(name: string, title: string, text: string): Output {
  const rows = rowsOf(text);
  held.set(name, { text, lower: null, rows });
  return { name, title, characters: text.length, rows: rows.count };
}

async function open({ id }: Asked['open']): Promise<Opened> {
  const response = await answered('GET media/log/:id', { params: { id } });
  const { text, whole } = await textOf(response).catch(() => {
    throw offline();
  });
  if (!whole) {
    const facts = factsIn(text);
    return { facts, reports: reportsOf(facts), outputs: [hold('request', 'Request', facts.request)], tooLong: true };
  }
  const detail = detailOf(text);
  const facts = Object.fromEntries(Object.entries(detail).filter(([name]) => !/-responses?(-type)?$/.test(name)));
  const outputs = OUTPUTS.flatMap(([member, title]) => {
    const output = detail[member];
    return output === undefined ? [] : [hold(member.replace('-response', ''), title, output)];
  });
  for (const { tool, version, side, response: output } of detail['run-responses'] ?? []) {
    const name = side === undefined ? `${tool} ${version}` : `${tool} ${version} of ${side}`;
    if (output !== undefined) outputs.push(hold(name, name, output));
  }
  return {
    facts: facts as unknown as Facts,
    reports: reportsOf(detail),
    outputs: [...outputs, hold('request', 'Request', detail.request)],
    tooLong: false,
  };
}

function rowsIn({ output, from, to }: Asked['rows']): string[] {
  const { rows: all } = held.get(output)!;
  const texts: string[] = [];
  for (let index = from; index < Math.min(to, all.count); index++) texts.push(visible(all.at(index)));
  return texts;
}

/** Of 50 MB this takes longer than a search. */
const lowered = (one: Held): string => (one.lower ??= one.text.toLowerCase());

function found({ output, text: wanted }: Asked['find']): Told['find'] {
  const one = held.get(output)!;
  const lower = lowered(one);
  // A few letters become two in lower case: then places would not be the same.
  const same = lower.length === one.text.length;
  return find({ lower: same ? lower : one.text, rows: one.rows }, same ? wanted.toLowerCase() : wanted);
}

function told(question: Question): Promise<Told[keyof Told]> | Told[keyof Told] {
  switch (question.ask) {
    case 'open':
      return open(question.of);
    case 'rows':
      return rowsIn(question.of);
    case 'find':
      return found(question.of);
    case 'whole':
      return new Blob([held.get(question.of.output)!.text], { type: 'application/octet-stream' });
  }
}

const reply = (message: Reply): void => self.postMessage(message);

async function answer(question: Question): Promise<void> {
  const { number } = question;
  try {
    reply({ number, told: await told(question) });
  } catch (error) {
    // What is no failure of the call is a defect: it stands in the browser's console, and the page hears of it.
    if (error instanceof Error) reportError(error);
    else reply({ number, failure: error as Failure });
  }
}

/** After the last question, before the first search. */
const IDLE_MS = 200;
let idle = 0;

/** One text after the other, so that a question waits for one at most. */
function lowerNext(): void {
  const next = [...held.values()].find(({ lower }) => lower === null);
  if (!next) return;
  lowered(next);
  idle = self.setTimeout(lowerNext, IDLE_MS);
}

self.addEventListener('message', (event: MessageEvent<Question>) => {
  clearTimeout(idle);
  void answer(event.data).finally(() => {
    clearTimeout(idle);
    idle = self.setTimeout(lowerNext, IDLE_MS);
  });
});
