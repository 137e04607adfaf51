/** Turns files with known truth into rows for training and measurement, one per field, file and pair of versions. */
import { compare, type Agreement, type Compared, type Part } from '../../src/media/report/compare.ts';
import type { Context } from '../../src/media/report/context.ts';
import { features, surroundingsOf, type Features } from '../../src/media/report/features.ts';
import { readFfprobe } from '../../src/media/report/normalise/ffprobe.ts';
import { languageOf } from '../../src/media/report/normalise/language.ts';
import { layoutOfName } from '../../src/media/report/normalise/layout.ts';
import { readMediainfo } from '../../src/media/report/normalise/mediainfo.ts';
import { rule } from '../../src/media/report/rules.ts';
import type { Field } from '../../src/media/report/side.ts';
import { ruleOf } from '../../src/media/report/fields.ts';
import { frameOf, same } from '../../src/media/report/tolerances.ts';
import type { ReportTool } from '../../src/media/tools/probe_report.ts';
import type { Example } from './collect.ts';
import { random } from './random.ts';
import type { True, Truth, TrueStream } from './truth.ts';

export interface LabelledRow {
  file: number;
  field: string;
  agreement: Agreement;
  features: Features;
  right: { ffprobe: boolean; mediainfo: boolean };
  /** Whether the truth is a single value, and not a range in which two different values may both be right. */
  exact: boolean;
  ruled: ReportTool;
  damage: string;
  /** A total of one per file and field, regardless of the number of version pairs. */
  weight: number;
}

export type Split = 'train' | 'validation' | 'test';
/** Fixed by file number, so that training never sees the test files. */
export const splitOf = (file: number): Split => (file % 5 === 0 ? 'test' : file % 5 === 1 ? 'validation' : 'train');

/** The number of version pairs per file. The newest two are always among them. */
const PAIRS = 10;

function pairsOf(example: Example): [string, string][] {
  const of = (tool: ReportTool) =>
    Object.keys(example.readings)
      .filter((key) => key.startsWith(tool))
      .map((key) => key.split(' ')[1]!);
  const [ffprobes, mediainfos] = [of('ffprobe'), of('mediainfo')];
  const draw = random(example.truth.number + 7_000_000);
  const pairs = new Map<string, [string, string]>();
  const add = (a: string, b: string) => pairs.set(`${a} ${b}`, [a, b]);
  if (ffprobes.includes('9.0') && mediainfos.includes('26.10')) add('9.0', '26.10');
  for (let tries = 0; tries < 60 && pairs.size < Math.min(PAIRS, ffprobes.length * mediainfos.length); tries++)
    add(draw.pick(ffprobes), draw.pick(mediainfos));
  return [...pairs.values()];
}

export function rowsOf(example: Example): LabelledRow[] {
  const parsed = new Map<string, unknown>();
  for (const [key, text] of Object.entries(example.readings)) if (text !== null) parsed.set(key, JSON.parse(text));
  const rows: LabelledRow[] = [];
  const pairs = pairsOf(example);
  for (const [a, b] of pairs) {
    const [one, other] = [parsed.get(`ffprobe ${a}`), parsed.get(`mediainfo ${b}`)];
    const comparison = compare(
      one === undefined ? undefined : readFfprobe(one, a),
      other === undefined ? undefined : readMediainfo(other, b),
    );
    if (!comparison.ffprobe || !comparison.mediainfo) continue;
    for (const part of comparison.parts) {
      const truth = truthFor(part, comparison.parts, example.truth);
      if (!truth) continue;
      const around = surroundingsOf(comparison, part);
      for (const compared of part.fields) {
        const value = truth[compared.field];
        if (!compared.canonical || value === undefined) continue;
        const context: Context = { comparison, part, compared, around };
        rows.push({
          file: example.truth.number,
          field: `${part.kind === 'container' ? 'container' : part.kind}.${compared.field}`,
          agreement: compared.agreement,
          features: features(context),
          right: {
            ffprobe: isRight(compared, 'ffprobe', value, part),
            mediainfo: isRight(compared, 'mediainfo', value, part),
          },
          exact: typeof value !== 'object' || value.min === value.max,
          ruled: rule(context).chosen,
          damage: example.truth.damage,
          weight: 1 / pairs.length,
        });
      }
    }
  }
  return rows;
}

/**
 * The nth picture is matched with the nth true picture. If the tools report another number of pictures, none is
 * matched.
 */
function truthFor(part: Part, parts: readonly Part[], truth: Truth): Record<string, True> | undefined {
  if (part.kind === 'container') return truth.container;
  const wanted: TrueStream[] = truth.streams.filter(({ type }) => type === part.kind);
  const seen = parts.filter(({ kind, pair }) => kind === part.kind && pair?.mediainfo?.embedded !== true);
  return seen.length === wanted.length ? wanted[seen.indexOf(part)]?.values : undefined;
}

function isRight(compared: Compared, tool: ReportTool, truth: True, part: Part): boolean {
  const value = compared[tool];
  if (value === undefined) return false;
  const tolerance = ruleOf(compared.field)[part.kind === 'container' ? 'container' : 'stream']!;
  const frame = frameOf({ ...part.mediainfo, ...part.ffprobe });
  const is = (one: Field) =>
    same(value, one, tolerance, frame, Number(part.ffprobe?.['duration'] ?? part.mediainfo?.['duration'] ?? 0));
  if (typeof truth === 'object')
    return (
      (typeof value === 'number' || compared.field === 'frame_rate') &&
      (is(truth.min) || is(truth.max) || within(value, truth))
    );
  if (compared.field === 'language') return is(languageOf(String(truth)) ?? truth);
  if (compared.field === 'channel_layout') return is(layoutOfName(String(truth)) ?? truth);
  return is(truth);
}

function within(value: Field, { min, max }: { min: number; max: number }): boolean {
  const [top, bottom] = String(value).split('/').map(Number);
  const number = typeof value === 'number' ? value : (top ?? NaN) / (bottom ?? 1);
  return number >= min && number <= max;
}
