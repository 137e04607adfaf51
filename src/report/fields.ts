/**
 * Every field of a report that has a rule: how its two values are compared, how a caller sees it, and whether it stands
 * at the top of the report as well. The one table: a new field is a row here, and what each tool says of it.
 */
import type { Tolerance } from './tolerances.ts';

export interface FieldRule {
  /** Of a stream, and of the container: absent where it is not compared. */
  stream?: Tolerance;
  container?: Tolerance;
  /** As it is, where absent. `rounded`: to three decimals. */
  shown?: 'whole' | 'rounded' | 'fraction';
  /** Of the first video stream, at the top of the report. */
  atTop?: true;
}

const exact = { kind: 'exact' } as const;
const text = { kind: 'text' } as const;
const percent = (of: number) => ({ kind: 'percent', percent: of }) as const;
const bits = (of: number) => ({ kind: 'bits', percent: of }) as const;
const frames = (of: number) => ({ kind: 'frame', frames: of }) as const;
const atTop = true;

const FIELDS: Readonly<Record<string, FieldRule>> = {
  format: { container: { kind: 'container' } },
  size: { container: exact },
  chapters: { container: exact },
  'codec.id': { atTop },
  'codec.name': { stream: { kind: 'family' }, atTop },
  'codec.profile': { stream: text },
  'codec.level': { stream: text },
  'codec.four_cc': { stream: { kind: 'fourcc' }, atTop },
  'size.width': { stream: exact, shown: 'whole', atTop },
  'size.height': { stream: exact, shown: 'whole', atTop },
  // One of the tools rounds to three decimals.
  'size.sample_aspect_ratio': { stream: percent(0.5), shown: 'rounded', atTop },
  'size.display_aspect_ratio': { stream: percent(0.5), shown: 'rounded', atTop },
  // 30 and 30000/1001 are 0.1 % apart, and not the same.
  frame_rate: { stream: percent(0.05), shown: 'fraction', atTop },
  scan_type: { stream: text },
  scan_order: { stream: text },
  'pixel_format.color_model': { stream: text, atTop },
  'pixel_format.chroma_subsampling': { stream: text, atTop },
  'pixel_format.bit_depth': { stream: exact, atTop },
  'pixel_format.components_order': { atTop },
  'pixel_format.has_alpha': { atTop },
  'color.primaries': { stream: text, atTop },
  'color.transfer': { stream: text, atTop },
  'color.matrix': { stream: { kind: 'matrix' }, atTop },
  'color.range': { stream: text, atTop },
  rotation: { stream: exact },
  frames_count: { stream: exact, shown: 'whole', atTop },
  duration: { stream: frames(1.05), container: frames(1.05), shown: 'rounded', atTop },
  start_time: { stream: frames(1.05), shown: 'rounded', atTop },
  'bitrate.average': { stream: bits(2), container: bits(2), shown: 'whole', atTop },
  'bitrate.nominal': { shown: 'whole', atTop },
  'bitrate.minimum': { shown: 'whole', atTop },
  'bitrate.maximum': { shown: 'whole', atTop },
  sample_rate: { stream: exact },
  channels: { stream: exact },
  channel_layout: { stream: { kind: 'layout' } },
  bit_depth: { stream: exact },
  language: { stream: text },
};

/** What tools say may have any name: `constructor` is no field. */
export const ruleOf = (field: string): FieldRule => (Object.hasOwn(FIELDS, field) ? FIELDS[field]! : {});
