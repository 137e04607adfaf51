/**
 * Every field of a report with a rule: how its two values are compared, how a caller sees it, and whether it is also
 * shown at the top of the report. A new field is one row here, plus its reading from each tool.
 */
import type { Part } from './compare.ts';
import { table } from './json.ts';
import type { Tolerance } from './tolerances.ts';

export interface FieldRule {
  /** Comparison for a stream and for the container; absent: not compared. */
  stream?: Tolerance;
  container?: Tolerance;
  /** Absent: shown unchanged. `rounded`: to three decimals. */
  shown?: 'whole' | 'rounded' | 'fraction';
  /** Also shown at the top of the report, from the first video stream. */
  atTop?: true;
  /** Kinds of parts with a known truth in the training files. Elsewhere the field has no confidence. */
  measured?: readonly Part['kind'][];
}

const exact = { kind: 'exact' } as const;
const text = { kind: 'text' } as const;
const percent = (of: number) => ({ kind: 'percent', percent: of }) as const;
const bits = (of: number) => ({ kind: 'bits', percent: of }) as const;
const frames = (of: number) => ({ kind: 'frame', frames: of }) as const;
const atTop = true;
const video = ['video'] as const;
const audio = ['audio'] as const;
const played = ['video', 'audio'] as const;
const streams = ['video', 'audio', 'subtitle'] as const;
const container = ['container'] as const;
const wholeAndPlayed = ['container', 'video', 'audio'] as const;

/** What the base layer of Dolby Vision is to a player that knows no other. */
export const DOLBY_VISION_BASES = ['HDR10', 'HLG', 'SDR', 'Blu-ray', 'none'] as const;

export const FIELDS = table<FieldRule>({
  format: { container: { kind: 'container' }, measured: container },
  size: { container: exact, shown: 'whole', measured: container },
  chapters: { container: exact, measured: container },
  'codec.id': { atTop },
  'codec.name': { stream: { kind: 'family' }, atTop, measured: streams },
  'codec.profile': { stream: text, measured: video },
  'codec.level': { stream: text },
  'codec.four_cc': { stream: { kind: 'fourcc' }, atTop },
  'size.width': { stream: exact, shown: 'whole', atTop, measured: video },
  'size.height': { stream: exact, shown: 'whole', atTop, measured: video },
  // One tool rounds to three decimals.
  'size.sample_aspect_ratio': { stream: percent(0.5), shown: 'rounded', atTop, measured: video },
  'size.display_aspect_ratio': { stream: percent(0.5), shown: 'rounded', atTop, measured: video },
  // 30 and 30000/1001 differ by 0.1 %, and must not be equal.
  frame_rate: { stream: percent(0.05), shown: 'fraction', atTop, measured: video },
  scan_type: { stream: text, measured: video },
  scan_order: { stream: text, measured: video },
  pulldown: {},
  'pixel_format.color_model': { stream: text, atTop, measured: video },
  'pixel_format.chroma_subsampling': { stream: text, atTop, measured: video },
  'pixel_format.bit_depth': { stream: exact, shown: 'whole', atTop, measured: video },
  'pixel_format.components_order': { atTop },
  'pixel_format.has_alpha': { atTop },
  'color.primaries': { stream: text, atTop, measured: video },
  'color.transfer': { stream: text, atTop, measured: video },
  'color.matrix': { stream: { kind: 'matrix' }, atTop, measured: video },
  'color.range': { stream: text, atTop, measured: video },
  rotation: { stream: exact, measured: video },
  frames_count: { stream: exact, shown: 'whole', atTop, measured: video },
  duration: { stream: frames(1.05), container: frames(1.05), shown: 'rounded', atTop, measured: wholeAndPlayed },
  start_time: { stream: frames(1.05), shown: 'rounded', atTop, measured: played },
  'bitrate.average': { stream: bits(2), container: bits(2), shown: 'whole', atTop, measured: wholeAndPlayed },
  'bitrate.nominal': { shown: 'whole', atTop },
  'bitrate.minimum': { shown: 'whole', atTop },
  'bitrate.maximum': { shown: 'whole', atTop },
  sample_rate: { stream: exact, shown: 'whole', measured: audio },
  channels: { stream: exact, shown: 'whole', measured: audio },
  channel_layout: { stream: { kind: 'layout' }, measured: audio },
  bit_depth: { stream: exact, shown: 'whole', measured: audio },
  language: { stream: text, measured: streams },
  'hdr.max_cll': { stream: exact, shown: 'whole' },
  'hdr.max_fall': { stream: exact, shown: 'whole' },
  'hdr.dolby_vision_profile': { stream: exact, shown: 'whole' },
  'hdr.dolby_vision_level': { stream: exact, shown: 'whole' },
  'hdr.dolby_vision_compatibility': { stream: text },
  'hdr.dolby_vision_rpu': {},
});

const NONE: FieldRule = {};
export const ruleOf = (field: string): FieldRule => FIELDS[field] ?? NONE;
